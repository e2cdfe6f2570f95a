"""What the way back costs: recycling corrected records against running the same rows as a fresh batch.

(a) fresh: the rows from a Delta table through the gate. (b) recycle: the same rows as corrected records, from the
outbox to their outcome. (c) claim: 1,000 of the records, one commit.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import lazaretto as lz
from lazaretto.config.project import load_project
from lazaretto.demo import bank
from lazaretto.model.lifecycle import Step
from lazaretto.model.values import Threshold, parse_rate
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.control import open_project_store
from lazaretto.pipeline.review import act
from lazaretto.quarantine.transitions import Deed
from lazaretto.spark import session
from lazaretto.spark.delta_log import DeltaLogs


def main(records: int = 100_000) -> None:
    """Measure and print one table."""
    with tempfile.TemporaryDirectory(prefix="lazaretto-bench-") as scratch:
        root = Path(scratch) / "bank"
        with resources.as_file(resources.files("lazaretto.demo") / "project") as template:
            shutil.copytree(template, root)
        spark = session(app_name="lazaretto-bench", warehouse=Path(scratch) / "warehouse")
        suite = lz.load_suite(root / "suites" / "transactions.yml", env="dev")
        rules = tuple(r for r in suite.rules if r.id not in ("no_card_numbers", "account_known"))
        broken = lz.rule("custom_sql", id="never", expression="amount IS NULL AND amount IS NOT NULL")
        suite = suite.model_copy(update={"rules": rules})
        never_held = Threshold(parse_rate("100%").value, True)
        closed = suite.model_copy(
            update={"version": "0.0.1", "rules": (*rules, broken), "quarantine_batch_above": never_held}
        )
        source = root / "lake" / "bronze" / "transactions"
        shutil.rmtree(source, ignore_errors=True)
        bank.transactions(spark, records, 4).write.format("delta").save(str(source))

        def timed(work: Callable[[], object]) -> float:
            start = time.perf_counter()
            work()
            return time.perf_counter() - start

        lz.run(suite, spark, env="dev", again=True, run_id="warm")
        fresh = timed(lambda: lz.run(suite, spark, env="dev", again=True, run_id="fresh"))
        lz.run(closed, spark, env="dev", again=True, run_id="closed")
        home = load_project(root, "dev")
        with open_project_store(home, "dev") as store:
            bench = Bench.of(spark, home, store)
            table = spark.read.format("delta").load(bench.places.records)
            some = table.where("status = 'QUARANTINED'").select("record_id").limit(1000)
            some = spark.createDataFrame(some.collect(), some.schema)
            before = DeltaLogs(spark).facts(bench.places.records).version
            claim = timed(lambda: act(bench, some, Deed(Step.CLAIM, "bench")))
            commits = DeltaLogs(spark).facts(bench.places.records).version - before
            ours = table.where("status IN ('QUARANTINED', 'UNDER_REVIEW')").select("record_id")
            resubmit = timed(lambda: act(bench, ours, Deed(Step.RESUBMIT, "bench")))
        results: list[lz.RunResult] = []
        again = timed(lambda: results.extend(lz.recycle(suite, spark, env="dev")))
        sent = sum(result.counts.input for result in results)
        print(f"\nrecycle: {len(suite.rules)} rules, seconds")
        heads = f"{'fresh':>7} {'recycle':>8} {'ratio':>6} {'resubmit':>9}"
        print(f"{'records':>10} {heads}  claim of 1,000 (commits)")
        print(
            f"{sent:>10,} {fresh:>7.1f} {again:>8.1f} {again / fresh:>6.2f} {resubmit:>9.1f}  {claim:.1f} ({commits})"
        )
        phases = " ".join(f"{name} {seconds:.1f}" for name, seconds in results[-1].seconds.items())
        print(f"{'':>10} {phases}", flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
