"""Staged batches as the engine leaves them, made by hand."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lazaretto.engine.details import FAILURE_TYPE
from lazaretto.engine.stage import REJECT_MEMBERS
from lazaretto.model.results import Counts
from lazaretto.model.seal import SEAL_FILE, Seal, SealedSource, SealedTarget
from lazaretto.model.values import Threshold, parse_rate
from lazaretto.model.words import Mode, Tier, WriteMode
from lazaretto.quarantine.payload import hash_sql, payload_sql
from lazaretto.spark.delta_log import DeltaLogs
from lazaretto.spark.files import Files

FAILURES = f"""cast(array(named_struct(
    'rule_id', 'positive_amount', 'rule_version', '1', 'rule_type', 'range', 'column_name', 'amount',
    'expected_value', 'at least 0', 'actual_value', '-1', 'expression', 'amount >= 0', 'severity', 'HIGH',
    'dimension', 'VALIDITY', 'message', 'amount: expected at least 0, found -1', 'reason_code', 'range',
    'status', 'FAIL', 'rule_fingerprint', 'f1', 'columns', array('amount'), 'filter', NULL,
    'metadata', map('team', 'payments'), 'warning', false),
  named_struct(
    'rule_id', 'odd', 'rule_version', '1', 'rule_type', 'custom_sql', 'column_name', NULL,
    'expected_value', 'even', 'actual_value', NULL, 'expression', 'id % 2 = 0', 'severity', 'LOW',
    'dimension', 'VALIDITY', 'message', 'odd', 'reason_code', 'custom_sql', 'status', 'FAIL',
    'rule_fingerprint', 'f2', 'columns', array('id'), 'filter', 'id > 0', 'metadata', NULL,
    'warning', true)) as {FAILURE_TYPE})"""


def stage(
    spark: SparkSession,
    target: Path,
    rows: DataFrame,
    *,
    name: str = "one",
    asset: str = "silver.orders",
    place: str = "inbox",
    policy: str = "inline",
    masked: tuple[str, ...] = (),
    key: str | None = None,
    rescued: str | None = None,
    severity: str = "HIGH",
    accepted: int = 0,
) -> Seal:
    """Write rows as the quarantined ones of a batch, and seal it."""
    batch_id = hashlib.sha256(name.encode()).hexdigest()
    folder = f"lz-{batch_id[:16]}"
    schema = rows.schema.json()
    quoted = schema.replace("\\", "\\\\").replace("'", "\\'")
    frame = rows.selectExpr(
        "cast(NULL as int) AS `target column`",
        f"{payload_sql(schema, policy, masked, key, rescued=rescued)} AS lz_payload",
        f"{_reject(schema, quoted, rescued, severity, place)} AS lz_reject",
        "1L AS lz_failed_0",
        "0L AS lz_errors_0",
        "'quarantined' AS lz_route",
    )
    if accepted:
        good = frame.sparkSession.range(accepted).selectExpr(
            "cast(id as int) AS `target column`",
            *(f"cast(NULL as {kind}) AS {column}" for column, kind in frame.dtypes[1:-1]),
            "'accepted' AS lz_route",
        )
        frame = frame.unionByName(good)
    # Names in files may hold anything only where Delta maps them; the accepted column is of no interest here.
    frame = frame.withColumnRenamed("target column", "target_column")
    files = DeltaLogs(spark).stage(f"{target}/{folder}", frame.schema.json(), ["lz_route"], {}, frame)
    seal = _seal(batch_id, folder, str(target), asset, files, policy)
    Files(spark).put_if_absent(f"{target}/{folder}/{SEAL_FILE}", seal.text())
    return seal


def _reject(schema: str, quoted: str, rescued: str | None, severity: str, place: str) -> str:
    values = {
        "payload_hash": hash_sql(schema, rescued=rescued),
        "payload_schema": f"'{quoted}'",
        "failures": FAILURES,
        "severity": f"'{severity}'",
        "position": "'file 1'",
        "rescued": rescued or "NULL",
        "place": f"'{place}'",
        "run_time": "timestamp'2026-11-17 23:30:00Z'",
        "source_table": "'bronze.orders'",
    }
    listed = ", ".join(f"'{k}', cast({values.get(k, 'NULL')} as {kind})" for k, kind in REJECT_MEMBERS.items())
    return f"to_variant_object(named_struct({listed}))"


def _seal(batch_id: str, folder: str, target: str, asset: str, files: list[dict[str, Any]], policy: str) -> Seal:
    rows = {"accepted": 0, "quarantined": 0}
    for file in files:
        rows[file["partitionValues"]["lz_route"]] += int(json.loads(file["stats"])["numRecords"])
    rate = Threshold(parse_rate("1%").value, True)
    return Seal(
        batch_id=batch_id,
        folder=folder,
        run_id="run 1",
        suite="orders",
        suite_version="1.0.0",
        environment=None,
        rule_set_fingerprint="set1",
        tier=Tier.STANDARD,
        mode=Mode.QUARANTINE,
        write=WriteMode.APPEND,
        owner="payments",
        source_system="shop",
        entity="orders",
        certify_below=rate,
        quarantine_batch_above=rate,
        target=SealedTarget(asset=asset, path=target, table_id="t", version=0, table_schema="{}", partition_columns=()),
        source=SealedSource(name="bronze.orders", kind="frame"),
        files=tuple(files),
        counts=Counts(input=sum(rows.values()), **rows),
        rows_failing=rows["quarantined"],
        rows_marked=rows["quarantined"],
        rules=(),
        payload=policy,
        sealed_at=datetime(2026, 11, 17, 23, 31, tzinfo=UTC),
    )
