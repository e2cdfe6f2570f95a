"""What a micro-batch costs: `stream` against a bare foreachBatch that appends the same rows; medians, in seconds.

python benchmarks/stream.py [ROWS…]                  micro-batches of so many rows (1000 10000 100000)
python benchmarks/stream.py flat [BATCHES]           so many batches of 1,000 rows (360): do they stay as fast?
python benchmarks/stream.py sustained [MINUTES [ROWS]]   as fast as it goes (10 minutes, batches of 100,000 rows)
"""

from __future__ import annotations

import json
import resource
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

import lazaretto as lz
from lazaretto.demo import bank
from lazaretto.spark import session

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from kafka_broker import Broker

BATCHES = 7
"""The first two of each are warming up."""


def main(sizes: list[int]) -> None:
    """Measure and print one table."""
    with tempfile.TemporaryDirectory(prefix="lazaretto-bench-") as scratch:
        spark, suite, root = _start(Path(scratch))
        broker = Broker(Path(scratch) / "kafka")
        broker.start()
        rules = len(suite.rules)
        print(f"\nstream: 13 columns, {rules} rules, medians of {BATCHES - 2} micro-batches, seconds")
        print(f"{'source':>7} {'rows':>9} {'append':>8} {'stream':>8} {'ratio':>7}  phases of the last batch")
        for size in sizes:
            _fill(spark, root, size, BATCHES)
            _show("delta", size, *_compared(spark, suite, root, Path(scratch)))
            topic = f"rows{size}"
            broker.make(spark, topic, partitions=1)
            rows = spark.read.format("delta").load(str(root / "lake/bronze/transactions"))
            messages = rows.selectExpr("to_json(struct(*)) AS value", f"'{topic}' AS topic")
            messages.write.format("kafka").option("kafka.bootstrap.servers", broker.servers).save()
            options = {"kafka.bootstrap.servers": broker.servers, "subscribe": topic}
            ddl = ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in rows.schema)
            assert suite.source is not None
            source = type(suite.source).model_validate({"format": "kafka", "schema": ddl, "options": options})
            own = suite.model_copy(update={"source": source})
            _show("kafka", size, *_compared(spark, own, root, Path(scratch), limit=size))
        broker.stop()
        spark.stop()


