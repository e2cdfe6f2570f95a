"""Between two batches: small files are put together, so that a stream that runs for days does not drown readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazaretto.spark.delta_log import DeltaLogs
from lazaretto.spark.lock import table_lock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def compact(spark: SparkSession, tables: tuple[str, ...], *, wait: float) -> None:
    """Put the small files of tables together, each under its lock. Readers see the same rows before and after."""
    logs = DeltaLogs(spark)
    for table in tables:
        if logs.exists(table):
            with table_lock(spark, table, wait=wait):
                spark.sql(f"OPTIMIZE delta.`{table}`")
