# ruff: noqa: S608 - SQL is what is made here; names and literals go through checks.sql
"""Counts of the quarantine by source system, day and failure type, from one pass over a few columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from lazaretto.model.lifecycle import OPEN
from lazaretto.quarantine import whereabouts
from lazaretto.quarantine.looking import schemas_of
from lazaretto.quarantine.wanted import Wanted
from lazaretto.quarantine.whereabouts import Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AGES = (("under a day", 1), ("1 to 7 days", 7), ("7 to 30 days", 30), ("30 to 90 days", 90), ("over 90 days", None))
"""How old open records are told to be."""

_BROKEN = (
    "array_sort(array_distinct(transform(filter(failures, f -> NOT coalesce(f.warning, false)), "
    "f -> named_struct('type', f.rule_type, 'rule', f.rule_id))))"
)


@dataclass(frozen=True)
class Group:
    """Records of one source system and day that failed in the same way. One that failed in two ways is in two."""

    source_system: str | None
    day: date
    failure: str
    """The kind of check, and its rule."""
    rule: str
    records: int
    oldest: datetime


@dataclass(frozen=True)
class Summary:
    """How much is in the quarantine, what kind, and for how long."""

    records: int
    oldest: datetime | None
    """Of the open ones."""
    by_status: dict[str, int]
    by_place: dict[str, int]
    by_asset: dict[str, int]
    by_severity_and_age: dict[str, dict[str, int]]
    """Open records: severity → age → number."""
    groups: tuple[Group, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        groups = [
            vars(group) | {"day": group.day.isoformat(), "oldest": group.oldest.isoformat()} for group in self.groups
        ]
        return vars(self) | {"oldest": self.oldest and self.oldest.isoformat(), "groups": groups}


def summarise(
    spark: SparkSession, tables: Tables, wanted: Wanted, *, now: datetime | None = None, archived: bool = False
) -> Summary:
    """Count the wanted records; without a status asked for, groups are of the open ones."""
    source = whereabouts.archived(spark, tables) if archived else whereabouts.inbox(spark, tables)
    columns = (
        "source_system, asset, quarantined_date AS day, severity, status, place, "
        f"{_BROKEN} AS broken, unix_micros(quarantined_at) AS at"
    )
    select = wanted.select(source, columns, schemas_of(spark, source, wanted))
    rows = spark.sql(f"SELECT * EXCEPT (at), count(*) AS n, min(at) AS oldest FROM ({select}) GROUP BY ALL").collect()
    return _rolled_up(rows, now or datetime.now(UTC), all_in_groups=bool(wanted.statuses) or archived)


def _rolled_up(rows: list[Any], now: datetime, *, all_in_groups: bool) -> Summary:
    status, place, asset = Counter[str](), Counter[str](), Counter[str]()
    ages: dict[str, Counter[str]] = {}
    found: dict[tuple[Any, ...], tuple[int, int]] = {}
    oldest: int | None = None
    open_ones = {each.value for each in OPEN}
    for row in rows:
        status[row["status"]] += row["n"]
        place[row["place"]] += row["n"]
        asset[row["asset"]] += row["n"]
        is_open = row["status"] in open_ones
        if is_open:
            oldest = row["oldest"] if oldest is None else min(oldest, row["oldest"])
            ages.setdefault(str(row["severity"]), Counter())[_age((now.date() - row["day"]).days)] += row["n"]
        if not (is_open or all_in_groups):
            continue
        kinds = [(each["type"], each["rule"]) for each in row["broken"] or ()] or [(row["place"], "")]
        for kind, rule in kinds:
            key = (row["source_system"], row["day"], kind or "", rule or "")
            n, first = found.get(key, (0, row["oldest"]))
            found[key] = (n + row["n"], min(first, row["oldest"]))
    groups = [
        Group(system, day, kind, rule, n, _moment(first)) for (system, day, kind, rule), (n, first) in found.items()
    ]
    groups.sort(key=lambda g: (g.source_system or "", g.rule, g.failure))
    groups.sort(key=lambda g: g.day, reverse=True)
    return Summary(
        records=sum(status.values()),
        oldest=None if oldest is None else _moment(oldest),
        by_status=dict(sorted(status.items())),
        by_place=dict(sorted(place.items())),
        by_asset=dict(sorted(asset.items())),
        by_severity_and_age={severity: dict(counts) for severity, counts in sorted(ages.items())},
        groups=tuple(groups),
    )


def _age(days: int) -> str:
    return next(name for name, end in AGES if end is None or days < end)


def _moment(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / 1_000_000, UTC)
