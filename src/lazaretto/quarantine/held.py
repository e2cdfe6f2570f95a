"""Batches that may not be published: moved out of the target's folder, whole, with their seal."""

from __future__ import annotations

import json
import os
from urllib.parse import unquote

from lazaretto.model.errors import LazarettoError
from lazaretto.model.resolution import Request, Resolution
from lazaretto.model.seal import SEAL_FILE, Seal
from lazaretto.spark.files import Files, is_local, local

CLOSED_FILE, REQUEST_FILE = "closed.json", "request.json"


class StagedFilesLost(LazarettoError):
    """Staged files are gone before they were held: someone else deleted them (a foreign VACUUM)."""


def hold(files: Files, seal: Seal, target_path: str, held_root: str, *, delete: bool = True) -> str:
    """Move a staged batch to the held ones; returns its folder there. Repeat it after a crash at any point.

    Every file is copied byte for byte, the seal last, and only then is the staged folder deleted. So a held
    batch with a seal is complete, and one without is to be copied on.
    """
    staged, place = f"{target_path}/{seal.folder}", f"{held_root}/{seal.folder}"
    if files.read_text(f"{place}/{SEAL_FILE}") is None:
        for file in seal.files:
            path = unquote(file["path"])  # Delta notes paths as URLs
            _copy(files, f"{staged}/{path}", f"{place}/{path}", int(file["size"]))
        files.put_if_absent(f"{place}/{SEAL_FILE}", seal.text())
    if delete:
        files.delete(staged)
    return place


def held(files: Files, held_root: str) -> list[Seal]:
    """The batches held, by the time they were sealed."""
    return seals_under(files, held_root)


def seals_under(files: Files, folder: str) -> list[Seal]:
    """The sealed batches in a folder, the oldest first."""
    names = (name for name in files.list(folder) if name.startswith("lz-"))
    texts = (files.read_text(f"{folder}/{name}/{SEAL_FILE}") for name in names)
    return sorted((Seal.model_validate_json(text) for text in texts if text), key=lambda seal: seal.sealed_at)


def _copy(files: Files, source: str, target: str, size: int) -> None:
    if files.size(target) == size:
        return
    if files.size(source) != size:
        raise StagedFilesLost(
            f"{source} is gone or damaged, so its batch cannot be held; restore it, or run with --again"
        )
    files.copy(source, target)
    if is_local(target):  # the original is deleted next: the copy has to be on disk, not on its way there
        with local(target).open("rb") as file:
            os.fsync(file.fileno())


def bring_back(files: Files, seal: Seal, held_root: str) -> None:
    """Copy a held batch back to where it was staged, without its seal: readers do not see it there."""
    for file in seal.files:
        path = unquote(file["path"])
        _copy(files, f"{held_root}/{seal.folder}/{path}", f"{seal.stage}/{path}", int(file["size"]))


def close(files: Files, seal: Seal, held_root: str, resolution: Resolution) -> None:
    """Remove a held batch that has ended; how it ended stays."""
    place = f"{held_root}/{seal.folder}"
    document = {"resolution": resolution.model_dump(mode="json"), "seal": json.loads(seal.text())}
    files.put_if_absent(f"{place}/{CLOSED_FILE}", json.dumps(document))
    files.delete(f"{place}/{SEAL_FILE}")
    for name in files.list(place):
        if name != CLOSED_FILE:
            files.delete(f"{place}/{name}")


def closed(files: Files, held_root: str) -> list[tuple[Seal, Resolution]]:
    """The held batches that have ended, by the time they were sealed."""
    texts = (files.read_text(f"{held_root}/{name}/{CLOSED_FILE}") for name in files.list(held_root))
    documents = (json.loads(text) for text in texts if text)
    found = [(Seal.model_validate(each["seal"]), Resolution.model_validate(each["resolution"])) for each in documents]
    return sorted(found, key=lambda pair: pair[0].sealed_at)


def ask(files: Files, seal: Seal, held_root: str, request: Request) -> bool:
    """Put on record who asks for the end of a held batch; False if somebody has asked already."""
    return files.put_if_absent(f"{held_root}/{seal.folder}/{REQUEST_FILE}", request.model_dump_json())


def asked(files: Files, seal: Seal, held_root: str) -> Request | None:
    """Who asked for the end of a held batch."""
    text = files.read_text(f"{held_root}/{seal.folder}/{REQUEST_FILE}")
    return None if text is None else Request.model_validate_json(text)
