"""A small world for tests of the pipeline: a project on disk, a source to fill, and questions about what came out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import lazaretto as lz
from lazaretto.config.project import Project, load_project
from lazaretto.pipeline import held
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.control import open_project_store
from lazaretto.pipeline.failpoints import FailpointReached
from lazaretto.pipeline.person import Person
from lazaretto.pipeline.places import Places
from lazaretto.pipeline.proof import Proof
from lazaretto.pipeline.reevaluate import reevaluate
from lazaretto.pipeline.verify import verify
from lazaretto.store import Store

SUITE = """
suite: orders
version: 1.0.0
asset: silver.orders
owner: sales
key: [id]
source: {format: delta, table: bronze.orders}
quarantine_batch_above: 90%
rules:
  - {id: amount_positive, check: range, column: amount, min: 0}
  - {id: name_given, check: not_empty, column: name, on_fail: warn}
  - {id: code_numeric, check: custom_sql, expression: cast(code AS int) > 0, on_null: pass,
     on_error: quarantine_records}
"""

SCHEMA = "id bigint, amount decimal(10,2), name string, code string"


def row(number: int, *, amount: str | None = "5.00", name: str | None = "x", code: str | None = "7") -> tuple[Any, ...]:
    """A row; good unless said otherwise."""
    from decimal import Decimal

    return (number, None if amount is None else Decimal(amount), name, code)


@dataclass
class World:
    """A project in a folder."""

    spark: Any
    root: Path

    @classmethod
    def create(cls, spark: Any, root: Path, suite: str = SUITE) -> World:
        (root / "suites").mkdir(parents=True, exist_ok=True)
        (root / "lazaretto.yml").write_text("project: test\nlake: ./lake\n")
        world = cls(spark, root)
        world.write_suite(suite)
        return world

    def write_suite(self, text: str) -> None:
        (self.root / "suites" / "orders.yml").write_text(text)

    def suite(self) -> lz.Suite:
        return lz.load_suite(self.root / "suites" / "orders.yml")

    def path(self, table: str) -> str:
        return str(self.root / "lake" / table.replace(".", "/"))

    def add(self, *rows: tuple[Any, ...], table: str = "bronze.orders", schema: str = SCHEMA) -> None:
        frame = self.spark.createDataFrame(list(rows), schema).coalesce(1)
        frame.write.format("delta").mode("append").save(self.path(table))

    def crash(self, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
        """A run that ends with an exception at this point."""
        with monkeypatch.context() as patch:
            patch.setenv("LAZARETTO_FAILPOINT", f"{point}:raise")
            with pytest.raises(FailpointReached):
                self.run(run_id="doomed")

    def sql(self, statement: str, table: str = "silver.orders") -> Any:
        """SQL on a table, as somebody else would run it; `{}` is the table."""
        return self.spark.sql(statement.format(f"delta.`{self.path(table)}`"))

    def run(self, **options: Any) -> lz.RunResult:
        return lz.run(self.suite(), self.spark, **options)

    def rows(self, table: str = "silver.orders") -> list[Any]:
        if not any((Path(self.path(table)) / "_delta_log").glob("*.json")):
            return []
        return self.spark.read.format("delta").load(self.path(table)).collect()

    def ids(self, table: str = "silver.orders") -> list[int]:
        return sorted(r.id for r in self.rows(table))

    def quarantined(self) -> list[Any]:
        return self.rows("quarantine.records")

    def quarantined_ids(self) -> list[int]:
        return sorted(json.loads(r.payload.toJson())["id"] for r in self.quarantined())

    def held_folders(self) -> list[str]:
        held = self.root / "lake" / "quarantine" / "held"
        return sorted(p.name for p in held.iterdir()) if held.exists() else []

    def open_seals(self) -> list[Path]:
        return list((self.root / "lake").glob("silver/*/lz-*/seal.json"))

    def waiting(self) -> dict[str, str]:
        """Held batches that wait: name of the source → batch."""
        with self.bench() as bench:
            return {h.seal.source.name: h.seal.batch_id for h in held.listing(bench.files, bench.places)}

    def judge_again(self, source: str | None = None) -> lz.RunResult:
        """Have a held batch (the one of this source) judged once more, under four eyes."""
        waiting = self.waiting()
        batch = waiting[source] if source else next(iter(waiting.values()))
        with self.bench() as bench:
            return reevaluate(bench, batch, self.suite(), Person("bob"), "mended", requested_by="ann")

    def commits(self, table: str = "silver.orders") -> int:
        return len(list((Path(self.path(table)) / "_delta_log").glob("*.json")))

    def project(self) -> Project:
        return load_project(self.root)

    def store(self) -> Store:
        return open_project_store(self.project(), None)

    @contextmanager
    def bench(self) -> Iterator[Bench]:
        """The tools that commands work with."""
        with self.store() as store:
            yield Bench(self.spark, Places.of(load_project(self.root)), store)

    def verify(self, table: str = "silver.orders") -> Proof:
        with self.bench() as bench:
            return verify(bench, {table: self.path(table)})[0]

    def proved(self, table: str = "silver.orders") -> None:
        proof = self.verify(table)
        assert proof.holds, [finding.problem for finding in proof.findings]

    def nothing_lost_or_doubled(self, expected: list[int]) -> None:
        """Every input row is in exactly one place."""
        found = Counter(self.ids()) + Counter(self.quarantined_ids())
        assert found == Counter(expected), found - Counter(expected)
        assert not self.open_seals()
