"""A DataFrame and a suite → every row with its verdict, as one lazy plan."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lazaretto.checks import sql
from lazaretto.config.project import load_project
from lazaretto.engine import masks, references
from lazaretto.engine.plan import Instance, Plan, hit_column, plan
from lazaretto.engine.refused import without_refused
from lazaretto.model.errors import FrameError
from lazaretto.model.schema import TableSchema
from lazaretto.model.suite import Suite

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

HELPER_PREFIX = "lz_"
"""Columns beginning so are ours while rows are judged."""


@dataclass(frozen=True)
class Run:
    """Which run judges: what every result carries."""

    run_id: str
    now: str
    """SQL of the moment of the run."""
    source_table: str


@dataclass(frozen=True)
class Judged:
    """The rows with their verdict bits, and the plan that explains the bits. Nothing has run yet."""

    masked: DataFrame
    """The rows with their masks, one step before the bits."""
    plan: Plan
    schema: TableSchema
    schema_json: dict[str, Any]
    """The same as Spark writes it, with everything."""
    run: Run

    @cached_property
    def words(self) -> tuple[masks.Word, ...]:
        """The longs that hold the bits."""
        return masks.words_of(self.plan)

    @cached_property
    def frame(self) -> DataFrame:
        """The rows with their bits."""
        return self.with_bits()

    def with_bits(self, *more: Column) -> DataFrame:
        """The rows with their bits and, in the same step, further columns made from the row and its masks."""
        from pyspark.sql import functions as F

        words = self.words
        bits = [f"{masks.failed_sql(w)} AS {w.failed}" for w in words]
        bits += [f"{masks.errors_sql(w)} AS {w.errors}" for w in words]
        gone = [w.mask for w in words] + [hit_column(number) for number in range(len(self.plan.lookups))]
        return self.masked.select("*", *map(F.expr, bits), *more).drop(*gone)

    @property
    def source_columns(self) -> list[str]:
        """The columns the rows came with, quoted."""
        return [sql.identifier(name) for name in self.schema.names]


def judge(
    frame: DataFrame,
    suite: Suite,
    *,
    run_id: str | None = None,
    run_time: datetime | None = None,
    source_table: str | None = None,
    references_given: Mapping[str, DataFrame] | None = None,
    read: references.ReadReference | None = None,
    reserved: tuple[str, ...] = (),
    carried: tuple[str, ...] = (),
    demands: tuple[Instance, ...] = (),
    incompatible: str | None = None,
    with_denominators: bool = False,
) -> Judged:
    """Judge every row by every rule. Lazy.

    `reserved` are names the result will add, `carried` are helper columns of the frame that are not part of the
    row, `demands` adds what the target asks of a row, `incompatible` says why the rows cannot go to the target at
    all, and `with_denominators` keeps track of where rules apply.
    """
    whole = frame.schema.jsonValue()
    schema_json = whole | {"fields": [field for field in whole["fields"] if field["name"] not in carried]}
    schema = TableSchema.from_json(schema_json)
    _refuse_clashes(schema, reserved)
    moment = run_time or datetime.now(UTC)
    # A stream is planned once and runs for days: its clock has to tick.
    now = "current_timestamp()" if frame.isStreaming and run_time is None else literal_time(moment)
    laid_out = plan(suite, schema, now=now, today=moment.date(), incompatible=incompatible)
    laid_out = laid_out.and_also(demands)
    project = load_project(Path(suite.project_root), suite.environment) if suite.project_root else None
    lake = project.lake_root if project and not project.catalog else None
    read = read or references.reader(references_given or {}, lake, frame)
    limit = project.broadcast_below if project else references.DEFAULT_BROADCAST_BELOW
    joined, laid_out = references.join_all(frame, laid_out, schema, read, limit)
    laid_out = without_refused(joined, laid_out)
    source = source_table or (suite.source.name if suite.source else suite.asset)
    run = Run(run_id or str(uuid.uuid4()), now, source)
    return Judged(_with_masks(joined, laid_out, with_denominators), laid_out, schema, schema_json, run)


def literal_time(moment: datetime) -> str:
    """A point in time, whatever the session's time zone."""
    return f"timestamp_micros({int(moment.timestamp() * 1_000_000)}L)"


def _with_masks(frame: DataFrame, laid_out: Plan, with_denominators: bool) -> DataFrame:
    computed = []
    for word in masks.words_of(laid_out):
        computed.append(f"{masks.mask_sql(word)} AS {word.mask}")
        if with_denominators and (applies := masks.applies_sql(word)):
            computed.append(f"{applies} AS {word.applies}")
    return frame.selectExpr("*", *computed)


def _refuse_clashes(schema: TableSchema, reserved: tuple[str, ...]) -> None:
    folded = [name.casefold() for name in schema.names]
    if twice := sorted({name for name in schema.names if folded.count(name.casefold()) > 1}):
        raise FrameError(f"the frame has the column {twice[0]!r} twice; rename one of them")
    for name in schema.names:
        if name.casefold() in {r.casefold() for r in reserved}:
            raise FrameError(f"the frame already has a column {name!r}, which the result adds; rename it")
        if "${" in name:  # Spark would put a variable's value in its place, before it even parses the name
            raise FrameError(f"the column {name!r} has '${{' in its name, which Spark substitutes; rename it")
        if name.casefold().startswith(HELPER_PREFIX):
            raise FrameError(f"the column {name!r} begins with {HELPER_PREFIX!r}, which is reserved; rename it")
