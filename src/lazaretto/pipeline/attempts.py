"""What corrections tried and mended so far, from the evidence; needs no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lazaretto.model.correction import Correction
from lazaretto.store import EvidenceKind, Store

ACTION = "corrections:tried"
"""What the evidence calls an attempt."""


def so_far(store: Store, corrections: Mapping[str, Sequence[Correction]]) -> list[dict[str, Any]]:
    """By asset, correction, version and fingerprint: how many records were tried and mended, and when last.

    Those that are written in the project today come first (`current`), with zeros if they were never tried.
    """
    lines: dict[tuple[str, str, str, str], dict[str, Any]] = {}

    def line(asset: str, one: Mapping[str, Any], *, current: bool) -> dict[str, Any]:
        key = (asset, str(one["id"]), str(one["version"]), str(one["fingerprint"]))
        names = ("asset", "id", "version", "fingerprint")
        empty = {"owner": one["owner"], "tried": 0, "succeeded": 0, "last": None, "current": current}
        return lines.setdefault(key, dict(zip(names, key, strict=True)) | empty)

    for asset, ones in corrections.items():
        for each in ones:
            known = {"id": each.id, "version": each.version, "fingerprint": each.fingerprint, "owner": each.owner}
            line(asset, known, current=True)
    for asset, ones in corrections.items():
        ids = {each.id for each in ones}
        for record in store.evidence(asset):
            if record.kind != EvidenceKind.RECORDS or record.payload["action"] != ACTION:
                continue
            for one in record.payload["details"]["corrections"]:
                if one["id"] in ids:
                    found = line(asset, one, current=False)
                    found["tried"] += one["tried"]
                    found["succeeded"] += one["succeeded"]
                    found["last"] = record.recorded_at.isoformat()
    return list(lines.values())
