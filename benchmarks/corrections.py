"""What automatic correction costs: 100k open records tried, judged and changed, against a plain rewrite of them.

(a) rewrite: read the records, write them to another Delta table. (b) one statement: the same change as a plain MERGE,
without judging anything. (c) correct: decode, correct, judge by all rules, one guarded MERGE, evidence.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

import lazaretto as lz
from lazaretto.config.project import load_project
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.control import open_project_store
from lazaretto.pipeline.corrections import chosen, correct, corrections_of
from lazaretto.pipeline.person import here
from lazaretto.spark import session

REPEATS = 3
SUITE = """
suite: orders
version: 1.0.0
asset: silver.orders
owner: bench
source: {format: delta, table: bronze.orders}
target: {create: false}
quarantine_batch_above: 100%
rules:
  - {id: id_given, check: not_null, column: id}
  - {id: country_known, check: allowed_values, column: country, allowed: [DE, FR, AE]}
  - {id: note_short, check: length, column: note, max: 200}
  - {id: amount_positive, check: custom_sql, expression: "try_cast(amount AS decimal(18,2)) > 0", on_null: pass}
"""
CORRECTIONS = r"""
asset: silver.orders
version: 1.0.0
owner: bench
corrections:
  - id: currency_sign
    match: {rules: [lz.castable, amount_positive]}
    transformations:
      - {transform: regex_extract, column: amount, pattern: '-?[0-9][0-9,]*(\.[0-9]+)?'}
      - {transform: replace, column: amount, find: ',', with: ''}
      - {transform: cast, column: amount, type: 'decimal(18,2)'}
  - id: country
    match: {rules: [country_known]}
    transformations:
      - {transform: trim, column: country}
      - {transform: case, column: country, to: upper}
"""


def main(sizes: list[int] | None = None) -> None:
    """Measure and print one table."""
    print(f"\ncorrections: 2 corrections, 5 steps, medians of {REPEATS}, seconds")
    print(f"{'records':>10} {'rewrite':>8} {'merge':>7} {'correct':>8} {'correct/rewrite':>16} {'correct/merge':>14}")
    for size in sizes or [100_000]:
        with tempfile.TemporaryDirectory(prefix="lazaretto-bench-") as scratch:
            spark = session(app_name="lazaretto-bench", warehouse=Path(scratch) / "warehouse")
            rewrite, merge, all_of_it = _measured(spark, Path(scratch), size)
            ratios = f"{all_of_it / rewrite:>16.2f} {all_of_it / merge:>14.2f}"
            print(f"{size:>10,} {rewrite:>8.1f} {merge:>7.1f} {all_of_it:>8.1f} {ratios}", flush=True)
            spark.stop()


def _measured(spark: SparkSession, scratch: Path, size: int) -> tuple[float, float, float]:
    root = scratch / "project"
    _quarantine(spark, root, size)
    records = f"{root}/lake/quarantine/records"
    version = spark.sql(f"DESCRIBE HISTORY delta.`{records}` LIMIT 1").collect()[0]["version"]

    def put_back() -> None:
        spark.sql(f"RESTORE TABLE delta.`{records}` TO VERSION AS OF {version}")

    def rewrite() -> None:
        spark.read.format("delta").load(records).write.format("delta").save(f"{scratch}/copy")

    def merge() -> None:
        source = f"SELECT record_id AS id, parse_json('{{\"amount\": 1}}') AS c FROM delta.`{records}`"
        changed = "t.status = 'CORRECTED', t.correction = s.c"
        spark.sql(
            f"MERGE INTO delta.`{records}` t USING ({source}) s ON t.record_id = s.id "
            f"WHEN MATCHED THEN UPDATE SET {changed}"
        )

    def all_of_it() -> None:
        home = load_project(root)
        loaded = corrections_of(home, None)
        with open_project_store(home, None) as store:
            ones = chosen(loaded.corrections, None, None)["silver.orders"]
            done = correct(Bench.of(spark, home, store), "silver.orders", ones, loaded.suites, person=here())
        assert done.corrected == size, done

    plain = _median(rewrite, lambda: shutil.rmtree(f"{scratch}/copy", ignore_errors=True))
    return plain, _median(merge, put_back), _median(all_of_it, put_back)


def _quarantine(spark: SparkSession, root: Path, size: int) -> None:
    """A project whose quarantine holds so many records, each of which corrections can mend."""
    for name, text in (("suites", SUITE), ("corrections", CORRECTIONS)):
        (root / name).mkdir(parents=True)
        (root / name / "orders.yml").write_text(text)
    (root / "lazaretto.yml").write_text("project: bench\n")
    rows = spark.range(size).selectExpr(
        "id",
        "concat('$', format_number(id + 0.5, 2)) AS amount",
        "element_at(array('DE', ' fr', 'ae'), cast(id % 3 + 1 AS int)) AS country",
        "repeat('note ', cast(id % 10 AS int)) AS note",
    )
    rows.write.format("delta").save(f"{root}/lake/bronze/orders")
    columns = "id bigint, amount decimal(18,2), country string, note string"
    spark.sql(f"CREATE TABLE delta.`{root}/lake/silver/orders` ({columns}) USING delta")
    lz.run(lz.load_suite(root / "suites" / "orders.yml"), spark)


def _median(work: Callable[[], None], before: Callable[[], None]) -> float:
    seconds = []
    for _ in range(REPEATS):
        before()
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


if __name__ == "__main__":
    import sys

    main([int(size) for size in sys.argv[1:]] or None)
