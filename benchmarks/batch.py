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

from pyspark.sql import DataFrame, SparkSession

import lazaretto as lz
from lazaretto.checks import sql
from lazaretto.demo import bank
from lazaretto.engine.plan import plan
from lazaretto.model.schema import TableSchema
from lazaretto.spark import session
from split import with_rules

REPEATS = 3


HEAVY = ("iban_valid", "email_form")
"""Rules that cost more than all others together: check digits of an IBAN, the form of an e-mail address."""
SMALL_RUNS = 100


def main(sizes: list[int]) -> None:
    """Measure and print two tables, with plain rules and with the whole bank suite, and what a small run costs."""
    with tempfile.TemporaryDirectory(prefix="lazaretto-bench-") as scratch:
        root = Path(scratch) / "bank"
        with resources.as_file(resources.files("lazaretto.demo") / "project") as template:
            shutil.copytree(template, root)
        spark = session(app_name="lazaretto-bench", warehouse=Path(scratch) / "warehouse")
        suite = lz.load_suite(root / "suites" / "transactions.yml", env="dev")
        # Without the rules that would hold the batch or need the reference: the usual design has no answer to those.
        bank_rules = _without(suite, ("no_card_numbers", "account_known"))
        plain = _without(bank_rules, HEAVY)
        for words, rules in (("plain rules", plain), ("the bank's rules", bank_rules)):
            _table(spark, root, words, with_rules(rules, 21), sizes)
        _small(spark, root, with_rules(plain, 21))
        spark.stop()


def _table(spark: SparkSession, root: Path, words: str, suite: lz.Suite, sizes: list[int]) -> None:
    print(f"\nbatch, {words}: 13 columns, {len(suite.rules)} rules, medians of {REPEATS}, seconds")
    heads = f"{'copy':>7} {'usual':>7} {'run':>7} {'run/copy':>9} {'usual/run':>10} {'publish':>8} {'heap MB':>8}"
    print(f"{'rows':>10} {heads}  phases of the last run")
    for size in sizes:
        source = root / "lake" / "bronze" / "transactions"
        shutil.rmtree(source, ignore_errors=True)
        bank.transactions(spark, size, 4).write.format("delta").save(str(source))
        _measured(spark, root, suite, size, spark.read.format("delta").load(str(source)))


def _measured(spark: SparkSession, root: Path, suite: lz.Suite, size: int, frame: DataFrame) -> None:
    runs: list[lz.RunResult] = []

    def gate() -> None:
        shutil.rmtree(root / "lake" / "silver", ignore_errors=True)
        runs.append(lz.run(suite, spark, env="dev", again=True, reprocess=True))

    # By turns, so that what else the machine does falls on all of them alike.
    copy, usual, gated = _by_turns(
        lambda: _write(frame, f"{root.parent}/copy"), lambda: _usual(frame, suite, f"{root.parent}/usual"), gate
    )
    last = runs[-1].seconds
    phases = " ".join(f"{name} {seconds:.1f}" for name, seconds in last.items())
    ratios = f"{gated / copy:>9.2f} {usual / gated:>10.2f} {last['publish']:>8.2f} {_heap(spark):>8,}"
    print(f"{size:>10,} {copy:>7.1f} {usual:>7.1f} {gated:>7.1f} {ratios}  {phases}", flush=True)


def _small(spark: SparkSession, root: Path, suite: lz.Suite) -> None:
    """Many runs of a thousand rows: what the gate costs where there is hardly anything to judge."""
    shutil.rmtree(root / "lake", ignore_errors=True)
    source, target, records = (
        root / "lake" / p for p in ("bronze/transactions", "silver/transactions", "quarantine/records")
    )
    seconds = []
    for _ in range(SMALL_RUNS):
        bank.transactions(spark, 1_000, 1).write.format("delta").mode("append").save(str(source))
        start = time.perf_counter()
        lz.run(suite, spark, env="dev")
        seconds.append(time.perf_counter() - start)
    made = [len(list((table / "_delta_log").glob("*.json"))) - 1 for table in (target, records)]
    print(
        f"\n{SMALL_RUNS} runs of 1,000 rows: median {statistics.median(seconds):.2f} s, the last ten "
        f"{statistics.median(seconds[-10:]):.2f} s; commits per run: target {made[0] / SMALL_RUNS:.2f}, "
        f"quarantine {made[1] / SMALL_RUNS:.2f}"
    )


def _without(suite: lz.Suite, ids: tuple[str, ...]) -> lz.Suite:
    return suite.model_copy(update={"rules": tuple(rule for rule in suite.rules if rule.id not in ids)})


def _heap(spark: SparkSession) -> int:
    """Megabytes of the driver's heap in use after a collection."""
    runtime = spark._jvm.java.lang.Runtime.getRuntime()
    runtime.gc()
    return int((runtime.totalMemory() - runtime.freeMemory()) / 1_000_000)


def _usual(frame: DataFrame, suite: lz.Suite, folder: str) -> None:
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
    _write(marked.where("size(dq) = 0").drop("dq"), f"{folder}-clean")
    _write(marked.where("size(dq) > 0"), f"{folder}-bad")


def _write(frame: DataFrame, path: str) -> None:
    frame.write.format("delta").mode("overwrite").save(path)


def _by_turns(*works: Callable[[], None]) -> list[float]:
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(REPEATS):
        for work, taken in zip(works, seconds, strict=True):
            start = time.perf_counter()
            work()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in seconds]
