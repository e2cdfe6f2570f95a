"""The target before a batch: made if missing, given new columns if the suite says so, refused if it will not do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from lazaretto.checks import sql
from lazaretto.engine.target import NOT_FOR_THE_TARGET
from lazaretto.model.errors import LazarettoError
from lazaretto.model.schema import Column, TableSchema
from lazaretto.model.suite import Suite
from lazaretto.model.words import Mode, WriteMode
from lazaretto.spark.connect_publisher import ConnectPublisher
from lazaretto.spark.delta_log import TableFacts
from lazaretto.spark.files import Files
from lazaretto.spark.logs import Logs, logs_of
from lazaretto.spark.publisher import ZeroCopyPublisher
from lazaretto.spark.reach import jvm_in_reach

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPERATIONAL_TYPES = {
    "run_id": "string",
    "batch_id": "string",
    "loaded_at": "timestamp",
    "suite_version": "string",
    "file": "string",
    "reprocessed": "boolean",
    "attempt": "int",
    "original_run_id": "string",
}

_NEEDS_MAPPING = set(" ,;{}()\n\t=")


class TargetError(LazarettoError):
    """The target cannot take this suite's batches; the message says what to change."""


def create_if_missing(
    spark: SparkSession, suite: Suite, path: str, source: TableSchema, results: dict[str, str]
) -> None:
    """Make the table on the first run, if the suite allows it. `results` are our own columns and their types."""
    if logs_of(spark).exists(path):
        return
    if not suite.target.create:
        raise TargetError(f"{suite.asset} does not exist and `target: {{create: false}}` forbids to make it")
    columns = [c for c in source.columns if c.name not in NOT_FOR_THE_TARGET]
    declared = [f"{sql.identifier(c.name)} {ddl(c)}" for c in columns]
    declared += [
        f"{sql.identifier(name)} {OPERATIONAL_TYPES[kind]}" for name, kind in suite.operational_metadata.items()
    ]
    declared += [f"{sql.identifier(name)} {type_name}" for name, type_name in results.items()]
    properties = dict(suite.target.properties)
    if any(_NEEDS_MAPPING & set(name) for name in _all_names(columns)):
        properties.setdefault("delta.columnMapping.mode", "name")  # Delta takes such names only so
    statement = f"CREATE TABLE IF NOT EXISTS delta.`{path}` ({', '.join(declared)}) USING delta"
    if suite.target.partition_by:
        statement += f" PARTITIONED BY ({', '.join(map(sql.identifier, suite.target.partition_by))})"
    if suite.target.cluster_by:
        statement += f" CLUSTER BY ({', '.join(map(sql.identifier, suite.target.cluster_by))})"
    if properties:
        listed = ", ".join(f"{sql.text(key)} = {sql.text(value)}" for key, value in sorted(properties.items()))
        statement += f" TBLPROPERTIES ({listed})"
    spark.sql(statement)


def refuse_a_lost_one(files: Files, logs: Logs, suite: Suite, path: str) -> None:
    """How far a source was taken is known from the target's own log. With the target gone, that is gone as well:
    taking everything again would quarantine again what is in the quarantine already."""
    text = files.read_text(_marker(path))
    if text is None:
        return
    known = json.loads(text)["id"]
    if not logs.exists(path):
        what = "is gone"
    elif logs.facts(path).id != known:
        what = "is another table than before"
    else:
        return
    raise TargetError(
        f"{suite.asset} {what}, and with it the record of what was taken from the source (looked in {path}): bring it "
        "back, or run with --reprocess to begin a new one from the source's beginning"
    )


def remember(files: Files, path: str, table_id: str) -> None:
    """Note beside the table which one it is, so that a dropped one is not taken for one that never was."""
    text = json.dumps({"id": table_id})
    if files.read_text(_marker(path)) != text:
        files.delete(_marker(path))
        files.put_if_absent(_marker(path), text)


def _marker(path: str) -> str:
    folder, _, name = path.rstrip("/").rpartition("/")
    return f"{folder}/.{name}.lz-table"


def add_columns(spark: SparkSession, path: str, columns: tuple[Column, ...]) -> None:
    """Give the table new columns; empty for the rows that are there."""
    declared = ", ".join(f"{sql.identifier(c.name)} {ddl(c)}" for c in columns)
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMNS ({declared})")


def choose_publisher(spark: SparkSession, suite: Suite, facts: TableFacts) -> Literal["zero_copy", "copy"]:
    """zero_copy wherever the table and the session allow it, else copy; refused if the suite insists on what cannot
    be."""
    if not jvm_in_reach(spark):
        return _over_connect(spark, suite, facts)
    if suite.publish == "copy":
        return "copy"
    reason = ZeroCopyPublisher(spark).refusal(facts)
    if reason is None:
        return "zero_copy"
    if suite.publish == "zero_copy":
        raise TargetError(f"{suite.asset} cannot be published to without copying: {reason}; use `publish: copy`")
    return "copy"


def _over_connect(spark: SparkSession, suite: Suite, facts: TableFacts) -> Literal["copy"]:
    publisher = ConnectPublisher(spark)
    reason = publisher.refusal(facts)
    if reason is None and suite.write is WriteMode.REPLACE_PARTITIONS:
        reason = publisher.refusal_to_replace(facts)
    if suite.publish == "zero_copy":
        reason = "`publish: zero_copy` needs Spark's JVM"
    if reason is not None:
        raise TargetError(f"{suite.asset} cannot be published to over Spark Connect: {reason}; use a classic session")
    return "copy"


def result_columns(suite: Suite) -> tuple[str, ...]:
    """Names of the result columns that the asset carries."""
    if suite.mode is Mode.ANNOTATE:
        return ("_errors", "_warnings")
    return ("_warnings",) if suite.result_columns else ()


def ddl(column: Column) -> str:
    """A column's type with nested names quoted, as CREATE TABLE needs it."""
    if column.fields:
        return "struct<" + ", ".join(f"{sql.identifier(f.name)}: {ddl(f)}" for f in column.fields) + ">"
    if column.element is not None and column.type.startswith("array"):
        return f"array<{ddl(column.element)}>"
    return column.type


def _all_names(columns: list[Column]) -> list[str]:
    names = []
    for column in columns:
        names.append(column.name)
        names += _all_names(list(column.fields))
        if column.element is not None:
            names += _all_names([column.element])
    return names
