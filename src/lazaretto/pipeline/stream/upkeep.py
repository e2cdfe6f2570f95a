"""Between two batches: small files are put together, so that a stream that runs for days does not drown readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazaretto.pipeline.bench import Bench
from lazaretto.quarantine.held import seals_under
from lazaretto.spark.delta_log import DeltaLogs
from lazaretto.spark.files import Files, is_local, local
from lazaretto.spark.lock import table_lock
from lazaretto.spark.sessions import vacuuming

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def compact(bench: Bench, target: str, *, wait: float) -> None:
    """Put the small files of target and quarantine together, and remove what was replaced longer ago than each table's
    own retention. Readers see the same rows before and after."""
    for table in (target, bench.places.records):
        if DeltaLogs(bench.spark).exists(table):
            with table_lock(bench.spark, table, wait=wait):
                _smaller(bench.spark, table, vacuum=table != target or not seals_under(bench.files, target))
                remove_empty_stages(bench.files, table)


def _smaller(spark: SparkSession, table: str, *, vacuum: bool) -> None:
    spark.sql(f"OPTIMIZE delta.`{table}`").collect()
    if vacuum:  # staged rejects are in no table yet: while a batch is open nothing is removed
        # Not in our name: who looks for changes of others goes back to the last commit that is ours.
        vacuuming(spark, noted=False).sql(f"VACUUM delta.`{table}`").collect()


def remove_empty_stages(files: Files, target: str) -> None:
    """Remove folders of batches in which no file is left. Where there are no folders but names, nothing is."""
    if not is_local(target):
        return
    for name in files.list(target):
        if not name.startswith("lz-"):
            continue
        stage = local(target) / name
        for folder in (*sorted(stage.rglob("*"), reverse=True), stage):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
