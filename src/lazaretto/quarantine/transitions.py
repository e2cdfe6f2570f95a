"""Steps of records, many at a time: checked together, then ONE commit that changes only what still stands as seen."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from lazaretto.checks import sql
from lazaretto.engine.judge import literal_time
from lazaretto.model.errors import LazarettoError
from lazaretto.model.lifecycle import STEPS, IllegalStep, Step, edited_to_sql, standing_sql
from lazaretto.model.words import RecordStatus, Word
from lazaretto.quarantine.history import appended, entry, hash_of, known_status, text
from lazaretto.quarantine.payload import overlaid
from lazaretto.quarantine.records import exists
from lazaretto.spark.sessions import noting, seen_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LISTED = 1000
"""So many records are named one by one in the evidence of an action; beyond that their histories tell."""

CLAIM_FOR = timedelta(hours=8)


class Means(Word):
    """How a step came about."""

    COMMAND = "command"
    AUTOMATIC = "automatic"
    SQL = "sql"
    RECYCLE = "recycle"


class RecordsRefused(LazarettoError):
    """A step that was not taken, for any of the records asked for."""


class RecordChanged(RecordsRefused):
    """A record is no longer what it was when it was read."""


class RecordUnknown(RecordsRefused):
    """There is no such record."""


class RecordClaimed(RecordsRefused):
    """Somebody else is at work on a record."""


@dataclass(frozen=True)
class Deed:
    """Who does what with some records, and why."""

    step: Step
    by: str
    why: str = ""
    assurance: str = "asserted"
    means: Means = Means.COMMAND
    reason_code: str | None = None
    claim_for: timedelta = CLAIM_FOR
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    id: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True)
class Share:
    """What of a deed concerns one asset."""

    count: int
    came_from: Mapping[str, int]
    ids: tuple[str, ...]
    """Empty where there are too many to list."""


@dataclass(frozen=True)
class Checked:
    """What a deed would do: all of it is allowed."""

    shares: Mapping[str, Share]
    days: tuple[date, ...]

    @property
    def count(self) -> int:
        """How many records it is about."""
        return sum(share.count for share in self.shares.values())


def check(spark: SparkSession, records: str, outbox: str, chosen: DataFrame, deed: Deed) -> Checked:
    """See that every record may take the step; else raise for all of them, naming the first.

    `chosen` has `record_id` and, on request, `seen`: the `_metadata.row_commit_version` under which it was read.
    """
    looked = _looked_up(spark, records, outbox, chosen).selectExpr("*", f"{_refusal(deed)} AS refusal")
    groups = (
        looked.groupBy("asset", "standing", "refusal")
        .agg(*_of_a_group())
        .orderBy("refusal", "asset", "standing")
        .collect()
    )
    for group in groups:
        if group["refusal"] is not None:
            raise _error(deed, group)
        if group["n"] > group["distinct"]:
            raise RecordsRefused(f"{group['n'] - group['distinct']} records are asked for more than once")
    shares: dict[str, Share] = {}
    for asset in dict.fromkeys(group["asset"] for group in groups):
        mine = [group for group in groups if group["asset"] == asset]
        count = sum(group["n"] for group in mine)
        ids = tuple(sorted(i for group in mine for i in group["ids"])) if count <= LISTED else ()
        shares[asset] = Share(count, {group["standing"]: int(group["n"]) for group in mine}, ids)
    days = sorted({day for group in groups for day in group["days"]})
    return Checked(shares, tuple(days))


def carry_out(
    spark: SparkSession, records: str, chosen: DataFrame, deed: Deed, checked: Checked, note: Mapping[str, Any]
) -> None:
    """Take the step with all records at once, after `check`; the caller holds the table's lock.

    `chosen` may have `correction` (VARIANT): an object whose fields are laid over those of an earlier one; and `by`:
    who changed this record, where that is told more exactly than in the deed.
    """
    corrected = "correction" in chosen.columns
    by = "s.by" if "by" in chosen.columns else sql.text(deed.by)
    values = _assignments(deed, by, corrected=corrected)
    needed = ["record_id", *(name for name in ("correction", "by") if name in chosen.columns)]
    starts = sql.literals(STEPS[deed.step][0], "string")
    changed = merge(
        spark,
        records,
        chosen.select(*needed),
        values,
        f"{_status('t.')} IN ({starts}) AND NOT ({_claimed_by_another(deed, 't')})",
        note,
        days=checked.days,
    )
    if changed != checked.count:  # only where no lock of ours excludes a rival
        raise RecordChanged(f"{checked.count - changed} of {checked.count} records changed meanwhile; look again")


def merge(
    spark: SparkSession,
    records: str,
    source: DataFrame,
    values: Mapping[str, str],
    guard: str,
    note: Mapping[str, Any],
    *,
    days: Sequence[date] = (),
) -> int:
    """One commit on the records named by `source` (alias s) where the guard holds; how many it changed.

    `values` are columns and their SQL, in terms of t and s. `days` are those on which the records were quarantined, so
    that the others need not be read.
    """
    session = noting(spark, note)
    seen_by(session, source).createOrReplaceTempView("lz_source")
    where = f" AND t.quarantined_date IN ({', '.join(f'DATE{sql.text(str(day))}' for day in days)})" if days else ""
    assignments = ", ".join(f"t.{column} = {value}" for column, value in values.items())
    row = session.sql(
        f"MERGE INTO delta.{sql.identifier(records)} AS t USING lz_source AS s ON t.record_id = s.record_id{where} "
        f"WHEN MATCHED AND {guard} THEN UPDATE SET {assignments}"
    ).first()
    return 0 if row is None else int(row["num_affected_rows"])


def sent_attempts(spark: SparkSession, outbox: str) -> DataFrame:
    """The highest attempt that the outbox has of each record."""
    if not exists(spark, outbox):
        return spark.sql("SELECT cast(NULL as string) AS record_id, cast(NULL as int) AS sent WHERE false")
    entries = spark.read.format("delta").load(outbox)
    return entries.groupBy("record_id").agg({"attempt": "max"}).toDF("record_id", "sent")


def _looked_up(spark: SparkSession, records: str, outbox: str, chosen: DataFrame) -> DataFrame:
    table = spark.read.format("delta").load(records)
    found = table.selectExpr(
        "record_id AS known_id",
        "asset",
        f"{_status()} AS status",
        "attempt",
        "quarantined_date",
        "claimed_by",
        "claimed_until",
        "_metadata.row_commit_version AS etag",
    )
    seen = "seen" if "seen" in chosen.columns else "cast(NULL as bigint) AS seen"
    wanted = chosen.selectExpr("record_id", seen)
    joined = wanted.join(found, wanted["record_id"] == found["known_id"], "left")
    if exists(spark, outbox):
        sent = sent_attempts(spark, outbox).withColumnRenamed("record_id", "sent_id")
        joined = joined.join(sent, joined["record_id"] == sent["sent_id"], "left")
    else:
        joined = joined.selectExpr("*", "cast(NULL as int) AS sent")
    return joined.selectExpr("*", f"{standing_sql('status', 'attempt', 'sent')} AS standing")


def _status(of: str = "") -> str:
    """SQL of the status, except where plain SQL wrote one that the record cannot have."""
    return edited_to_sql(known_status(f"{of}history"), f"{of}status")


def _of_a_group() -> list[Any]:
    from pyspark.sql import functions as F

    return [
        F.count("record_id").alias("n"),
        F.count_distinct("record_id").alias("distinct"),
        F.slice(F.sort_array(F.collect_list("record_id")), 1, LISTED).alias("ids"),
        F.collect_set("quarantined_date").alias("days"),
        F.min("claimed_by").alias("claimed_by"),
        F.min("claimed_until").alias("claimed_until"),
    ]


def _refusal(deed: Deed) -> str:
    starts = sql.literals(STEPS[deed.step][0], "string")
    return (
        "CASE WHEN known_id IS NULL THEN 'unknown' "
        "WHEN seen <> etag THEN 'changed' "
        f"WHEN standing NOT IN ({starts}) THEN 'illegal' "
        f"WHEN {_claimed_by_another(deed)} THEN 'claimed' END"
    )


def _claimed_by_another(deed: Deed, alias: str = "") -> str:
    of = f"{alias}." if alias else ""
    return (
        f"coalesce({of}status = '{RecordStatus.UNDER_REVIEW}' AND {of}claimed_by <> {sql.text(deed.by)} "
        f"AND {of}claimed_until > {literal_time(deed.at)}, false)"
    )


def _error(deed: Deed, group: Any) -> LazarettoError:
    record, more = f"record {group['ids'][0][:12]}", group["n"] - 1
    tail = f" ({more} more like it; nothing was changed)" if more else ""
    match group["refusal"]:
        case "unknown":
            return RecordUnknown(f"there is no {record} in the quarantine{tail}")
        case "changed":
            return RecordChanged(f"{record} changed since it was read; look at it again{tail}")
        case "claimed":
            until = group["claimed_until"]
            return RecordClaimed(f"{record} is under review by {group['claimed_by']} until {until} UTC{tail}")
        case _:
            return IllegalStep(deed.step, RecordStatus(group["standing"]), record)


def _assignments(deed: Deed, by: str, *, corrected: bool) -> dict[str, str]:
    """Column → SQL of what the step leaves behind, in terms of t (the record) and s (what was chosen)."""
    end = STEPS[deed.step][1]
    now, reviewed = literal_time(deed.at), end is RecordStatus.UNDER_REVIEW
    correction = "t.correction"
    if corrected:
        laid = f"CASE WHEN t.correction IS NULL THEN s.correction ELSE {overlaid('t.correction', 's.correction')} END"
        correction = f"CASE WHEN s.correction IS NULL THEN t.correction ELSE {laid} END"
    until = literal_time(deed.at + deed.claim_for)
    values = {
        "status": f"'{end}'",
        "updated_at": now,
        "updated_by": by,
        "claimed_by": sql.text(deed.by) if reviewed else "NULL",
        "claimed_until": until if reviewed else "NULL",
        "history": appended("t.history", entry(_entry_of(deed, by, end, correction))),
    }
    if corrected:
        values |= {"correction": correction, "corrected_at": now}
    if deed.step is Step.REJECT:
        values["reject_reason_code"] = text(deed.reason_code)
    return values


def _entry_of(deed: Deed, by: str, end: RecordStatus, correction: str) -> dict[str, str]:
    return {
        "step": f"'{deed.step}'",
        "deed": sql.text(deed.id),
        "at": literal_time(deed.at),
        "by": by,
        "assurance": sql.text(deed.assurance),
        "means": f"'{deed.means}'",
        "came_from": "t.status",
        "went_to": f"'{end}'",
        "why": text(deed.why or None),
        "reason_code": text(deed.reason_code),
        "attempt": "t.attempt",
        "correction": correction,
        "correction_hash": hash_of(correction),
    }
