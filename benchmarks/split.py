"""What judging costs: `split` against reading and writing the same rows, and by number of rules.

Everything is written to Spark's noop sink, so every column of every row is computed; `count()` would let the
optimiser leave the work out. Ratios are of medians within one run.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from pyspark.sql import DataFrame

import lazaretto as lz
from lazaretto.demo import bank
from lazaretto.spark import session

REPEATS = 3


def main(sizes: list[int]) -> None:
    """Measure and print two tables."""
    with tempfile.TemporaryDirectory(prefix="lazaretto-bench-") as scratch:
        spark = session(app_name="lazaretto-bench", warehouse=Path(scratch) / "warehouse")
        with resources.as_file(resources.files("lazaretto.demo") / "project") as project:
            suite = lz.load_suite(project / "suites" / "transactions.yml", env="dev")
        suite = with_rules(suite, 21)
        accounts = bank.accounts(spark).cache()
        print(f"split: 13 columns, {len(suite.rules)} rules, medians of {REPEATS}, seconds")
        print(f"{'rows':>10} {'read':>7} {'judge all':>10} {'clean':>7} {'quarantined':>12} {'ratio clean/read':>17}")
        for size in sizes:
            source = str(Path(scratch) / f"t{size}")
            bank.transactions(spark, size, 4).write.format("delta").save(source)
            frame = spark.read.format("delta").load(source)
            annotated = lz.annotate(frame, suite, references={"ref.accounts": accounts})
            clean, quarantined = lz.split(frame, suite, references={"ref.accounts": accounts})
            _sink(frame)
            read, both, good, bad = (_median(f) for f in (frame, annotated, clean, quarantined))
            print(f"{size:>10,} {read:>7.2f} {both:>10.2f} {good:>7.2f} {bad:>12.2f} {good / read:>17.2f}", flush=True)
        print(f"\ncost by number of rules ({sizes[0]:,} rows, clean rows only)")
        frame = spark.read.format("delta").load(str(Path(scratch) / f"t{sizes[0]}"))
        read = _median(frame)
        print(f"{'rules':>10} {'seconds':>8} {'ratio':>7}")
        for count in (10, 50, 200, 500):
            clean, _ = lz.split(frame, with_rules(suite, count, plain=True))
            seconds = _median(clean)
            print(f"{count:>10} {seconds:>8.2f} {seconds / read:>7.2f}", flush=True)
        spark.stop()


def with_rules(suite: lz.Suite, count: int, *, plain: bool = False) -> lz.Suite:
    """The suite cut or filled up to so many rules; `plain` leaves out the ones that need a reference."""
    rules = [] if plain else list(suite.rules)
    kinds: list[Callable[[int], lz.Rule]] = [
        lambda n: lz.rule("range", id=f"r{n}", column="amount", min=-n, max=10**9 + n),
        lambda n: lz.rule("not_null", id=f"r{n}", column="txn_id"),
        lambda n: lz.rule("length", id=f"r{n}", column="description", max=100 + n),
        lambda n: lz.rule(
            "allowed_values",
            id=f"r{n}",
            column="channel",
            allowed=["CARD", "TRANSFER", "ATM", "MOBILE", str(n)],
        ),
        lambda n: lz.rule("custom_sql", id=f"r{n}", expression=f"amount < {10**9 + n} OR status = 'BOOKED'"),
    ]
    rules += [kinds[n % len(kinds)](n) for n in range(max(0, count - len(rules)))]
    return suite.model_copy(update={"rules": tuple(rules[:count])})


def _sink(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _median(frame: DataFrame) -> float:
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        _sink(frame)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)
