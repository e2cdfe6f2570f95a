"""Checks and summary metrics as Delta tables: on demand, or at the end of every run where the project says so.

The tables are copies for whoever reads with Spark; the truth stays in the store and the suites. Nothing is written
twice: a rule set that is in the table stays as it was saved, and a batch has its metrics once, whoever exports.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lazaretto.checks import sql
from lazaretto.config.project import Project
from lazaretto.model.errors import LazarettoError
from lazaretto.model.fingerprint import rule_set_fingerprint
from lazaretto.model.run import RunResult
from lazaretto.model.suite import Suite
from lazaretto.observe import checks_table, summary
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.places import Places
from lazaretto.quarantine.records import exists
from lazaretto.spark.lock import table_lock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RECENT = 100
"""How many of an asset's last decisions the end of a run looks back on, for batches that a crash left out."""


class NoSuchTable(LazarettoError):
    """There is no checks table there."""


@dataclass(frozen=True)
class Exported:
    """What an export wrote."""

    table: str
    rows: int
    of: tuple[str, ...]
    """Suites, or batches."""


def checks_name(project: Project) -> str:
    """Name of the project's checks table."""
    return project.exports.checks or f"{project.tables.schema_}.checks"


def metrics_name(project: Project) -> str:
    """Name of the project's summary metrics."""
    return project.exports.metrics or f"{project.tables.schema_}.summary_metrics"


def export_checks(bench: Bench, suites: Iterable[Suite], table: str) -> Exported:
    """Save suites in the checks table, each rule set once."""
    now, spark = datetime.now(UTC), bench.spark
    with table_lock(spark, bench.places.table(table)):
        known = _read(spark, bench.places, table)
        there = set()
        if known is not None:
            saved = known.select("run_config_name", "rule_set_fingerprint").distinct().collect()
            there = {(row[0], row[1]) for row in saved}
        new = [suite for suite in suites if (suite.suite, rule_set_fingerprint(suite)) not in there]
        rows = [row for suite in new for row in checks_table.rows(suite, now)]
        _append(spark, bench.places, table, rows, checks_table.SCHEMA)
    return Exported(table, len(rows), tuple(suite.suite for suite in new))


def export_metrics(bench: Bench, project: Project, table: str, assets: Iterable[str], limit: int | None) -> Exported:
    """Write the metrics of all batches (or of the last decisions of each asset) that are not in the table."""
    spark, store = bench.spark, bench.store
    with table_lock(spark, bench.places.table(table)):
        rows, batches = [], []
        for asset in assets:
            there = _exported_batches(spark, bench.places, table, asset)
            # A batch is judged once: what a release decides later says nothing new about its rows.
            first = {one.batch_id: one for one in store.decisions(asset, limit=limit) if one.confirmed}
            for one in sorted(first.values(), key=lambda one: one.decided_at):
                if one.batch_id in there:
                    continue
                checks = project.exports.checks or f"{one.suite} {one.suite_version}"
                rows += summary.rows(
                    store.decision(one.decision_id),
                    one.decided_at,
                    quarantine=f"{bench.places.schema}.records",
                    checks_location=checks,
                    metadata=_metadata(store.decision_details(one.decision_id)),
                )
                batches.append(one.batch_id)
        _append(spark, bench.places, table, rows, summary.SCHEMA)
    return Exported(table, len(rows), tuple(batches))


def after_run(bench: Bench, project: Project, suite: Suite, result: RunResult) -> RunResult:
    """Export what the project wants exported. The batch is done by now: a failure here is told, and costs nothing."""
    wanted = project.exports
    if result.outcome == "dry_run" or not (wanted.checks or wanted.metrics):
        return result
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        if wanted.checks:
            export_checks(bench, [suite], wanted.checks)
        if wanted.metrics:
            export_metrics(bench, project, wanted.metrics, [suite.asset], RECENT)
    except (LazarettoError, PySparkException, Py4JError) as error:
        told = f"Not exported ({type(error).__name__}): `lazaretto export` makes up for it."
        return result.model_copy(update={"message": f"{result.message}\n{told}".strip()})
    return result


def load_exported_suite(
    spark: SparkSession, places: Places, table: str, suite: str, fingerprint: str | None = None
) -> Suite:
    """A suite as it was saved in a checks table: the rule set with this fingerprint, or the one saved last."""
    known = _read(spark, places, table)
    if known is None:
        raise NoSuchTable(f"there is no checks table {table}; lazaretto export checks writes one")
    rows = [row.asDict(recursive=True) for row in known.where(f"run_config_name = {sql.text(suite)}").collect()]
    if fingerprint is None and rows:
        fingerprint = max(rows, key=lambda row: row["created_at"])["rule_set_fingerprint"]
    return checks_table.suite_of([row for row in rows if row["rule_set_fingerprint"] == fingerprint])


def _metadata(details: Any) -> dict[str, str]:
    found = details.get("metadata", {})
    return {str(key): str(value) for key, value in found.items()}


def _exported_batches(spark: SparkSession, places: Places, table: str, asset: str) -> set[str]:
    known = _read(spark, places, table)
    if known is None:
        return set()
    key = f"user_metadata[{sql.text(summary.BATCH_KEY)}] AS batch"
    found = known.where(f"output_location = {sql.text(asset)}").selectExpr(key).distinct().collect()
    return {row["batch"] for row in found}


def _read(spark: SparkSession, places: Places, table: str) -> DataFrame | None:
    if places.catalog:
        return spark.table(_quoted(table)) if spark.catalog.tableExists(table) else None
    path = places.table(table)
    return spark.read.format("delta").load(path) if exists(spark, path) else None


def _append(spark: SparkSession, places: Places, table: str, rows: list[dict[str, Any]], schema: str) -> None:
    if not rows:
        return
    writer = spark.createDataFrame(rows, schema).coalesce(1).write.format("delta").mode("append")
    if places.catalog:
        writer.saveAsTable(_quoted(table))
    else:
        writer.save(places.table(table))


def _quoted(table: str) -> str:
    return ".".join(sql.identifier(part) for part in table.split("."))