def flat(batches: int) -> None:
    """Stream many small batches; are the last as fast as the first, and does nothing grow?"""
    with tempfile.TemporaryDirectory(prefix="lazaretto-bench-") as scratch:
        spark, suite, root = _start(Path(scratch))
        _fill(spark, root, 1000, batches)
        seconds: list[float] = []
        step = max(1, batches // 6)

        def note(told: Any) -> None:
            seconds.append(told.seconds)
            if told.number % step == 0:
                median = statistics.median(seconds[-step:])
                which = f"batches {told.number - step + 1:>4}-{told.number:<4}"
                print(f"{which} median {median:.2f} s, {_grown(spark, root)}", flush=True)

        began = time.perf_counter()
        result = lz.stream(suite, spark, once=True, limit=1, on_batch=note)
        print(f"{result} in {time.perf_counter() - began:.0f} s")
        spark.stop()


def sustained(minutes: float, size: int) -> None:
    """Stream without a pause for so long; what rate does it keep, and does anything grow?"""
    with tempfile.TemporaryDirectory(prefix="lazaretto-bench-") as scratch:
        spark, suite, root = _start(Path(scratch))
        _fill(spark, root, size, 4)
        stop, began = threading.Event(), time.perf_counter()
        told_at, rows, part = began, 0, minutes * 6

        def note(told: Any) -> None:
            nonlocal told_at, rows
            _append_copy(root / "lake/bronze/transactions")  # so much waits all the while
            rows += told.result.counts.input
            now = time.perf_counter()
            if now - told_at >= part:
                print(
                    f"after {(now - began) / 60:4.1f} min: {rows / (now - told_at):,.0f} rows/s, {_grown(spark, root)}",
                    flush=True,
                )
                told_at, rows = now, 0
            if now - began >= 60 * minutes:
                stop.set()

        result = lz.stream(suite, spark, limit=1, on_batch=note, stop=stop)
        seconds = time.perf_counter() - began
        print(f"{result} in {seconds:.0f} s: {result.counts.input / seconds:,.0f} rows/s")
        spark.stop()


def _grown(spark: Any, root: Path) -> str:
    """What must not grow without bound."""
    files = {}
    for table in ("silver/transactions", "quarantine/records"):
        files[table] = len(spark.read.format("delta").load(str(root / "lake" / table)).inputFiles())
    stages = len(list((root / "lake/silver/transactions").glob("lz-*")))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    spark._jvm.java.lang.System.gc()
    heap = spark._jvm.java.lang.Runtime.getRuntime()
    used = (heap.totalMemory() - heap.freeMemory()) / 2**20
    shown = ", ".join(f"{table} {count} files" for table, count in files.items())
    return f"{shown}, {stages} folders of batches, Python {memory:.0f} MB, heap {used:.0f} MB"


def _start(scratch: Path) -> tuple[Any, lz.Suite, Path]:
    root = scratch / "bank"
    with resources.as_file(resources.files("lazaretto.demo") / "project") as template:
        shutil.copytree(template, root)
    spark = session(app_name="lazaretto-bench", warehouse=scratch / "warehouse")
    suite = lz.load_suite(root / "suites" / "transactions.yml", env="dev")
    rules = tuple(r for r in suite.rules if r.id not in ("no_card_numbers", "account_known"))
    return spark, suite.model_copy(update={"rules": rules}), root


def _fill(spark: Any, root: Path, size: int, batches: int) -> None:
    source = root / "lake/bronze/transactions"
    shutil.rmtree(source, ignore_errors=True)
    bank.transactions(spark, size, 1).coalesce(1).write.format("delta").save(str(source))
    for _ in range(batches - 1):
        _append_copy(source)


def _append_copy(source: Path) -> None:
    """The first version's rows once more, as another version; costs next to nothing."""
    log = source / "_delta_log"
    version = len(list(log.glob("*.json")))
    actions = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    lines = [json.dumps({"commitInfo": {"operation": "WRITE", "operationParameters": {"mode": "Append"}}})]
    for add in (action["add"] for action in actions if "add" in action):
        name = f"{version}-{add['path']}"
        shutil.copyfile(source / add["path"], source / name)
        lines.append(json.dumps({"add": add | {"path": name, "dataChange": True}}))
    draft = log / f".{version}"
    draft.write_text("\n".join(lines))
    draft.rename(log / f"{version:020}.json")


def _compared(
    spark: Any, suite: lz.Suite, root: Path, scratch: Path, limit: int = 1
) -> tuple[float, float, dict[str, float]]:
    bare = _appended(spark, suite, root, scratch, limit)
    shutil.rmtree(root / "lake/silver", ignore_errors=True)
    shutil.rmtree(root / "lake/quarantine", ignore_errors=True)
    for file in (*(root / "lake").glob(".*"), *(root / ".lazaretto").glob("control.db*")):
        file.unlink()
    told: list[Any] = []
    lz.stream(suite, spark, once=True, limit=limit, on_batch=told.append)
    return bare, statistics.median(t.seconds for t in told[2:]), told[-1].result.seconds


def _appended(spark: Any, suite: lz.Suite, root: Path, scratch: Path, limit: int) -> float:
    """What anybody would write by hand, without a gate."""
    target, marks = scratch / "bare", [time.perf_counter()]
    for folder in (target, scratch / "bare-checkpoint"):
        shutil.rmtree(folder, ignore_errors=True)
    assert suite.source is not None
    kafka = suite.source.format == "kafka"
    reader = spark.readStream.format(suite.source.format).options(**suite.source.options)
    if kafka:
        frame = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", limit).load()
        frame = frame.selectExpr(f"from_json(cast(value as string), '{suite.source.schema_}') AS r").select("r.*")
    else:
        frame = reader.option("maxFilesPerTrigger", limit).load(str(root / "lake/bronze/transactions"))

    def append(batch: DataFrame, _: int) -> None:
        batch.write.format("delta").mode("append").save(str(target))
        marks.append(time.perf_counter())

    writer: Callable[..., Any] = frame.writeStream.foreachBatch
    query = (
        writer(append).option("checkpointLocation", str(scratch / "bare-checkpoint")).trigger(availableNow=True).start()
    )
    query.awaitTermination()
    return statistics.median(b - a for a, b in pairwise(marks[2:]))


def _show(source: str, size: int, bare: float, gated: float, phases: dict[str, float]) -> None:
    shown = " ".join(f"{name} {seconds:.2f}" for name, seconds in phases.items())
    print(f"{source:>7} {size:>9,} {bare:>8.2f} {gated:>8.2f} {gated / bare:>7.2f}  {shown}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["flat"]:
        flat(int((sys.argv[2:] or ["360"])[0]))
    elif sys.argv[1:2] == ["sustained"]:
        sustained(float((sys.argv[2:] or ["10"])[0]), int((sys.argv[3:] or ["100000"])[0]))
    else:
        main([int(size) for size in sys.argv[1:]] or [1_000, 10_000, 100_000])
