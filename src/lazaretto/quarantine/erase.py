"""What one person's records hold, overwritten and physically removed; a keyed hash stays in its place.

The hash is HMAC-SHA256 of the row's hash: who has the key and the row can prove that this was it, and once the key is
destroyed nobody can.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from lazaretto.checks import sql
from lazaretto.engine.judge import literal_time
from lazaretto.model.errors import LazarettoError
from lazaretto.model.lifecycle import OPEN
from lazaretto.model.words import RecordStatus
from lazaretto.quarantine.history import MEMBERS, appended, entry, text
from lazaretto.quarantine.payload import PayloadPolicy, failures_sql
from lazaretto.spark.delta_log import DeltaLogs
from lazaretto.spark.sessions import noting, vacuuming

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ERASED = "erased"
"""Payload policy of an erased record."""
REASON_CODE = "ERASED"
_APPEND_ONLY = "delta.appendOnly"
_BLOCK = 64


class ErasureIncomplete(LazarettoError):
    """Old files of a table could not be removed."""


def hmac_sql(key: bytes, message: str) -> str:
    """SQL of HMAC-SHA256 (RFC 2104) of a text, in hex; NULL for NULL."""
    padded = key.ljust(_BLOCK, b"\0")
    inner, outer = (bytes(b ^ pad for b in padded).hex() for pad in (0x36, 0x5C))
    return f"sha2(concat(X'{outer}', unhex(sha2(concat(X'{inner}', cast({message} as binary)), 256))), 256)"


def overwrite(
    spark: SparkSession,
    table: str,
    ids: Sequence[str],
    *,
    erasure: str,
    key: bytes,
    at: datetime,
    by: str,
    why: str,
    assurance: str,
) -> int:
    """Overwrite what the named records hold, wherever a table has a column for it; how many it changed."""
    columns = {field["name"] for field in DeltaLogs(spark).facts(table).schema["fields"]}
    values = {
        "payload": "NULL",
        "correction": "NULL",
        "payload_policy": f"'{ERASED}'",
        "payload_hash": hmac_sql(key, "t.payload_hash"),
        "record_key": "NULL",
        "event_id": "NULL",
        "rescued_data": "NULL",
        "error": "NULL",
        "failures": failures_sql("t.failures", PayloadPolicy.REFERENCE),
    }
    if "history" in columns:  # a record; the outbox has only what was sent
        now = "archived_status" if "archived_status" in columns else "status"
        still_open = f"t.{now} IN ({sql.literals(OPEN, 'string')})"
        values |= {
            now: f"if({still_open}, '{RecordStatus.REJECTED}', t.{now})",
            "reject_reason_code": f"if({still_open}, '{REASON_CODE}', t.reject_reason_code)",
            "updated_at": literal_time(at),
            "updated_by": sql.text(by),
            "history": _history(now, still_open, erasure, at, by, why, assurance),
        }
    session = noting(spark, {"lazaretto": 1, "erasure": erasure})
    session.createDataFrame([(each,) for each in ids], "record_id string").createOrReplaceTempView("lz_source")
    assignments = ", ".join(f"t.{name} = {value}" for name, value in values.items() if name in columns)
    append_only = DeltaLogs(spark).facts(table).configuration.get(_APPEND_ONLY) == "true"
    if append_only:
        _set(spark, table, _APPEND_ONLY, "false")
    row = session.sql(
        f"MERGE INTO delta.{sql.identifier(table)} AS t USING lz_source AS s ON t.record_id = s.record_id "
        f"WHEN MATCHED AND NOT t.payload_policy <=> '{ERASED}' THEN UPDATE SET {assignments}"
    ).first()
    return 0 if row is None else int(row["num_affected_rows"])


def close_ledger(spark: SparkSession, outbox: str) -> None:
    """Nothing but appends from now on, as before."""
    _set(spark, outbox, _APPEND_ONLY, "true")


def purge(spark: SparkSession, table: str) -> None:
    """Remove the files with what was overwritten: those of former versions and of the change feed.

    Time travel of the table ends here. Delta refuses so short a retention unless a setting allows it: that is set in a
    clone of the session, which is forgotten afterwards.
    """
    session = vacuuming(spark, at_once=True)
    name = f"delta.{sql.identifier(table)}"
    session.sql(f"REORG TABLE {name} APPLY (PURGE)").collect()
    session.sql(f"VACUUM {name} RETAIN 0 HOURS").collect()
    # Folders that are empty now are listed too; the next VACUUM takes them.
    left = [row[0] for row in session.sql(f"VACUUM {name} RETAIN 0 HOURS DRY RUN").collect() if _is_file(row[0])]
    if left:
        raise ErasureIncomplete(f"{len(left)} old files of {table} could not be removed; run the command again")


def _is_file(path: str) -> bool:
    return path.endswith((".parquet", ".bin"))


def _history(now: str, still_open: str, erasure: str, at: datetime, by: str, why: str, assurance: str) -> str:
    veiled = {
        "correction": "cast(NULL as variant)",
        "correction_hash": "cast(NULL as string)",
        "failures": failures_sql("lz_h.failures", PayloadPolicy.REFERENCE),
    }
    parts = ", ".join(f"'{name}', {veiled.get(name, f'lz_h.{name}')}" for name in MEMBERS)
    step = {
        "step": "'erase'",
        "deed": sql.text(erasure),
        "at": literal_time(at),
        "by": sql.text(by),
        "assurance": sql.text(assurance),
        "means": "'command'",
        "why": text(why),
        "came_from": "t.status",
        # What is archived stays so; what was open is rejected.
        "went_to": f"if({still_open}, '{RecordStatus.REJECTED}', t.status)" if now == "status" else "t.status",
    }
    return appended(f"transform(t.history, lz_h -> named_struct({parts}))", entry(step))


def _set(spark: SparkSession, table: str, name: str, value: str) -> None:
    spark.sql(f"ALTER TABLE delta.{sql.identifier(table)} SET TBLPROPERTIES ('{name}' = '{value}')")
