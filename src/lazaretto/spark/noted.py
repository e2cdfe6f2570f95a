"""What applications noted in a table's log (Delta's SetTransaction), without putting the whole table together.

Delta answers `txnVersion` from the table's full state, which costs half a second for the smallest table and is asked
several times per batch. The checksum of the newest version has the same list while it is short. Beyond that, what was
known of an earlier version in this process plus the commits since. Only where neither helps is the state computed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lazaretto.spark.files import Files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SEPARATOR = "\x1e"
_ENTRY = re.compile(r"SetTransaction\((.*),(-?\d+),(?:None|Some\(-?\d+\))\)", re.DOTALL)
_MOST_COMMITS = 20
"""Commits that are read one by one; beyond them Delta's own way is as quick."""


@dataclass(frozen=True)
class _Known:
    """Everything noted in a table, as of a version."""

    table_id: str
    version: int
    noted: Mapping[str, int]


_LATEST: dict[str, _Known] = {}


def noted(spark: SparkSession, path: str, transaction: Any, app_id: str) -> int:
    """The last version an application noted, or -1.

    Asking declares the read, as `txnVersion` does: if somebody notes something for the same application meanwhile, the
    commit of this transaction fails.
    """
    getattr(transaction.readTxn(), "$plus$eq")(app_id)
    return all_noted(spark, path, transaction.snapshot()).get(app_id, -1)


def all_noted(spark: SparkSession, path: str, snapshot: Any) -> Mapping[str, int]:
    """Everything that applications noted in a table, as of a snapshot."""
    table_id, version = str(snapshot.metadata().id()), int(snapshot.version())
    known = _LATEST.get(path)
    if known is not None and (known.table_id, known.version) == (table_id, version):
        return known.noted
    checksum = snapshot.checksumOpt()
    if checksum.isDefined() and checksum.get().setTransactions().isDefined():
        found: Mapping[str, int] = _told(checksum.get().setTransactions().get())
    elif (since := _since(spark, path, known, table_id, version)) is not None:
        found = since
    else:
        found = _told(snapshot.setTransactions())
    _LATEST[path] = _Known(table_id, version, found)
    return found


def _told(entries: Any) -> dict[str, int]:
    """One call for all of them: there may be thousands."""
    text = str(entries.mkString(_SEPARATOR))
    matches = (_ENTRY.fullmatch(entry) for entry in text.split(_SEPARATOR) if entry)
    return {match[1]: int(match[2]) for match in matches if match}


def _since(
    spark: SparkSession, path: str, known: _Known | None, table_id: str, version: int
) -> Mapping[str, int] | None:
    if known is None or known.table_id != table_id or not 0 < version - known.version <= _MOST_COMMITS:
        return None
    files, found = Files(spark), dict(known.noted)
    for each in range(known.version + 1, version + 1):
        commit = files.read_text(f"{path}/_delta_log/{each:020d}.json")
        if commit is None:  # compacted or cleaned up
            return None
        for line in commit.splitlines():
            if line.startswith('{"txn"'):
                entry = json.loads(line)["txn"]
                found[entry["appId"]] = int(entry["version"])
    return found
