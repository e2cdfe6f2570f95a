"""Records as files for people and programs: CSV, JSON Lines, Parquet."""

from __future__ import annotations

import csv
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lazaretto.checks import sql
from lazaretto.model.errors import LazarettoError
from lazaretto.model.words import Word

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EXPORTED = (
    "record_id", "place", "asset", "source_system", "entity", "record_key", "event_id", "severity", "status", "attempt",
    "quarantined_at", "source_table", "source_position", "run_id", "batch_id", "suite", "suite_version", "payload",
    "correction", "failures", "reject_reason_code", "updated_at", "updated_by",
)  # fmt: skip
"""What an export has of each record."""

_OBJECTS = ("payload", "correction", "failures")
# What makes a spreadsheet take a cell for a formula, full-width forms included. Excel drops blanks before it looks.
_FORMULA = re.compile("\\A[\\s\x00]*[=+\\-@\uff1d\uff0b\uff0d\uff20]|\\A[\t\r\n]")
_NUMBER = re.compile(r"\A[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z", re.ASCII)


class Format(Word):
    """How an export is written."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"


class ExportError(LazarettoError):
    """An export that cannot be written; the message says why."""


def export(frame: DataFrame, target: Path, format: Format) -> int:
    """Write the records of a frame (with the columns of EXPORTED) into one file; how many there were.

    The file appears when it is complete, readable for its owner only, and is never written over another.
    """
    if target.exists():
        raise ExportError(f"{target} is there already: name another file, or move it away")
    if not target.parent.is_dir():
        raise ExportError(f"there is no folder {target.parent}")
    readable = frame.selectExpr(*(_readable(name, kind) for name, kind in frame.dtypes))
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as scratch:  # of mode 0700
        if format is Format.PARQUET:
            draft, count = _parquet(readable, Path(scratch))
        else:
            draft = Path(scratch) / "draft"
            rows = readable.toLocalIterator()
            names = readable.columns
            count = _csv(draft, names, rows) if format is Format.CSV else _json_lines(draft, names, rows)
        draft.chmod(0o600)
        try:
            target.hardlink_to(draft)  # unlike a move, never over a file that appeared meanwhile
        except FileExistsError:
            raise ExportError(f"{target} is there already: name another file, or move it away") from None
        except OSError:
            shutil.move(draft, target)
    return count


def harmless(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: an apostrophe makes it text. Plain numbers stay numbers."""
    if _FORMULA.search(cell) and not _NUMBER.match(cell):
        return f"'{cell}"
    return cell


def _readable(name: str, kind: str) -> str:
    column = sql.identifier(name)
    if name in _OBJECTS:
        return f"to_json({column}) AS {column}"
    if kind == "timestamp":  # the same text whatever the session's time zone
        in_utc = f"to_utc_timestamp({column}, current_timezone())"
        return f"""concat(date_format({in_utc}, "yyyy-MM-dd'T'HH:mm:ss.SSS"), 'Z') AS {column}"""
    return column


def _csv(draft: Path, names: Sequence[str], rows: Iterable[Any]) -> int:
    count = 0
    with draft.open("w", encoding="utf-8", newline="") as file:
        # Everything quoted: where a semicolon separates cells, half a text would otherwise begin a cell.
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(map(harmless, names))
        for row in rows:
            writer.writerow("" if value is None else harmless(str(value)) for value in row)
            count += 1
    return count


def _json_lines(draft: Path, names: Sequence[str], rows: Iterable[Any]) -> int:
    count = 0
    with draft.open("w", encoding="utf-8") as file:
        for row in rows:
            values = {n: json.loads(v) if n in _OBJECTS and v else v for n, v in zip(names, row, strict=True)}
            file.write(json.dumps(values, ensure_ascii=False, default=str) + "\n")
            count += 1
    return count


def _parquet(frame: DataFrame, scratch: Path) -> tuple[Path, int]:
    folder = scratch / "parquet"
    frame.coalesce(1).write.parquet(str(folder))
    parts = sorted(folder.glob("*.parquet"))
    count = frame.sparkSession.read.parquet(str(folder)).count()
    return parts[0], count
