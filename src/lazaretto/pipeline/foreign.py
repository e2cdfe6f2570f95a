"""What others did to an asset since our last commit there: detected and told, never undone and never repeated.

RESTORE takes rows back while the log still knows their batches as published; DELETE and UPDATE change what was
certified. Nothing of that is our loss, but nobody should believe the last certificate either.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lazaretto.model.run import RunResult
from lazaretto.model.words import AssetState

if TYPE_CHECKING:
    from lazaretto.spark.files import Files
    from lazaretto.store import Store

_FAR_ENOUGH = 1000
"""So many commits are looked at; who did more than that between two runs is the owner of the table."""


@dataclass(frozen=True)
class ForeignChange:
    """A commit of somebody else's that changed rows."""

    version: int
    operation: str
    taken_back: tuple[str, ...] = ()
    """Batches of ours whose rows a RESTORE took back."""

    def __str__(self) -> str:
        text = f"somebody else changed rows: {self.operation} (version {self.version})"
        if not self.taken_back:
            return text
        batches = ", ".join(batch[:12] for batch in self.taken_back)
        return (
            f"{text} took back the rows of batch {batches}; they are not published again by themselves: "
            "restore the table to before that, or take the input again with --again"
        )


@dataclass(frozen=True)
class _Commit:
    version: int
    info: dict[str, Any]
    changes_rows: bool

    @property
    def ours(self) -> dict[str, Any] | None:
        """What we said of the batch, where the commit is ours."""
        try:
            said = json.loads(self.info.get("userMetadata") or "null")
        except ValueError:  # somebody else's words
            return None
        return said if isinstance(said, dict) and "lazaretto" in said else None


def foreign_changes(files: Files, table: str, version: int) -> tuple[ForeignChange, ...]:
    """Commits after our last one, up to this version, that changed rows; the oldest first.

    Empty where no commit is ours: what a table held before its first batch is not our business.
    """
    found: list[ForeignChange] = []
    for number in range(version, max(-1, version - _FAR_ENOUGH), -1):
        commit = _read(files, table, number)
        if commit is None:  # cleaned away
            return ()
        if commit.ours is not None:
            return tuple(reversed(found))
        if commit.changes_rows:
            operation = str(commit.info.get("operation", "a commit"))
            found.append(ForeignChange(number, operation, _taken_back(files, table, commit, operation)))
    return ()


def note(store: Store, asset: str, changes: tuple[ForeignChange, ...]) -> None:
    """The asset is no longer certified; said once for the same changes."""
    reason = "; ".join(map(str, changes))
    standing = store.asset_state(asset)
    if standing is None or standing.reason != reason:
        store.record_transition(
            asset, AssetState.UNCERTIFIED, version=changes[-1].version, reason=reason, actor="lazaretto"
        )


def told(result: RunResult, changes: tuple[ForeignChange, ...]) -> RunResult:
    """A run's result with what others did."""
    if not changes:
        return result
    sentences = tuple(map(str, changes))
    message = "\n".join((result.message, *sentences))
    return result.model_copy(update={"message": message, "foreign_changes": sentences})


def _taken_back(files: Files, table: str, commit: _Commit, operation: str) -> tuple[str, ...]:
    to = str((commit.info.get("operationParameters") or {}).get("version"))
    if operation != "RESTORE" or not to.isdigit():
        return ()
    between = (_read(files, table, number) for number in range(int(to) + 1, commit.version))
    return tuple(
        str(said["batch_id"]) for c in between if c is not None and c.changes_rows and (said := c.ours) is not None
    )


def _read(files: Files, table: str, version: int) -> _Commit | None:
    text = files.read_text(f"{table}/_delta_log/{version:020d}.json")
    if text is None:
        return None
    info: dict[str, Any] = {}
    changes = False
    for line in text.splitlines():
        action = json.loads(line) if line.strip() else {}
        info = action.get("commitInfo", info)
        changes = changes or any(action.get(kind, {}).get("dataChange") for kind in ("add", "remove"))
    return _Commit(version, info, changes)
