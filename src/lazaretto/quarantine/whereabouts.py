# ruff: noqa: S608 - SQL is what is made here; names and literals go through checks.sql
"""Where a record stands, derived from the tables in one place: the archive beats the outbox, which beats the column.

A record that is moved lies in both tables for a moment, and after a crash until the next command. While a move is
open, whoever reads leaves out of the inbox what the archive has; at all other times the archive is not even looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lazaretto.checks import sql
from lazaretto.model.lifecycle import standing_sql
from lazaretto.quarantine.records import exists
from lazaretto.quarantine.shape import COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ARCHIVE_ONLY = {"archived_at": "timestamp", "archived_status": "string"}
"""What is known of archived records besides, NULL for all others."""


@dataclass(frozen=True)
class Tables:
    """Where records are."""

    records: str
    archive: str | None = None
    outbox: str | None = None
    moving: bool = False
    """Whether a move between records and archive was begun and is not finished."""


def inbox(spark: SparkSession, tables: Tables) -> str:
    """SQL of the records that are not archived, to stand after FROM."""
    if not exists(spark, tables.records):
        return _nothing()
    source = f"delta.{sql.identifier(tables.records)} AS lz_r"
    status = "lz_r.status"
    if tables.outbox is not None and exists(spark, tables.outbox):
        sent = f"SELECT record_id, max(attempt) AS sent FROM delta.{sql.identifier(tables.outbox)} GROUP BY record_id"
        source += f" LEFT JOIN ({sent}) AS lz_o ON lz_r.record_id = lz_o.record_id"
        status = standing_sql("lz_r.status", "lz_r.attempt", "lz_o.sent")
    if tables.moving and tables.archive is not None and exists(spark, tables.archive):
        archive = f"delta.{sql.identifier(tables.archive)}"
        source += f" LEFT ANTI JOIN {archive} AS lz_a ON lz_r.record_id = lz_a.record_id"
    extra = ", ".join(f"cast(NULL as {kind}) AS {name}" for name, kind in ARCHIVE_ONLY.items())
    columns = ", ".join(f"{status} AS status" if c.name == "status" else f"lz_r.{c.name}" for c in COLUMNS)
    return f"(SELECT {columns}, {extra} FROM {source})"


def archived(spark: SparkSession, tables: Tables) -> str:
    """SQL of the records in the archive, to stand after FROM."""
    if tables.archive is None or not exists(spark, tables.archive):
        return _nothing()
    columns = ", ".join((*(c.name for c in COLUMNS), *ARCHIVE_ONLY))
    return f"(SELECT {columns} FROM delta.{sql.identifier(tables.archive)})"


def everywhere(spark: SparkSession, tables: Tables) -> str:
    """SQL of all records, each once, to stand after FROM."""
    return f"(SELECT * FROM {inbox(spark, tables)} UNION ALL SELECT * FROM {archived(spark, tables)})"


def _nothing() -> str:
    columns = {column.name: column.type for column in COLUMNS} | ARCHIVE_ONLY
    typed = ", ".join(f"cast(NULL as {kind}) AS {name}" for name, kind in columns.items())
    return f"(SELECT {typed} WHERE false)"
