"""A table's log as it lies on disk: what each commit did, and whether it was ours. No Spark job is needed for it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lazaretto.spark.files import Files

_COMMIT = re.compile(r"\d{20}\.json")


@dataclass(frozen=True)
class Commit:
    """One version of a table."""

    version: int
    operation: str = "a commit"
    at: int = 0
    """Milliseconds since 1970."""
    note: Mapping[str, Any] = field(default_factory=dict)
    """What we said of a batch, where the commit is ours; else empty."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    added: tuple[Mapping[str, Any], ...] = ()
    """Files whose rows are new."""
    removed: tuple[Mapping[str, Any], ...] = ()
    """Files whose rows are gone."""
    moved: tuple[str, ...] = ()
    """Files that hold rows which were there before (OPTIMIZE)."""
    transactions: Mapping[str, int] = field(default_factory=dict)

    @property
    def changes_rows(self) -> bool:
        """Whether readers see other rows than before."""
        return bool(self.added or self.removed)

    @property
    def rows_added(self) -> int | None:
        """Rows of the added files by their statistics; None where a file has none."""
        total = 0
        for file in self.added:
            counted = json.loads(file.get("stats") or "{}").get("numRecords")
            if counted is None:
                return None
            total += int(counted)
        return total


def commits(files: Files, table: str, since: int = 0) -> list[Commit]:
    """The commits that the log still holds, the oldest first."""
    names = (name for name in files.list(f"{table}/_delta_log") if _COMMIT.fullmatch(name))
    versions = (version for version in (int(name.removesuffix(".json")) for name in names) if version >= since)
    found = (commit(files, table, version) for version in versions)
    return [each for each in found if each is not None]


def commit(files: Files, table: str, version: int) -> Commit | None:
    """One commit; None if the log does not hold it (any more)."""
    text = files.read_text(f"{table}/_delta_log/{version:020d}.json")
    if text is None:
        return None
    info: dict[str, Any] = {}
    added, removed, moved = [], [], []
    transactions: dict[str, int] = {}
    for line in filter(str.strip, text.splitlines()):
        action = json.loads(line)
        if "commitInfo" in action:
            info = action["commitInfo"]
        elif "txn" in action:
            transactions[action["txn"]["appId"]] = int(action["txn"]["version"])
        elif "add" in action and not action["add"].get("dataChange"):
            moved.append(str(action["add"]["path"]))
        elif "add" in action:
            added.append(action["add"])
        elif action.get("remove", {}).get("dataChange"):
            removed.append(action["remove"])
    return Commit(
        version=version,
        operation=str(info.get("operation", "a commit")),
        at=int(info.get("timestamp", 0)),
        note=_ours(info.get("userMetadata")),
        parameters=info.get("operationParameters") or {},
        added=tuple(added),
        removed=tuple(removed),
        moved=tuple(moved),
        transactions=transactions,
    )


def _ours(said: str | None) -> dict[str, Any]:
    try:
        note = json.loads(said or "null")
    except ValueError:  # somebody else's words
        return {}
    return note if isinstance(note, dict) and "lazaretto" in note else {}
