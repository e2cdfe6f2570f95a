"""A few failing rows for every rule, sanitised: which record and where, never what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazaretto.model.results import CheckResult, Sample
from lazaretto.model.seal import QUARANTINED, Seal
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
    files = seal.paths_of(QUARANTINED)
    if not files:
        return {}
    failure = "struct<rule_id:string,column_name:string,reason_code:string>"
    staged = f"lz_failures array<{failure}>, lz_position string, lz_payload_hash string"
    rows = spark.read.schema(staged).option("recursiveFileLookup", "true").parquet(*files)
    failed = rows.selectExpr(
        f"{record_id_sql(seal)} AS record_id", "lz_position", "lz_payload_hash", "inline(lz_failures)"
    )
    by_rule = "partition by rule_id, column_name order by"
    chosen = failed.selectExpr(
        "*",
        f"row_number() over ({by_rule} lz_position, record_id) AS nth",
        f"row_number() over ({by_rule} xxhash64(record_id), record_id) AS drawn",
    ).where(f"nth <= {FIRST} OR drawn <= {FIRST}")
    found: dict[tuple[str, str | None], list[Sample]] = {}
    for row in chosen.orderBy("rule_id", "column_name", "nth").collect():
        sample = Sample(
            record_id=row.record_id,
            position=row.lz_position,
            reason_code=row.reason_code,
            payload_hash=row.lz_payload_hash,
        )
        found.setdefault((row.rule_id, row.column_name), []).append(sample)
    return {key: tuple(samples) for key, samples in found.items()}
