"""The state of a Delta table, put together from its log as it lies on disk: for where Delta's classes are out of reach.

Only what is not about files: what the table is, and what applications noted. A log with a gap is an error, never a
guess.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lazaretto.extras import require
from lazaretto.model.errors import LazarettoError
from lazaretto.spark.files import Files, local

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.[0-9a-f-]{36})?\.(parquet|json)")
_ACTIONS = ("metaData", "protocol", "txn")


class LogUnreadable(LazarettoError):
    """The log of a table cannot be put together from its files."""


@dataclass
class LogState:
    """A table as of one version."""

    version: int
    metadata: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    transactions: dict[str, int] = field(default_factory=dict)

    def take(self, action: Mapping[str, Any]) -> None:
        """Follow an action, the older ones first."""
        if action.get("metaData"):
            self.metadata = action["metaData"]
        if action.get("protocol"):
            self.protocol = action["protocol"]
        if action.get("txn"):
            self.transactions[action["txn"]["appId"]] = int(action["txn"]["version"])


def has_log(files: Files, table: str) -> bool:
    """Whether there is a Delta table."""
    return any(_COMMIT.fullmatch(n) or _CHECKPOINT.fullmatch(n) for n in files.list(f"{table}/_delta_log"))


def state_of(files: Files, table: str) -> LogState:
    """The newest state: the last whole checkpoint and the commits after it."""
    folder = f"{table}/_delta_log"
    names = files.list(folder)
    commits = {int(found[1]) for name in names if (found := _COMMIT.fullmatch(name))}
    checkpoints = _whole_checkpoints(names)
    if not commits and not checkpoints:
        raise LogUnreadable(f"{table} is not a Delta table")
    start = max(checkpoints, default=-1)
    newest = max(commits | {start})
    state = LogState(newest)
    for name in checkpoints.get(start, ()):
        for action in _read_checkpoint(f"{folder}/{name}"):
            state.take(action)
    for version in range(start + 1, newest + 1):
        text = files.read_text(f"{folder}/{version:020d}.json") if version in commits else None
        if text is None:
            raise LogUnreadable(f"the log of {table} lacks version {version}: it cannot be put together from its files")
        for action in _actions(text.splitlines()):
            state.take(action)
    if not state.metadata or not state.protocol:
        raise LogUnreadable(f"the log of {table} does not say what the table is")
    return state


def _whole_checkpoints(names: Iterable[str]) -> dict[int, list[str]]:
    """Version → the files of its checkpoint; one in several parts counts only if it has them all."""
    whole: dict[int, list[str]] = {}
    parts: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name in names:
        if (found := _CHECKPOINT.fullmatch(name)) is None:
            continue
        if found[3] is None:
            whole[int(found[1])] = [name]
        else:
            parts[int(found[1]), int(found[3])].append(name)
    for (version, count), members in parts.items():
        if len(members) == count:
            whole.setdefault(version, members)
    return whole


def _actions(lines: Iterable[str]) -> Iterable[Mapping[str, Any]]:
    """The actions that matter here; those about files are many and long, and are not even parsed."""
    for line in lines:
        if line.strip() and not line.startswith(('{"add"', '{"remove"', '{"cdc"')):
            yield json.loads(line)


def _read_checkpoint(path: str) -> Iterable[Mapping[str, Any]]:
    if path.endswith(".json"):
        with local(path).open(encoding="utf-8") as lines:
            yield from _actions(lines)
        return
    parquet: Any = require("pyarrow.parquet", extra="connect")
    file = parquet.ParquetFile(local(path))
    present = [name for name in _ACTIONS if name in file.schema_arrow.names]
    # Row groups one by one: nearly all rows are about files, and have nothing in these columns.
    for number in range(file.num_row_groups):
        for row in file.read_row_group(number, columns=present).to_pylist():
            if any(row.values()):
                yield {name: _plain(action) for name, action in row.items() if action}


def rows_in(path: str) -> int | None:
    """How many rows a data file has; None while it is being written."""
    parquet: Any = require("pyarrow.parquet", extra="connect")
    try:
        return int(parquet.read_metadata(local(path)).num_rows)
    except (OSError, ValueError):  # Arrow's errors are these
        return None


def _plain(action: Mapping[str, Any]) -> dict[str, Any]:
    """As the same action reads in JSON: Arrow gives a map as pairs."""
    return {
        name: dict(value) if name in ("configuration", "options") and isinstance(value, list) else value
        for name, value in action.items()
        if value is not None
    }
