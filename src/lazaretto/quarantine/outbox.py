"""`quarantine.outbox`: the ledger of what was sent back through the front door. Appended to, never changed.

One commit is one batch of one suite, and the commit's version is the batch's name. A record's attempt is in it at most
once: two that recycle at once cannot both take a row, because both declare that they read the same application id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lazaretto.checks import sql
from lazaretto.engine.judge import literal_time
from lazaretto.model.fingerprint import sha256
from lazaretto.model.words import RecordStatus
from lazaretto.quarantine.history import known_status, last
from lazaretto.quarantine.records import exists
from lazaretto.quarantine.transitions import LISTED, Means
from lazaretto.spark.delta_log import DeltaLogs

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

COLUMNS = {
    "record_id": ("string NOT NULL", "the record"),
    "attempt": ("int NOT NULL", "which attempt this is"),
    "asset": ("string NOT NULL", "the table the row is meant for"),
    "suite": ("string NOT NULL", "the suite that judges it"),
    "payload": ("variant", "the row as the record keeps it"),
    "correction": ("variant", "what is laid over it"),
    "payload_schema": ("string", "JSON form of the original row's Spark schema"),
    "payload_hash": ("string", "SHA-256 of the original row"),
    "payload_policy": ("string", "inline, masked, encrypted or reference"),
    "source_table": ("string", "the table or file it came from"),
    "source_position": ("string", "where in the source it was"),
    "run_id": ("string", "the run that rejected it first"),
    "batch_id": ("string", "the batch it came with; NULL: it was put in by hand"),
    "quarantined_at": ("timestamp", "when it was rejected first"),
    "recycled_at": ("timestamp", "when it was sent"),
    "recycled_by": ("string", "who sent it"),
}
_PROPERTIES = {
    "delta.appendOnly": "true",
    "delta.enableRowTracking": "true",
    "delta.logRetentionDuration": "interval 3650 days",
}
VERSION = "_metadata.row_commit_version"
"""The commit an entry came with, and so its batch; survives OPTIMIZE."""


@dataclass(frozen=True)
class Sent:
    """A batch of the outbox."""

    version: int
    count: int


def ensure(spark: SparkSession, outbox: str) -> None:
    """Make the ledger if it is not there."""
    if exists(spark, outbox):
        return
    columns = ", ".join(f"{name} {kind} COMMENT {sql.text(comment)}" for name, (kind, comment) in COLUMNS.items())
    properties = ", ".join(f"'{name}' = '{value}'" for name, value in _PROPERTIES.items())
    table = f"delta.{sql.identifier(outbox)}"
    spark.sql(f"CREATE TABLE IF NOT EXISTS {table} ({columns}) USING delta TBLPROPERTIES ({properties})")


def waiting(spark: SparkSession, records: str, outbox: str, asset: str, suite: str, max_attempts: int) -> DataFrame:
    """The records that a recycle would take, in the order in which they were corrected."""
    by_person = f"{last('history', 'means')} <> '{Means.AUTOMATIC}'"
    found = (
        spark.read.format("delta")
        .load(records)
        .where(
            f"asset = {sql.text(asset)} AND suite = {sql.text(suite)} AND status = '{RecordStatus.CORRECTED}' "
            f"AND {known_status('history')} = '{RecordStatus.CORRECTED}' AND recovered_version IS NULL "
            f"AND ({by_person} OR attempt < {int(max_attempts)})"
        )
        .selectExpr("*", "attempt + 1 AS lz_attempt")
    )
    if exists(spark, outbox):
        sent = spark.read.format("delta").load(outbox).selectExpr("record_id AS sent_id", "attempt AS sent_attempt")
        taken = (found["record_id"] == sent["sent_id"]) & (sent["sent_attempt"] >= found["lz_attempt"])
        found = found.join(sent, taken, "left_anti")
    return found


def send(
    spark: SparkSession,
    outbox: str,
    chosen: DataFrame,
    *,
    app: str,
    by: str,
    at: datetime,
    note: Mapping[str, Any],
) -> Sent | None:
    """Append what `waiting` found (cut down as wished) as one batch; None if there is nothing.

    The caller holds the locks of records and outbox. Whoever loses against a rival without a lock gets Delta's
    ConcurrentTransactionException, and nothing of his is in.
    """
    logs = DeltaLogs(spark)
    transaction = logs.begin(outbox)
    number = max(0, logs.noted(outbox, transaction, app))
    known = {"attempt": "lz_attempt", "recycled_at": literal_time(at), "recycled_by": sql.text(by)}
    rows = chosen.selectExpr(*(f"{known.get(name, name)} AS {name}" for name in COLUMNS))
    adds = logs.written(transaction, rows)
    count = sum(int(json.loads(json.loads(add.json())["add"]["stats"])["numRecords"]) for add in adds)
    if not count:
        return None
    said = json.dumps({"lazaretto": 1, "count": count, **note})
    try:
        version = logs.commit(transaction, [*adds, logs.set_transaction(app, number + 1)], "Append", said)
    except Exception:
        # An exception from commit does not mean "not committed": ask the log.
        found = _commit_of(spark, outbox, note)
        if found is None:
            raise
        version = found
    return Sent(version, count)


def application(suite: str, env: str | None, asset: str) -> str:
    """By this name the outbox's log counts the batches of a suite."""
    return f"lazaretto:recycle:{sha256([suite, env, asset])[:32]}"


def entries(spark: SparkSession, outbox: str, version: int) -> DataFrame:
    """What was sent as one batch."""
    return spark.read.format("delta").load(outbox).where(f"{VERSION} = {int(version)}")


def in_flight(spark: SparkSession, records: str, outbox: str) -> DataFrame:
    """Entries whose outcome is not on record: those of an attempt beyond the record's own."""
    sent = spark.read.format("delta").load(outbox).selectExpr("*", f"{VERSION} AS lz_version")
    now = spark.read.format("delta").load(records).selectExpr("record_id AS now_id", "attempt AS now_attempt", "status")
    return sent.join(now, (sent["record_id"] == now["now_id"]) & (sent["attempt"] > now["now_attempt"]))


def listed(sent: DataFrame) -> list[str]:
    """The ids of a batch, where they are few enough to be named in its evidence."""
    ids = [row[0] for row in sent.select("record_id").limit(LISTED + 1).collect()]
    return sorted(ids) if len(ids) <= LISTED else []


def _commit_of(spark: SparkSession, outbox: str, note: Mapping[str, Any]) -> int | None:
    from lazaretto.spark.commits import commits
    from lazaretto.spark.files import Files

    newest = DeltaLogs(spark).facts(outbox).version
    for each in commits(Files(spark), outbox, max(0, newest - 20)):
        if each.note.get("send") == note["send"]:
            return each.version
    return None
