"""What became of a batch of recycled records: one commit on `quarantine.records`, once, however often repeated.

An outcome raises the record's attempt to that of its outbox entry: so it is known which entries are settled, and a
second try changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lazaretto.checks import sql
from lazaretto.engine.stage import unpacked
from lazaretto.model.lifecycle import Step, edited_to_sql
from lazaretto.model.seal import QUARANTINED, REJECT, Seal
from lazaretto.model.words import RecordStatus
from lazaretto.quarantine.append import error_sql
from lazaretto.quarantine.history import HISTORY, entry, hash_of, known_status, last, text
from lazaretto.quarantine.outbox import entries
from lazaretto.quarantine.transitions import Means, merge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EDITED = (
    f"(t.status <> {known_status('t.history')} OR NOT ({hash_of('t.correction')} <=> "
    f"{last('t.history', 'correction_hash')}))"
)
"""Somebody changed the record by SQL while it was in flight."""
_LATE = "an edit came while the record was in flight and was not applied: the record had been published"
_UNSETTLED = "t.attempt < s.attempt"


def settle(
    spark: SparkSession,
    records: str,
    outbox: str,
    seal: Seal,
    *,
    version: int | None,
    note: Mapping[str, Any],
    why: str | None = None,
) -> int:
    """Put the outcome of a sealed batch on record; how many records it changed.

    `version` is the asset's that published the accepted rows; None: the batch was given up (`why` says by whom), and
    all its records are back in the quarantine.
    """
    sent = entries(spark, outbox, int(seal.source.version or 0)).select(
        "record_id", "attempt", "recycled_at", "recycled_by"
    )
    source = _with_rejects(spark, sent, seal) if version is not None else _all_failed(sent)
    failed = "s.lz_failed"
    edited_status = edited_to_sql(f"'{RecordStatus.QUARANTINED}'", "t.status")
    end = (
        f"CASE WHEN NOT {failed} THEN '{RecordStatus.RECOVERED}' WHEN {_EDITED} THEN {edited_status} "
        f"ELSE '{RecordStatus.QUARANTINED}' END"
    )
    came = {
        "deed": sql.text(seal.batch_id),
        "at": "current_timestamp()",
        "by": sql.text(seal.user),
        "assurance": "'asserted'",
        "means": f"'{Means.RECYCLE}'",
        "came_from": f"'{RecordStatus.RESUBMITTED}'",
        "attempt": "s.attempt",
        "batch_id": sql.text(seal.batch_id),
        "run_id": sql.text(seal.run_id),
        "suite_version": sql.text(seal.suite_version),
    }
    number = "cast(NULL as bigint)" if version is None else str(version)
    ended = entry(
        came
        | {
            "step": f"CASE WHEN {failed} THEN '{Step.FAIL}' ELSE '{Step.RECOVER}' END",
            "went_to": f"CASE WHEN {failed} THEN '{RecordStatus.QUARANTINED}' ELSE '{RecordStatus.RECOVERED}' END",
            "why": f"CASE WHEN {failed} THEN {text(why)} WHEN {_EDITED} THEN {sql.text(_LATE)} END",
            "version": f"CASE WHEN {failed} THEN NULL ELSE {number} END",
            "severity": f"CASE WHEN {failed} THEN t.severity END",
            "failures": f"CASE WHEN {failed} THEN t.failures END",
            "correction": "t.correction",
            # After a failure an edit made in flight stays to be found: the entry knows only what was sent.
            "correction_hash": (
                f"CASE WHEN {failed} THEN {last('t.history', 'correction_hash')} ELSE {hash_of('t.correction')} END"
            ),
        }
    )
    values = {
        "status": end,
        "attempt": "s.attempt",
        "failures": "coalesce(s.lz_failures, t.failures)",
        "severity": "coalesce(s.lz_severity, t.severity)",
        "error": f"CASE WHEN {failed} THEN coalesce(s.lz_error, t.error) END",
        "suite_version": f"CASE WHEN {failed} THEN {sql.text(seal.suite_version)} ELSE t.suite_version END",
        "rule_set_fingerprint": (
            f"CASE WHEN {failed} THEN {sql.text(seal.rule_set_fingerprint)} ELSE t.rule_set_fingerprint END"
        ),
        "recovered_version": f"CASE WHEN {failed} THEN t.recovered_version ELSE {number} END",
        "claimed_by": "NULL",
        "claimed_until": "NULL",
        "updated_at": f"CASE WHEN {_EDITED} THEN t.updated_at ELSE current_timestamp() END",
        "updated_by": f"CASE WHEN {_EDITED} THEN t.updated_by ELSE {sql.text(seal.user)} END",
        "history": _with(_sent_entry(seal), ended),
    }
    return merge(spark, records, source, values, _UNSETTLED, note)


def mark_in_flight(spark: SparkSession, records: str, outbox: str, seal: Seal, note: Mapping[str, Any]) -> int:
    """Show on the records that their batch waits for somebody; the outbox said so already."""
    sent = entries(spark, outbox, int(seal.source.version or 0)).select(
        "record_id", "attempt", "recycled_at", "recycled_by"
    )
    values = {
        "status": f"'{RecordStatus.RESUBMITTED}'",
        "history": f"concat(coalesce(t.history, cast(array() as {HISTORY})), array({_sent_entry(seal)}))",
    }
    guard = f"{_UNSETTLED} AND t.status = '{RecordStatus.CORRECTED}' AND NOT {_EDITED}"
    return merge(spark, records, sent, values, guard, note)


def _sent_entry(seal: Seal) -> str:
    return entry(
        {
            "step": f"'{Step.SEND}'",
            "deed": sql.text(seal.batch_id),
            "at": "s.recycled_at",
            "by": "s.recycled_by",
            "assurance": "'asserted'",
            "means": f"'{Means.RECYCLE}'",
            "came_from": f"'{RecordStatus.CORRECTED}'",
            "went_to": f"'{RecordStatus.RESUBMITTED}'",
            "attempt": "s.attempt",
            "batch_id": sql.text(seal.batch_id),
            "run_id": sql.text(seal.run_id),
            "correction_hash": last("t.history", "correction_hash"),
        }
    )


def _with(sent: str, ended: str) -> str:
    """The history with the outcome, and with the sending where that is not in it yet."""
    marked = f"{known_status('t.history')} = '{RecordStatus.RESUBMITTED}'"
    before = f"coalesce(t.history, cast(array() as {HISTORY}))"
    return f"concat({before}, CASE WHEN {marked} THEN array({ended}) ELSE array({sent}, {ended}) END)"


def _with_rejects(spark: SparkSession, sent: DataFrame, seal: Seal) -> DataFrame:
    paths = seal.paths_of(QUARANTINED)
    if not paths:
        return _none_failed(sent)
    staged = (
        spark.read.schema(f"{REJECT} variant")
        .option("recursiveFileLookup", "true")
        .option("__globPaths__", "false")
        .option("ignoreMissingFiles", "false")
        .option("ignoreCorruptFiles", "false")
        .parquet(*paths)
        .selectExpr(*unpacked("position", "failures", "severity", "error"))
        .selectExpr("lz_position", "lz_failures", "lz_severity", f"{error_sql(seal)} AS lz_error")
    )
    joined = sent.join(staged, sent["record_id"] == staged["lz_position"], "left")
    return joined.selectExpr("*", "lz_position IS NOT NULL AS lz_failed").drop("lz_position")


def _none_failed(sent: DataFrame) -> DataFrame:
    return _without_details(sent, "false")


def _all_failed(sent: DataFrame) -> DataFrame:
    return _without_details(sent, "true")


def _without_details(sent: DataFrame, failed: str) -> DataFrame:
    from lazaretto.quarantine.shape import ERROR, FAILURES

    return sent.selectExpr(
        "*",
        f"cast(NULL as {FAILURES}) AS lz_failures",
        "cast(NULL as string) AS lz_severity",
        f"cast(NULL as {ERROR}) AS lz_error",
        f"{failed} AS lz_failed",
    )
