"""Where all quarantined records are, counted for a proof: by the batch they came with, and by what recycling did.

A record that lies in both tables (a move to the archive that was cut short) is one record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from lazaretto.model.lifecycle import CLOSED, Step
from lazaretto.model.words import RecordStatus
from lazaretto.pipeline.bench import Bench
from lazaretto.quarantine.erase import ERASED
from lazaretto.quarantine.history import known_status
from lazaretto.quarantine.records import exists

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Whereabouts:
    """Counts of records."""

    by_batch: Mapping[str, int] = field(default_factory=dict)
    """Records by the batch they first came with."""
    outcomes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Recycled batch → records it recovered, and records that failed again in it."""
    standing: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Asset → open, recovered, rejected, archived, erased, and by_hand: put in by SQL, so in no batch's count."""
    unpublished: Mapping[str, int] = field(default_factory=dict)
    """Asset → records that read RECOVERED and were never published: somebody wrote it there."""


def whereabouts(bench: Bench) -> Whereabouts:
    """Count every record once."""
    records = _all(bench)
    if records is None:
        return Whereabouts()
    batches = records.groupBy("batch_id").count().collect()
    steps = records.selectExpr("explode(history) AS e").where(f"e.step IN ('{Step.RECOVER}', '{Step.FAIL}')")
    ended = steps.groupBy("e.batch_id", "e.step").count().collect()
    outcomes: dict[str, tuple[int, int]] = {}
    for batch, step, count in ended:
        recovered, failed = outcomes.get(batch, (0, 0))
        outcomes[batch] = (recovered + count, failed) if step == Step.RECOVER else (recovered, failed + count)
    groups = records.groupBy("asset", "archived", "status", "by_hand", "claims", "erased").count().collect()
    standing: dict[str, dict[str, int]] = {}
    unpublished: dict[str, int] = {}
    for asset, archived, status, by_hand, claims, erased, count in groups:
        mine = standing.setdefault(asset, {})
        name = "archived" if archived else status.lower() if status in CLOSED else "open"
        name = "erased" if erased else name
        mine[name] = mine.get(name, 0) + count
        if by_hand:
            mine["by_hand"] = mine.get("by_hand", 0) + count
        if claims:
            unpublished[asset] = unpublished.get(asset, 0) + count
    return Whereabouts({row[0]: int(row[1]) for row in batches if row[0]}, outcomes, standing, unpublished)


def _all(bench: Bench) -> DataFrame | None:
    """What a proof asks of each record, the archive's first."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    claims = f"status = '{RecordStatus.RECOVERED}' AND {known_status('history')} <> '{RecordStatus.RECOVERED}'"
    frames = []
    for path, archived in ((bench.places.records, False), (bench.places.archive, True)):
        if exists(bench.spark, path):
            gone = f"payload_policy <=> '{ERASED}' AS erased"
            columns = ("record_id", "asset", "batch_id", "status", "history", f"{claims} AS claims", gone)
            by_hand = "batch_id IS NULL AS by_hand"
            frames.append(
                bench.spark.read.format("delta").load(path).selectExpr(*columns, by_hand, f"{archived} AS archived")
            )
    if not frames:
        return None
    if len(frames) == 1:
        return frames[0]
    once = Window.partitionBy("record_id").orderBy(F.desc("archived"))
    both = reduce(lambda one, other: one.unionByName(other), frames)
    return both.withColumn("lz_n", F.row_number().over(once)).where("lz_n = 1").drop("lz_n")
