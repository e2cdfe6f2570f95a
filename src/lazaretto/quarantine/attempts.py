"""Open records as rows, for corrections to be tried on; and what became of them, as SQL and lazy frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lazaretto.checks import sql
from lazaretto.engine.corrections import APPLIED, BROKEN, CHANGED, TRIED, UNFIT
from lazaretto.model.correction import Correction
from lazaretto.model.words import Place, RecordStatus
from lazaretto.quarantine.fields import VARIANT, Field, ddl, fields_of
from lazaretto.quarantine.payload import MASK, PayloadPolicy, decoded
from lazaretto.quarantine.transitions import sent_attempts
from lazaretto.quarantine.views import CORRECTED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RECORD_ID, SEEN, BASE, MASKED = "lz_record_id", "lz_seen", "lz_base", "lz_masked"
CARRIED = (RECORD_ID, SEEN, BASE, MASKED)
"""What a record brings along besides its row."""

LEGIBLE = (PayloadPolicy.INLINE.value, PayloadPolicy.MASKED.value)
"""Payload policies that leave something to correct. What is encrypted is not written down in the open by a program."""

_MAP = "map<string, variant>"


def open_records(
    spark: SparkSession, records: str, outbox: str, asset: str, suite: str | None = None, batches: Sequence[str] = ()
) -> DataFrame:
    """The records of an asset that nobody works on and that are not in flight, with their ETag (`seen`)."""
    chosen = f"asset = {sql.text(asset)} AND status = '{RecordStatus.QUARANTINED}' AND place = '{Place.INBOX}'"
    if suite is not None:
        chosen += f" AND suite = {sql.text(suite)}"
    if batches:
        chosen += f" AND batch_id IN ({sql.literals(batches, 'string')})"
    found = spark.read.format("delta").load(records).where(chosen)
    found = found.selectExpr("*", "_metadata.row_commit_version AS seen")
    sent = sent_attempts(spark, outbox).withColumnRenamed("record_id", "sent_id")
    in_flight = (found["record_id"] == sent["sent_id"]) & (sent["sent"] > found["attempt"])
    return found.join(sent, in_flight, "left_anti")


def rows_of(records: DataFrame, schema: str) -> DataFrame:
    """Records that came with this schema as typed rows, with `CARRIED`, `BROKEN` and `UNFIT`."""
    fields = fields_of(schema)
    failed = "transform(filter(failures, f -> NOT coalesce(f.warning, false)), f -> f.rule_id)"
    opened = records.selectExpr(
        f"record_id AS {RECORD_ID}",
        f"seen AS {SEEN}",
        f"{CORRECTED} AS {BASE}",
        f"{failed} AS {BROKEN}",
        f"payload_policy = '{PayloadPolicy.MASKED}' AS {MASKED}",
    )
    typed = dict(decoded(schema, BASE))
    rows = opened.selectExpr("*", *(f"{value} AS {sql.identifier(name)}" for name, value in typed.items()))
    shown = [f"{_unmasked(field)} AS {sql.identifier(field.name)}" for field in fields]
    return rows.selectExpr(*CARRIED, BROKEN, f"{_unfit(fields)} AS {UNFIT}", *shown)


def outcomes(judged: DataFrame, schema: str, passes: str, corrections: Sequence[Correction]) -> DataFrame:
    """What came of each record. `passes` is SQL: the row breaks no rule as it is now.

    A value that no correction gave and that does not fit its column (or is masked) is in the record and not in the row:
    with it the row would lose something on its way, so it does not pass.
    """
    applied = f"size({APPLIED}) > 0"
    passing = f"({applied} AND size(map_keys({UNFIT})) = 0 AND {passes})"
    labels = ", ".join(sql.text(label(one)) for one in corrections)
    names = f"transform({APPLIED}, lz_n -> array({labels})[lz_n])"
    return judged.selectExpr(
        f"{RECORD_ID} AS record_id",
        f"{SEEN} AS seen",
        TRIED,
        APPLIED,
        f"{passing} AS lz_passes",
        f"CASE WHEN {applied} THEN {_given(fields_of(schema))} END AS correction",
        f"concat('correction:', array_join({names}, ', ')) AS by",
    )


def label(correction: Correction) -> str:
    """By this name a correction signs."""
    return f"{correction.id}@{correction.version}"


def before_sql() -> str:
    """SQL of what the changed columns held, as JSON."""
    held = f"map_filter(cast({BASE} as {_MAP}), (k, v) -> array_contains({CHANGED}, k))"
    return f"to_json(to_variant_object({held}))"


def _given(fields: Sequence[Field]) -> str:
    """SQL of an object with the columns that were given other values."""
    parts = ", ".join(f"{sql.text(f.name)}, {VARIANT.write(f.form, sql.identifier(f.name))}" for f in fields)
    whole = f"cast(to_variant_object(named_struct({parts})) as {_MAP})"
    return f"to_variant_object(map_filter({whole}, (k, v) -> array_contains({CHANGED}, k)))"


def _raw(field: Field) -> str:
    """SQL of a column as the payload has it, whatever its type."""
    name = sql.identifier(field.name)
    return f"try_variant_get({BASE}, '$', {sql.text(f'struct<{name}: variant>')}).{name}"


def _hidden(field: Field) -> str:
    return f"({MASKED} AND coalesce(try_variant_get({_raw(field)}, '$', 'string') = '{MASK}', false))"


def _unmasked(field: Field) -> str:
    """SQL of a typed column, NULL instead of a mask: no correction may take the mask for a value."""
    name = sql.identifier(field.name)
    return f"CASE WHEN {_hidden(field)} THEN NULL ELSE {name} END" if field.form == "string" else name


def _unfit(fields: Sequence[Field]) -> str:
    """SQL of the columns whose value is in the payload and not in the row."""
    entries = []
    for field in fields:
        raw, lost = _raw(field), "false"
        if field.form != "string" and ddl(field.form) not in ("variant", "void"):
            lost = f"({sql.identifier(field.name)} IS NULL AND {raw} IS NOT NULL AND NOT is_variant_null({raw}))"
        text = f"if({_hidden(field)}, NULL, try_variant_get({raw}, '$', 'string'))"
        entries.append(f"if({lost} OR {_hidden(field)}, named_struct('k', {sql.text(field.name)}, 'v', {text}), NULL)")
    listed = f"filter(array({', '.join(entries)}), lz_x -> lz_x IS NOT NULL)"
    return f"cast(map_from_entries({listed}) as map<string, string>)"
