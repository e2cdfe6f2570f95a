"""A few failing rows for every rule, sanitised: which record and where, never what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazaretto.engine.stage import unpacked
from lazaretto.model.results import CheckResult, Sample
from lazaretto.model.seal import QUARANTINED, REJECT, Seal
from lazaretto.quarantine.append import record_id_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST = 3
"""So many for each rule, in the order of the files; and as many again by a draw that is the same every time."""


def with_samples(spark: SparkSession, seal: Seal, results: tuple[CheckResult, ...]) -> tuple[CheckResult, ...]:
    """The results with examples of what failed: one small job over the quarantined rows."""
    found = _samples(spark, seal)
    return tuple(r.model_copy(update={"samples": found.get((r.rule_id, r.column), ())}) for r in results)


def _samples(spark: SparkSession, seal: Seal) -> dict[tuple[str, str | None], tuple[Sample, ...]]:
    from pyspark.sql import functions as F

    files = seal.paths_of(QUARANTINED)
    if not files:
        return {}
    rows = spark.read.schema(f"{REJECT} variant").option("recursiveFileLookup", "true").parquet(*files)
    failed = rows.selectExpr(
        f"{record_id_sql(seal)} AS record_id", *unpacked("position", "payload_hash", "failures")
    ).selectExpr("record_id", "lz_position", "lz_payload_hash", "inline(lz_failures)")
    sample = (
        "named_struct('record_id', record_id, 'position', lz_position, 'reason', reason_code, 'hash', lz_payload_hash)"
    )
    # One small aggregate: no sort of all the rejects for the sake of a few of them.
    chosen = failed.groupBy("rule_id", "column_name").agg(
        F.expr(f"min_by({sample}, struct(lz_position, record_id), {FIRST})").alias("first"),
        F.expr(f"min_by({sample}, struct(xxhash64(record_id), record_id), {FIRST})").alias("drawn"),
    )
    found: dict[tuple[str, str | None], list[Sample]] = {}
    for row in chosen.collect():
        distinct = {s.record_id: s for s in (*row["first"], *row["drawn"])}
        found[row["rule_id"], row["column_name"]] = [
            Sample(record_id=s.record_id, position=s.position, reason_code=s.reason, payload_hash=s.hash)
            for s in distinct.values()
        ]
    return {key: tuple(samples) for key, samples in found.items()}
