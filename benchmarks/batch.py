"""What the whole gate costs: `run` against a plain copy and against the usual design, in one run, medians of three.

(a) copy: read Delta, write Delta. (b) usual: an array of failure structs on every row, then two filtered writes.
(c) run: stage, seal, measure, decide, publish without copying, quarantine, evidence.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

from pyspark.sql import DataFrame

import lazaretto as lz
from lazaretto.checks import sql
from lazaretto.demo import bank
from lazaretto.engine.plan import plan
from lazaretto.model.schema import TableSchema
from lazaretto.spark import session

REPEATS = 3


def main(sizes: list[int]) -> None:
    """Measure and print one table."""
    with tempfile.TemporaryDirectory(prefix="lazaretto-bench-") as scratch:
        root = Path(scratch) / "bank"
        with resources.as_file(resources.files("lazaretto.demo") / "project") as template:
            shutil.copytree(template, root)
        spark = session(app_name="lazaretto-bench", warehouse=Path(scratch) / "warehouse")
        suite = lz.load_suite(root / "suites" / "transactions.yml", env="dev")
        # Without the rules that would hold the batch or need the reference: the usual design has no answer to those.
        rules = tuple(r for r in suite.rules if r.id not in ("no_card_numbers", "account_known"))
        suite = suite.model_copy(update={"rules": rules})
        print(f"\nbatch: 13 columns, {len(rules)} rules, medians of {REPEATS}, seconds")
        heads = f"{'copy':>7} {'usual':>7} {'run':>7} {'run/copy':>9} {'usual/run':>10}"
        print(f"{'rows':>10} {heads}  phases of the last run")
        for size in sizes:
            source = root / "lake" / "bronze" / "transactions"
            shutil.rmtree(source, ignore_errors=True)
            bank.transactions(spark, size, 4).write.format("delta").save(str(source))
            frame = spark.read.format("delta").load(str(source))
            copy = _median(lambda frame=frame: _write(frame, f"{scratch}/copy"))
            usual = _median(lambda frame=frame: _usual(frame, suite, scratch))
            runs: list[lz.RunResult] = []

            def gate(root: Path = root, runs: list[lz.RunResult] = runs) -> None:
                shutil.rmtree(root / "lake" / "silver", ignore_errors=True)
                runs.append(lz.run(suite, spark, env="dev", again=True))

            gated = _median(gate)
            phases = " ".join(f"{name} {seconds:.1f}" for name, seconds in runs[-1].seconds.items())
            ratios = f"{gated / copy:>9.2f} {usual / gated:>10.2f}"
            print(f"{size:>10,} {copy:>7.1f} {usual:>7.1f} {gated:>7.1f} {ratios}  {phases}", flush=True)
        spark.stop()


def _usual(frame: DataFrame, suite: lz.Suite, scratch: str) -> None:
    schema = TableSchema.from_json(frame.schema.jsonValue())
    failures = ", ".join(
        f"CASE WHEN NOT {i.ok} THEN named_struct('rule', {sql.text(i.rule.id)}, 'column', {sql.text(i.column or '')}, "
        f"'expected', {sql.text(i.rule.expects())}, 'actual', {i.actual}, 'severity', '{i.rule.severity}', "
        f"'message', concat('expected ', {sql.text(i.rule.expects())}, ', found ', coalesce({i.actual}, 'NULL')), "
        "'run_id', 'bench', 'run_time', current_timestamp()) END"
        for i in plan(suite, schema, today=datetime.now(UTC).date()).instances
        if i.verdict is None
    )
    marked = frame.selectExpr("*", f"filter(array({failures}), x -> x IS NOT NULL) AS dq")
    _write(marked.where("size(dq) = 0").drop("dq"), f"{scratch}/usual-clean")
    _write(marked.where("size(dq) > 0"), f"{scratch}/usual-bad")


def _write(frame: DataFrame, path: str) -> None:
    frame.write.format("delta").mode("overwrite").save(path)


def _median(work: Callable[[], None]) -> float:
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)
