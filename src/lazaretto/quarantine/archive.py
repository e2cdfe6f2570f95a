# ruff: noqa: S608 - SQL is what is made here; names and literals go through checks.sql
"""`quarantine.archive`: records that are put away, by month; and the way there and back.

A move copies first, once, however often repeated (a transaction id in the log of the table it copies to), and takes
away second. In between a record lies in both tables, and the archive counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lazaretto.checks import sql
from lazaretto.engine.judge import literal_time
from lazaretto.model.words import RecordStatus
from lazaretto.quarantine.history import appended, entry, text
from lazaretto.quarantine.records import ensure, exists
from lazaretto.quarantine.shape import COLUMNS, NAMES, STATISTICS
from lazaretto.spark.delta_log import DeltaLogs
from lazaretto.spark.sessions import noting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BESIDES = {
    "archived_status": ("string", "what it was before"),
    "archived_at": ("timestamp", "when it was put away"),
    "move": ("string", "the move it came with"),
    "month": ("string", "month in which it was quarantined"),
}
_PROPERTIES = {
    "delta.enableDeletionVectors": "true",
    "delta.dataSkippingStatsColumns": STATISTICS,
}


def ensure_archive(spark: SparkSession, archive: str) -> None:
    """Make the archive, or give it the columns that records have got since."""
    table = f"delta.{sql.identifier(archive)}"
    columns = {c.name: (c.type, c.comment) for c in COLUMNS} | _BESIDES
    if not exists(spark, archive):
        listed = ", ".join(f"{name} {kind} COMMENT {sql.text(note)}" for name, (kind, note) in columns.items())
        properties = ", ".join(f"'{name}' = '{value}'" for name, value in _PROPERTIES.items())
        spark.sql(
            f"CREATE TABLE IF NOT EXISTS {table} ({listed}) USING delta PARTITIONED BY (month) "
            f"TBLPROPERTIES ({properties})"
        )
        return
    found = {field["name"] for field in DeltaLogs(spark).facts(archive).schema["fields"]}
    if missing := [f"{name} {kind}" for name, (kind, _) in columns.items() if name not in found]:
        spark.sql(f"ALTER TABLE {table} ADD COLUMNS ({', '.join(missing)})")


def put_away(
    spark: SparkSession,
    records: str,
    archive: str,
    chosen: str,
    *,
    move: str,
    app: str,
    at: datetime,
    by: str,
    why: str,
    assurance: str,
) -> None:
    """Copy the records whose ids `chosen` (SQL) selects to the archive, unless this move has done so already."""
    ensure_archive(spark, archive)
    if _has(spark, archive, app):
        return
    step = {"step": "'archive'", "came_from": "r.status", "went_to": f"'{RecordStatus.ARCHIVED}'"}
    values = {
        "status": f"'{RecordStatus.ARCHIVED}'",
        "history": appended("r.history", entry(step | _who(move, at, by, why, assurance))),
        "archived_status": "r.status",
        "archived_at": literal_time(at),
        "move": sql.text(move),
        "month": "date_format(r.quarantined_date, 'yyyy-MM')",
    }
    columns = ", ".join(f"{values.get(name, f'r.{name}')} AS {name}" for name in (*NAMES, *_BESIDES))
    frame = spark.sql(
        f"SELECT {columns} FROM delta.{sql.identifier(records)} AS r LEFT SEMI JOIN ({chosen}) AS c "
        "ON r.record_id = c.record_id"
    )
    DeltaLogs(spark).append_once(archive, frame, app, {"move": move, "kind": "archive"})


def take_away(spark: SparkSession, records: str, archive: str, *, move: str) -> None:
    """Delete from the records what a move has brought to the archive."""
    source = f"SELECT record_id FROM delta.{sql.identifier(archive)} WHERE move = {sql.text(move)}"
    _delete(spark, records, source, {"move": move, "kind": "archive"})


def bring_back(
    spark: SparkSession,
    records: str,
    archive: str,
    ids: Sequence[str],
    *,
    move: str,
    app: str,
    at: datetime,
    by: str,
    why: str,
    assurance: str,
) -> None:
    """Copy archived records back, as what they were, unless this move has done so already."""
    ensure(spark, records)
    ensure_archive(spark, archive)
    if _has(spark, records, app):
        return
    step = {"step": "'restore'", "came_from": f"'{RecordStatus.ARCHIVED}'", "went_to": "archived_status"}
    values = {
        "status": "archived_status",
        "history": appended("history", entry(step | _who(move, at, by, why, assurance))),
        "updated_at": literal_time(at),
        "updated_by": sql.text(by),
    }
    columns = ", ".join(f"{values.get(name, name)} AS {name}" for name in NAMES)
    frame = spark.sql(
        f"SELECT {columns} FROM delta.{sql.identifier(archive)} WHERE record_id IN ({sql.literals(ids, 'string')})"
    )
    DeltaLogs(spark).append_once(records, frame, app, {"move": move, "kind": "restore"})


def forget(spark: SparkSession, archive: str, ids: Sequence[str], *, move: str) -> None:
    """Delete from the archive what was brought back."""
    rows = ", ".join(f"({sql.text(each)})" for each in ids)
    _delete(spark, archive, f"SELECT * FROM VALUES {rows} AS v(record_id)", {"move": move, "kind": "restore"})


def _who(move: str, at: datetime, by: str, why: str, assurance: str) -> dict[str, str]:
    return {
        "deed": sql.text(move),
        "at": literal_time(at),
        "by": sql.text(by),
        "assurance": sql.text(assurance),
        "means": "'command'",
        "why": text(why or None),
    }


def _has(spark: SparkSession, table: str, app: str) -> bool:
    return DeltaLogs(spark).transaction_version(table, app) >= 1


def _delete(spark: SparkSession, table: str, source: str, note: dict[str, Any]) -> None:
    noting(spark, {"lazaretto": 1, **note}).sql(
        f"MERGE INTO delta.{sql.identifier(table)} AS t USING ({source}) AS s ON t.record_id = s.record_id "
        "WHEN MATCHED THEN DELETE"
    )
