"""What looking costs: a page of `quarantine list` and the `summary`, against a bare Delta scan of the table.

Open records of 30 days, made by Spark in the table's shape. The scan reads every column into Spark's noop sink.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from lazaretto.engine.details import FAILURE_TYPE
from lazaretto.quarantine.append import utc_date
from lazaretto.quarantine.looking import page
from lazaretto.quarantine.records import ensure
from lazaretto.quarantine.shape import COLUMNS, FAILURE_NAMES
from lazaretto.quarantine.summary import summarise
from lazaretto.quarantine.veil import Sensitive, Veil
from lazaretto.quarantine.wanted import Wanted
from lazaretto.quarantine.whereabouts import Tables
from lazaretto.spark import session

REPEATS = 3
VEIL = Veil({"silver.orders": Sensitive(("card",))})


def main(sizes: list[int]) -> None:
    """Measure and print one table."""
    with tempfile.TemporaryDirectory(prefix="lazaretto-bench-") as scratch:
        spark = session(app_name="lazaretto-bench", warehouse=Path(scratch) / "warehouse")
        print(f"\nlooking: medians of {REPEATS}, seconds and ratio to a bare scan")
        print(f"{'records':>10} {'scan':>7} {'page':>14} {'rare rule':>14} {'text':>14} {'summary':>14}")
        for size in sizes:
            path = f"{scratch}/records{size}"
            make(spark, path, size)
            tables = Tables(path)
            scan = _median(lambda path=path: _sink(spark, path))
            asked = (
                Wanted(),
                Wanted(rules=("rare",)),
                Wanted(texts=(("name", "customer 12345"),), datasets=("silver.orders",)),
            )
            pages = [_median(lambda t=tables, w=w: page(spark, t, w, veil=VEIL)) for w in asked]
            summed = _median(lambda t=tables: summarise(spark, t, Wanted()))
            told = " ".join(f"{seconds:>7.2f} {seconds / scan:>5.2f}x" for seconds in (*pages, summed))
            print(f"{size:>10,} {scan:>7.2f} {told}", flush=True)
        spark.stop()


def make(spark: SparkSession, path: str, size: int) -> None:
    """So many open records."""
    ensure(spark, path)
    rule = "CASE WHEN id % 100003 = 7 THEN 'rare' WHEN id % 2 = 0 THEN 'amount_positive' ELSE 'country_known' END"
    known = {
        "rule_id": rule, "rule_type": "if(id % 2 = 0, 'range', 'allowed_values')", "column_name": "'amount'",
        "expected_value": "'at least 0'", "actual_value": "cast(-id as string)", "severity": "'HIGH'",
        "status": "'FAIL'", "columns": "array('amount')", "warning": "false", "message": "'expected at least 0'",
    }  # fmt: skip
    failure = ", ".join(f"'{name}', {known.get(name, 'NULL')}" for name in FAILURE_NAMES)
    row = (
        "named_struct('id', id, 'amount', cast(-id as decimal(18,2)), 'name', concat('customer ', id), 'card', 'x', "
        "'country', 'AE', 'at', current_timestamp(), 'channel', 'CARD', 'note', repeat('n', 60))"
    )
    at = "timestamp_micros(unix_micros(current_timestamp()) - cast(id % 30 as bigint) * 86400000000)"
    values = {
        "record_id": "sha2(cast(id as string), 256)", "place": "'inbox'", "asset": "'silver.orders'",
        "source_system": "concat('system ', id % 5)", "entity": "'orders'", "record_key": "cast(id as string)",
        "payload": f"to_variant_object({row})", "payload_hash": "sha2(cast(id as string), 256)",
        "payload_policy": "'inline'", "failures": f"cast(array(named_struct({failure})) as {FAILURE_TYPE})",
        "severity": "if(id % 10 = 0, 'CRITICAL', 'HIGH')", "status": "'QUARANTINED'", "attempt": "0",
        "run_id": "concat('run ', id % 30)", "batch_id": "concat('batch ', id % 30)", "suite": "'orders'",
        "suite_version": "'1.0.0'", "quarantined_at": at, "quarantined_date": utc_date(at),
    }  # fmt: skip
    columns = (f"cast({values.get(c.name, 'NULL')} as {c.type}) AS {c.name}" for c in COLUMNS)
    frame = spark.range(size).selectExpr(*columns).repartition("quarantined_date", "severity")
    frame.write.format("delta").mode("append").save(path)


def _sink(spark: SparkSession, path: str) -> None:
    spark.read.format("delta").load(path).write.format("noop").mode("overwrite").save()


def _median(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


if __name__ == "__main__":
    main([1_000_000])
