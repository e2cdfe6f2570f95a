"""A small world for tests of the pipeline: a project on disk, a source to fill, and questions about what came out."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lazaretto as lz
from lazaretto.config.project import load_project
from lazaretto.pipeline.api import open_project_store
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

    def run(self, **options: Any) -> lz.RunResult:
        return lz.run(self.suite(), self.spark, **options)

    def rows(self, table: str = "silver.orders") -> list[Any]:
        if not (Path(self.path(table)) / "_delta_log").exists():
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

    def commits(self, table: str = "silver.orders") -> int:
        return len(list((Path(self.path(table)) / "_delta_log").glob("*.json")))

    def store(self) -> Store:
        return open_project_store(load_project(self.root), None)

    def nothing_lost_or_doubled(self, expected: list[int]) -> None:
        """Every input row is in exactly one place."""
        found = Counter(self.ids()) + Counter(self.quarantined_ids())
        assert found == Counter(expected), found - Counter(expected)
        assert not self.open_seals()
