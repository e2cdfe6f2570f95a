# ruff: noqa: S608 - SQL is what is made here; names and literals go through checks.sql
"""How the quarantine is emptied: time to resolution, attempts, arrivals against drains. From the records' histories."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from lazaretto.checks import sql
from lazaretto.model.words import RecordStatus
from lazaretto.quarantine.append import utc_date
from lazaretto.quarantine.whereabouts import Tables, everywhere

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ENDS = (RecordStatus.RECOVERED, RecordStatus.REJECTED)


@dataclass(frozen=True)
class Resolution:
    """Records of an asset that came to the same end, and how long that took."""

    asset: str
    ended_as: str
    records: int
    median_hours: float
    slowest_tenth_hours: float
    """Nine in ten took less."""
    attempts: float
    """On average."""
    most_attempts: int


@dataclass(frozen=True)
class Flow:
    """What came in and what was resolved on one day."""

    asset: str
    day: date
    arrived: int
    drained: int


@dataclass(frozen=True)
class Numbers:
    """All of them."""

    resolutions: tuple[Resolution, ...]
    flow: tuple[Flow, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        flow = [vars(each) | {"day": each.day.isoformat()} for each in self.flow]
        return {"resolutions": [vars(each) for each in self.resolutions], "flow": flow}


def numbers(spark: SparkSession, tables: Tables, since: date) -> Numbers:
    """Of records resolved, and of days, since then; archived records count as what they were."""
    ends = sql.literals(_ENDS, "string")
    last = f"try_element_at(filter(history, h -> h.went_to IN ({ends}) AND h.step <> 'restore'), -1).at"
    known = (
        "SELECT asset, quarantined_at, quarantined_date, attempt, ended_as, "
        f"CASE WHEN ended_as IN ({ends}) THEN closed_at END AS closed_at FROM ("
        "SELECT *, coalesce(archived_status, status) AS ended_as, "
        f"coalesce({last}, updated_at, quarantined_at) AS closed_at "
        f"FROM {everywhere(spark, tables)})"
    )
    day = utc_date("closed_at")
    first = f"DATE'{since.isoformat()}'"
    hours = "(unix_micros(closed_at) - unix_micros(quarantined_at)) / 3.6e9"
    resolved = spark.sql(
        f"SELECT asset, ended_as, count(*) AS records, percentile_approx({hours}, array(0.5, 0.9)) AS hours, "
        f"avg(attempt) AS attempts, max(attempt) AS most FROM ({known}) "
        f"WHERE closed_at IS NOT NULL AND {day} >= {first} GROUP BY asset, ended_as ORDER BY asset, ended_as"
    ).collect()
    flow = spark.sql(
        f"SELECT asset, day, sum(arrived) AS arrived, sum(drained) AS drained FROM ("
        f"SELECT asset, quarantined_date AS day, 1 AS arrived, 0 AS drained FROM ({known}) "
        f"UNION ALL SELECT asset, {day} AS day, 0, 1 FROM ({known}) WHERE closed_at IS NOT NULL) "
        f"WHERE day >= {first} GROUP BY asset, day ORDER BY day DESC, asset"
    ).collect()
    return Numbers(
        tuple(
            Resolution(
                row["asset"],
                row["ended_as"],
                int(row["records"]),
                round(row["hours"][0], 2),
                round(row["hours"][1], 2),
                round(row["attempts"] or 0.0, 2),
                int(row["most"] or 0),
            )
            for row in resolved
        ),
        tuple(Flow(row["asset"], row["day"], int(row["arrived"]), int(row["drained"])) for row in flow),
    )
