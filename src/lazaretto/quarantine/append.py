"""Rejected rows of a sealed batch go into `quarantine.records`: one commit, once, however often repeated."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lazaretto.checks import sql
from lazaretto.engine.stage import unpacked
from lazaretto.model.seal import PAYLOAD, QUARANTINED, REJECT, Seal
from lazaretto.model.words import RecordStatus
from lazaretto.quarantine.records import ensure
from lazaretto.quarantine.shape import COLUMNS
from lazaretto.spark.lock import table_lock
from lazaretto.spark.logs import logs_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OUR_APP = "lazaretto:"


def append(spark: SparkSession, seal: Seal, records_path: str, *, stage: str | None = None) -> int:
    """Append the quarantined rows of a staged batch; the number of rows it has.

    Safe to repeat at any time: the transaction id in the table's log says whether the batch is in. Then
    the staged files are not even looked at (they may be gone).

    Args:
        spark: the session.
        seal: the batch.
        records_path: where `quarantine.records` is.
        stage: the folder with the staged files, if not where they were staged (a held batch).
    """
    rows = sum(int(json.loads(file["stats"])["numRecords"]) for file in seal.files_of(QUARANTINED))
    if not rows:
        return 0
    ensure(spark, records_path)
    if appended(spark, seal, records_path):
        return rows
    note = {"batch_id": seal.batch_id, "run_id": seal.run_id, "asset": seal.target.asset, "rows": rows}
    with table_lock(spark, records_path):
        logs_of(spark).append_once(records_path, staged_records(spark, seal, stage), application_id(seal), note)
    return rows


def appended(spark: SparkSession, seal: Seal, records_path: str) -> bool:
    """Whether the batch's rejects are in the table."""
    return logs_of(spark).transaction_version(records_path, application_id(seal)) >= 1


def application_id(seal: Seal) -> str:
    """By this name the table's log knows the batch."""
    return f"{OUR_APP}{seal.batch_id}"


def record_id_sql(seal: Seal) -> str:
    """SQL of the identity of a staged row: the batch, its file and its place in it.

    The path counts from the staged folder, so that a batch that was held meanwhile keeps its identities.
    """
    place = f"substring_index(_metadata.file_path, {sql.text(f'/{seal.folder}/')}, -1)"
    return f"sha2(concat_ws('/', {sql.text(seal.batch_id)}, {place}, cast(_metadata.row_index as string)), 256)"


def staged_records(spark: SparkSession, seal: Seal, stage: str | None = None) -> DataFrame:
    """The quarantined rows of a staged batch in the shape of the table."""
    paths = seal.paths_of(QUARANTINED, stage=stage)
    staged = (
        spark.read.schema(f"{PAYLOAD} variant, {REJECT} variant")
        # Exactly the sealed files: no globs, no partition columns guessed from folder names, and none that is
        # missing or damaged passed over, whatever the session is set to.
        .option("recursiveFileLookup", "true")
        .option("__globPaths__", "false")
        .option("ignoreMissingFiles", "false")
        .option("ignoreCorruptFiles", "false")
        .parquet(*paths)
    )
    values = _values(seal)
    rows = staged.selectExpr(f"{record_id_sql(seal)} AS lz_record_id", PAYLOAD, *unpacked())
    return rows.selectExpr(*(f"cast({values.get(c.name, 'NULL')} as {c.type}) AS {c.name}" for c in COLUMNS))


def _values(seal: Seal) -> dict[str, str]:
    def text(value: str | None) -> str:
        return "NULL" if value is None else sql.text(value)

    return {
        "record_id": "lz_record_id",
        "place": "lz_place",
        "asset": text(seal.target.asset),
        "source_table": "lz_source_table",
        "source_system": text(seal.source_system),
        "entity": text(seal.entity),
        "source_position": "lz_position",
        "record_key": "lz_key",
        "event_id": "lz_event_id",
        "payload": PAYLOAD,
        "payload_schema": "lz_payload_schema",
        "payload_hash": "lz_payload_hash",
        "payload_policy": f"coalesce(lz_payload_policy, {text(seal.payload)})",
        "rescued_data": "lz_rescued",
        "failures": "lz_failures",
        "severity": "lz_severity",
        "status": text(RecordStatus.QUARANTINED),
        "attempt": "0",
        "run_id": text(seal.run_id),
        "batch_id": text(seal.batch_id),
        "suite": text(seal.suite),
        "suite_version": text(seal.suite_version),
        "rule_set_fingerprint": text(seal.rule_set_fingerprint),
        "quarantined_at": "lz_run_time",
        "quarantined_date": utc_date("lz_run_time"),
        "error": error_sql(seal),
    }


def error_sql(seal: Seal) -> str:
    """SQL of what a dead letter died of: noted on the way of the write, and thrown when it was asked for outright."""
    if seal.why_dead is None:
        return "lz_error"
    members = {name: f"lz_error.{name}" for name in ("class", "message", "trace", "phase")}
    members["trace"] = sql.text(seal.why_dead)
    listed = ", ".join(f"'{name}', {value}" for name, value in members.items())
    return f"CASE WHEN lz_error IS NOT NULL THEN named_struct({listed}) END"


def utc_date(timestamp: str) -> str:
    """SQL of the day in UTC, whatever the session's time zone."""
    return f"date_from_unix_date(cast(floor(unix_micros({timestamp}) / 86400000000) as int))"
