"""Records made by hand in the shape of the table, by SQL: as many as one likes, as old as one likes."""

from __future__ import annotations

from typing import Any

from lazaretto.quarantine.append import utc_date
from lazaretto.quarantine.records import ensure
from lazaretto.quarantine.shape import COLUMNS, FAILURE_NAMES, FAILURES

FAILURE = {
    "rule_id": "'amount_positive'", "rule_type": "'range'", "column_name": "'amount'", "expected_value": "'at least 0'",
    "actual_value": "'-1'", "expression": "'amount >= 0'", "severity": "'HIGH'", "dimension": "'VALIDITY'",
    "message": "'amount: expected at least 0, found -1'", "status": "'FAIL'", "columns": "array('amount')",
    "warning": "false",
}  # fmt: skip


def failure(**values: str) -> str:
    """SQL of a broken rule."""
    known = FAILURE | values
    parts = ", ".join(f"'{name}', {known.get(name, 'NULL')}" for name in FAILURE_NAMES)
    return f"named_struct({parts})"


def records(spark: Any, path: str, source: str, **values: str) -> None:
    """Append records: one for each row of a query, whose columns `values` (column → SQL) may use."""
    ensure(spark, path)
    known = {
        "record_id": "sha2(uuid(), 256)", "place": "'inbox'", "asset": "'silver.orders'", "source_system": "'shop'",
        "failures": f"array({failure()})", "severity": "'HIGH'", "status": "'QUARANTINED'", "attempt": "0",
        "run_id": "'r1'", "batch_id": "'b1'", "suite": "'orders'", "suite_version": "'1.0.0'",
        "payload_policy": "'inline'", "quarantined_at": "current_timestamp()",
    } | values  # fmt: skip
    known["quarantined_date"] = utc_date(known["quarantined_at"])
    kinds = {column.name: FAILURES if column.name == "failures" else column.type for column in COLUMNS}
    columns = (f"cast({known.get(name, 'NULL')} as {kind}) AS {name}" for name, kind in kinds.items())
    spark.sql(f"SELECT {', '.join(columns)} FROM ({source})").write.format("delta").mode("append").save(path)
