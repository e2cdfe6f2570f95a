# ruff: noqa: S608 - SQL is what is made here; names and literals go through checks.sql
"""Looking into the quarantine: pages that stay fast on millions of records, and one record in full.

A page never counts or sorts the table. The log says how many records each day has, so a page reads whole days from
the newest on until it is full, and of those keeps the first few only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from lazaretto.checks import sql
from lazaretto.model.errors import LazarettoError
from lazaretto.quarantine import whereabouts
from lazaretto.quarantine.records import exists
from lazaretto.quarantine.shape import NAMES
from lazaretto.quarantine.veil import Veil, shown
from lazaretto.quarantine.wanted import FilterError, Wanted
from lazaretto.quarantine.whereabouts import ARCHIVE_ONLY, Tables
from lazaretto.spark.delta_log import DeltaLogs
from lazaretto.spark.plain import plain, plain_utc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LISTED = (
    "record_id", "place", "asset", "source_system", "entity", "record_key", "severity", "status", "attempt",
    "quarantined_at", "quarantined_date", "run_id", "batch_id",
)  # fmt: skip
"""What a list tells of each record, besides the rules it broke."""

_AT_FIRST = 20_000
"""Records that the first look reads at least; each further one reads so many times more."""
_FURTHER = 16


class NoSuchRecord(LazarettoError):
    """No record has this id, or more than one begins so."""


@dataclass(frozen=True)
class Page:
    """Some records, and where the next page begins."""

    records: tuple[dict[str, Any], ...]
    next: str | None
    """Given as `after`, it continues where this page ends; None if nothing is left."""


def page(
    spark: SparkSession,
    tables: Tables,
    wanted: Wanted,
    *,
    limit: int = 50,
    after: str | None = None,
    oldest_first: bool = False,
    archived: bool = False,
    veil: Veil | None = None,
) -> Page:
    """The first `limit` records after a place, the newest day first."""
    source = whereabouts.archived(spark, tables) if archived else whereabouts.inbox(spark, tables)
    schemas = schemas_of(spark, source, wanted)
    rules = "array_distinct(transform(failures, f -> f.rule_id)) AS rules"
    columns = f"{shown((*LISTED, *ARCHIVE_ONLY), veil)}, {rules}"
    chosen = wanted.select(source, columns, schemas)
    order = f"quarantined_date {'ASC' if oldest_first else 'DESC'}, record_id"
    beyond = _beyond(after, oldest_first=oldest_first)
    found: list[Any] = []
    for days in [None] if archived else _windows(spark, tables.records, wanted, after, oldest_first=oldest_first):
        conditions = [part for part in (beyond, days) if part]
        where = f" WHERE {sql.conjunction(conditions)}" if conditions else ""
        rest = limit + 1 - len(found)
        found += spark.sql(f"SELECT * FROM ({chosen}){where} ORDER BY {order} LIMIT {rest}").collect()
        if len(found) > limit:
            break
    records = tuple(plain_utc(plain(row)) for row in found[:limit])
    last = records[-1] if len(found) > limit else None
    return Page(records, None if last is None else f"{last['quarantined_date']}/{last['record_id']}")


def find(spark: SparkSession, tables: Tables, record: str, *, veil: Veil | None = None) -> dict[str, Any]:
    """One record in full, wherever it is, by its id or the beginning of it."""
    if not record.strip() or not record.strip().isalnum():
        raise NoSuchRecord(f"{record!r} is no id of a record: `lazaretto quarantine list` shows them")
    columns = shown((*NAMES, *ARCHIVE_ONLY), veil)
    source = whereabouts.everywhere(spark, tables)
    rows = spark.sql(
        f"SELECT {columns} FROM {source} WHERE startswith(record_id, {sql.text(record.strip().lower())}) LIMIT 2"
    ).collect()
    if not rows:
        raise NoSuchRecord(f"no record in the quarantine or its archive has an id beginning with {record}")
    if len(rows) > 1:
        raise NoSuchRecord(f"more than one record has an id beginning with {record}: give more of it")
    return dict(plain_utc(plain(rows[0])))


def rows(
    spark: SparkSession,
    tables: Tables,
    wanted: Wanted,
    columns: Sequence[str] = NAMES,
    *,
    archived: bool = False,
    veil: Veil | None = None,
) -> DataFrame:
    """All wanted records as a frame, in no order."""
    source = whereabouts.archived(spark, tables) if archived else whereabouts.inbox(spark, tables)
    return spark.sql(wanted.select(source, shown(columns, veil), schemas_of(spark, source, wanted)))


def schemas_of(spark: SparkSession, source: str, wanted: Wanted) -> list[str]:
    """The schemas that rows of the wanted dataset came with, the newest first, if the filter asks for its columns."""
    if not wanted.asks_for_row:
        return []
    asset = sql.text(wanted.datasets[0])
    found = spark.sql(
        "SELECT payload_schema, max(quarantined_at) AS newest "
        f"FROM {source} WHERE asset = {asset} AND payload_schema IS NOT NULL GROUP BY ALL ORDER BY newest DESC"
    ).collect()
    return [row["payload_schema"] for row in found]


def _beyond(after: str | None, *, oldest_first: bool) -> str | None:
    if after is None:
        return None
    day, _, record = after.partition("/")
    if not record.isalnum() or not _is_day(day):
        raise FilterError(f"{after!r} is no place to continue from: give what the page before called `next`")
    ahead = ">" if oldest_first else "<"
    return (
        f"(quarantined_date {ahead} DATE'{day}' OR (quarantined_date = DATE'{day}' AND record_id > {sql.text(record)}))"
    )


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _windows(
    spark: SparkSession, path: str, wanted: Wanted, after: str | None, *, oldest_first: bool
) -> Iterator[str | None]:
    """Conditions that take the days in order, few records at first, then more and more."""
    if not exists(spark, path):
        return
    day_of_cursor = after.partition("/")[0] if after else None
    severities = {str(severity) for severity in wanted.severities}
    days: dict[str, int] = {}
    for place, rows in DeltaLogs(spark).partition_rows(path):
        day = place["quarantined_date"]
        if severities and place.get("severity") not in severities:
            continue
        if day_of_cursor and (day < day_of_cursor if oldest_first else day > day_of_cursor):
            continue
        if wanted.since and day < (wanted.since - timedelta(days=1)).date().isoformat():
            continue
        if wanted.until and day > (wanted.until + timedelta(days=1)).date().isoformat():
            continue
        days[day] = days.get(day, 0) + (_AT_FIRST if rows is None else rows)
    budget, taken, window = _AT_FIRST, 0, list[str]()
    for day in sorted(days, reverse=not oldest_first):
        window.append(day)
        taken += days[day]
        if taken >= budget:
            yield _between(window)
            budget, taken, window = budget * _FURTHER, 0, []
    if window:
        yield _between(window)


def _between(days: list[str]) -> str:
    return f"quarantined_date BETWEEN DATE'{min(days)}' AND DATE'{max(days)}'"
