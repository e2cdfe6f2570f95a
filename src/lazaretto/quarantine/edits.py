"""What people changed by plain SQL, taken up: attributed to its commit, put in order, written into the history.

A record knows from its own history what its status and correction were when one of our commands last touched it. What
differs was changed by SQL. That needs no change feed and no log, and of several edits the latest is in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lazaretto.checks import sql
from lazaretto.engine.target import RESCUED
from lazaretto.model.lifecycle import CLOSED, edited_to_sql
from lazaretto.model.words import RecordStatus
from lazaretto.quarantine.append import OUR_APP
from lazaretto.quarantine.fields import fields_of
from lazaretto.quarantine.history import HISTORY, entry, hash_of, known_status, last
from lazaretto.quarantine.payload import PayloadPolicy, decoded, hash_sql, overlaid
from lazaretto.quarantine.transitions import Means, merge, sent_attempts
from lazaretto.spark.commits import Commit, commit, commits
from lazaretto.spark.files import Files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOBODY = "somebody by SQL"
_MAP = "map<string, variant>"
_EDITED = (
    f"(status <> {known_status('history')} OR NOT ({hash_of('correction')} <=> {last('history', 'correction_hash')}))"
)
_BY_HAND = "(batch_id IS NULL AND coalesce(size(history), 0) <= 0)"
_END = edited_to_sql(known_status("history"), "status")
_PUT_BACK = f"(status <> ({_END}) AND status <> '{RecordStatus.RESUBMITTED}')"


@dataclass(frozen=True)
class TakenUp:
    """Edits that are in the history of their records now."""

    count: int
    by_commit: Mapping[int, int]
    """Version of `quarantine.records` → how many records it left as they were found."""
    put_back: int
    """Edits that their records could not take: a published record does not go out again."""
    by_hand: int
    """Records that were inserted as fixed."""
    overwritten: int
    """Payloads that were written over: the original is back, and the difference became a correction."""


def take_up(
    spark: SparkSession,
    records: str,
    outbox: str,
    asset: str,
    suite: str,
    schema_by_hand: str,
    note: Callable[[TakenUp], Mapping[str, Any]],
) -> TakenUp | None:
    """Take up the edits of an asset's records, in one commit; None if there are none.

    `suite` judges records that were put in by hand, and `schema_by_hand` is the JSON of their columns. The caller holds
    the table's lock. A record in flight waits for its outcome first.
    """
    corrected = f"status = '{RecordStatus.CORRECTED}' AND payload_policy = '{PayloadPolicy.INLINE}'"
    table = (
        spark.read.format("delta")
        .load(records)
        .where(f"asset = {sql.text(asset)} AND (suite IS NULL OR suite = {sql.text(suite)})")
        .selectExpr("*", "_metadata.row_commit_version AS table_version", f"{_EDITED} AS edited")
        .where(f"edited OR ({corrected})")
    )
    groups = {int(r[0]): bool(r[1]) for r in table.groupBy("table_version").agg({"edited": "max"}).collect()}
    files = Files(spark)
    strange = [version for version in groups if not _is_ours(commit(files, records, version))]
    if not strange and not any(groups.values()):
        return None
    listed = ", ".join(map(str, strange)) or "NULL"
    sent = sent_attempts(spark, outbox)
    closed = sql.literals(CLOSED, "string")
    suspects = (
        table.where(f"edited OR table_version IN ({listed})")
        .join(sent, "record_id", "left")
        .where(f"NOT coalesce(sent > attempt, false) OR {known_status('history')} IN ({closed})")
    )
    found = suspects.join(_overwritten(spark, records, suspects), "record_id", "left")
    found = found.where("edited OR coalesce(overwritten, false)").selectExpr(*_of_an_edit(suite, schema_by_hand))
    rows = found.groupBy("table_version").agg(*_counted()).collect()
    if not rows:
        return None
    told = TakenUp(
        sum(int(r["n"]) for r in rows),
        {int(r["table_version"]): int(r["n"]) for r in rows},
        *(sum(int(r[name]) for r in rows) for name in ("put_back", "by_hand", "overwritten")),
    )
    values = {name: f"s.{name}" for name in ("status", "payload", "correction", "suite", "payload_schema")}
    values["history"] = f"concat(coalesce(t.history, cast(array() as {HISTORY})), array(s.entry))"
    merge(spark, records, found, values, "true", note(told))
    return told


def _is_ours(found: Commit | None) -> bool:
    return found is not None and (bool(found.note) or any(app.startswith(OUR_APP) for app in found.transactions))


def _counted() -> list[Any]:
    from pyspark.sql import functions as F

    flags = [F.count_if(F.col(name)).alias(name) for name in ("put_back", "by_hand", "overwritten")]
    return [F.count("record_id").alias("n"), *flags]


def _of_an_edit(suite: str, schema_by_hand: str) -> list[str]:
    """SQL of what becomes of an edited record, from the record, `original` and `overwritten`."""
    restored = "(coalesce(overwritten, false) AND original IS NOT NULL)"
    different = (
        f"map_filter(try_variant_get(payload, '$', '{_MAP}'), (k, v) -> NOT (to_json(v) <=> "
        f"to_json(try_element_at(try_variant_get(original, '$', '{_MAP}'), k))))"
    )
    diff = f"to_variant_object({different})"
    laid = f"CASE WHEN correction IS NULL THEN {diff} ELSE {overlaid(diff, 'correction')} END"
    correction = f"CASE WHEN {restored} THEN {laid} ELSE correction END"
    # Only our own SQL command says who it was; what others wrote leaves an older name standing.
    by = f"CASE WHEN updated_at > coalesce({last('history', 'at')}, timestamp_seconds(0)) THEN updated_by END"
    why = (
        f"concat_ws('; ', CASE WHEN {_PUT_BACK} THEN concat('the status ', status, ' cannot be written by SQL to a "
        f"record that is ', {known_status('history')}, ': put back') END, "
        f"CASE WHEN {_BY_HAND} THEN 'put in by hand' END, "
        f"CASE WHEN {restored} THEN 'the payload was written over: the original is back, the difference is a "
        "correction' WHEN overwritten THEN 'the payload was written over, and the original is beyond retention' END)"
    )
    values = {
        "step": "'sql'",
        "deed": "concat('sql:', cast(table_version as string))",
        "at": "current_timestamp()",
        "by": f"coalesce({by}, {sql.text(NOBODY)})",
        "assurance": "'asserted'",
        "means": f"'{Means.SQL}'",
        "came_from": known_status("history"),
        "went_to": f"({_END})",
        "why": f"nullif({why}, '')",
        "attempt": "attempt",
        "correction": correction,
        "correction_hash": hash_of(f"({correction})"),
        "table_version": "table_version",
    }
    return [
        "record_id",
        "table_version",
        f"({_END}) AS status",
        f"CASE WHEN {restored} THEN original ELSE payload END AS payload",
        f"{correction} AS correction",
        f"coalesce(suite, {sql.text(suite)}) AS suite",
        f"coalesce(payload_schema, {sql.text(schema_by_hand)}) AS payload_schema",
        f"{entry(values)} AS entry",
        f"{_PUT_BACK} AS put_back",
        f"{_BY_HAND} AS by_hand",
        "coalesce(overwritten, false) AS overwritten",
    ]


def _overwritten(spark: SparkSession, records: str, suspects: DataFrame) -> DataFrame:
    """Records whose payload no longer has the hash it came with, and the payload they had."""
    kept = suspects.where(
        f"payload_policy = '{PayloadPolicy.INLINE}' AND batch_id IS NOT NULL AND payload_schema IS NOT NULL"
    )
    changed: dict[str, list[str]] = {}
    for (schema,) in kept.select("payload_schema").distinct().collect():
        fields = fields_of(schema)
        if any(field.name == RESCUED for field in fields):  # its hash covers what is no longer apart
            continue
        columns = [f"{value} AS {sql.identifier(name)}" for name, value in decoded(fields, "payload")]
        rows = kept.where(f"payload_schema = {sql.text(schema)}").selectExpr(
            *columns, "record_id AS lz_id", "batch_id AS lz_batch", "payload_hash AS lz_hash"
        )
        for row in rows.where(f"{hash_sql(fields)} <> lz_hash").select("lz_id", "lz_batch").collect():
            changed.setdefault(row["lz_batch"], []).append(row["lz_id"])
    frames = [spark.sql("SELECT '' AS record_id, cast(NULL as variant) AS original, true AS overwritten WHERE false")]
    if changed:
        appended = {app: c.version for c in commits(Files(spark), records) for app in c.transactions}
        for batch, ids in changed.items():
            named = sql.literals(ids, "string")
            version = appended.get(f"{OUR_APP}{batch}")
            if version is None:
                frame = suspects.where(f"record_id IN ({named})").selectExpr(
                    "record_id", "cast(NULL as variant)", "true"
                )
            else:
                then = spark.read.format("delta").option("versionAsOf", version).load(records)
                frame = then.where(f"record_id IN ({named})").selectExpr("record_id", "payload", "true")
            frames.append(frame.toDF("record_id", "original", "overwritten"))
    found = frames[0]
    for frame in frames[1:]:
        found = found.unionAll(frame)
    return found
