"""File drops: each file that has arrived is one batch; one that is not what it says is held whole, with the reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lazaretto.checks import sql
from lazaretto.checks.structure import BuiltInFile
from lazaretto.engine.plan import CORRUPT_RECORD, RAW_VALUE
from lazaretto.model.run import RunResult
from lazaretto.model.seal import SealedSource
from lazaretto.model.suite import Source, Suite
from lazaretto.pipeline.batch import run_batch
from lazaretto.pipeline.order import Clock
from lazaretto.pipeline.sources import FILE_COLUMN, SourceError, Taken, anchored
from lazaretto.pipeline.stream.arrival import Arrived, Gate
from lazaretto.pipeline.stream.flow import verdict, watched
from lazaretto.pipeline.taken_files import taken_before
from lazaretto.spark.files import is_local, local

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lazaretto.pipeline.stream.query import Microbatches

_PAUSE = 1.0
"""Seconds between two looks at the folder, where the suite does not say."""


@dataclass
class LandingFeed:
    """A folder of file drops on this machine."""

    spark: SparkSession
    suite: Suite
    source: Source
    gate: Gate
    waiting: int = 0
    unit = "files"

    @classmethod
    def of(cls, spark: SparkSession, suite: Suite, source: Source) -> LandingFeed:
        """The source of a suite, as it is now."""
        path = anchored(str(source.path), suite)
        if not is_local(path) or not local(path).is_dir():
            raise SourceError(f"the landing folder {path} does not exist (it has to be on this machine)")
        if source.schema_ is None:
            raise SourceError(f"the landing source of {suite.suite} needs the `schema` of its files declared")
        columns = tuple(spark.createDataFrame([], source.schema_).schema.fieldNames())
        return cls(spark, suite, source, Gate(local(path), source.landing, columns))

    @property
    def name(self) -> str:
        """The folder as the suite calls it."""
        return self.source.name

    def behind(self, _: str) -> int:
        """Files that have arrived and are not taken yet."""
        return self.waiting

    def taken(self, arrived: Arrived) -> Taken:
        """One file, ready to be judged."""
        source = SealedSource(name=arrived.path.name, kind="landing", path=str(arrived.path), files=(arrived.mark,))
        return Taken(
            self._lines(arrived) if arrived.readable else self._bytes(arrived),
            source,
            carried=(FILE_COLUMN,),
            position=FILE_COLUMN,
            demands=(verdict(self.suite, BuiltInFile, arrived.fault),),
            rows=arrived.rows if arrived.fault is None else None,
        )

    def _lines(self, arrived: Arrived) -> DataFrame:
        landing, schema = self.source.landing, f"{self.source.schema_}, {CORRUPT_RECORD} STRING"
        text = self.spark.read.text(_literal(arrived.path)).where("trim(value) <> ''")
        for line in arrived.not_data:
            text = text.where(f"value <> {sql.text(line)}")
        options = f"'mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{CORRUPT_RECORD}'"
        if landing.of == "csv":
            options += f", 'sep', {sql.text(landing.separator)}"
        parsed = f"from_{landing.of}(value, {sql.text(schema)}, map({options}))"
        step = text.selectExpr("value", f"{parsed} AS lz_row", f"_metadata.file_path AS {FILE_COLUMN}")
        columns = [f"lz_row.{sql.identifier(name)}" for name in self.gate.columns]
        bad = f"lz_row IS NULL OR lz_row.{CORRUPT_RECORD} IS NOT NULL"
        if landing.of == "json":
            bad += " OR substring(ltrim(value), 1, 1) <> '{'"
        return step.selectExpr(*columns, f"CASE WHEN {bad} THEN value END AS {CORRUPT_RECORD}", FILE_COLUMN)

    def _bytes(self, arrived: Arrived) -> DataFrame:
        """A file that cannot be read, as one row with all its bytes."""
        whole = self.spark.read.format("binaryFile").load(_literal(arrived.path))
        shape = self.spark.createDataFrame([], self.source.schema_ or "").schema
        columns = [f"cast(NULL as {f.dataType.simpleString()}) AS {sql.identifier(f.name)}" for f in shape]
        return whole.selectExpr(
            *columns,
            f"'(a file that cannot be read)' AS {CORRUPT_RECORD}",
            f"content AS {RAW_VALUE}",
            f"path AS {FILE_COLUMN}",
        )


def _literal(path: Path) -> str:
    """A path of which Spark takes no character for a pattern."""
    return re.sub(r"([\\[\]{}*?])", r"\\\1", str(path))


def take_files(micro: Microbatches, feed: LandingFeed, told: Callable[[RunResult, str], None], *, once: bool) -> None:
    """One batch for each file that has arrived, until there is none (once) or until asked to stop."""
    pause = micro.suite.stream.every.total_seconds() or _PAUSE
    lists: dict[str, tuple[str, ...]] = {}
    while not micro.stop.is_set():
        marks = taken_before(micro.bench.spark, micro.path, micro.suite, lists)
        waiting = [a for path in feed.gate.complete() if (a := feed.gate.look(path, marks)).mark not in marks]
        feed.waiting = len(waiting)
        for arrived in waiting:
            if micro.watch is not None:
                micro.watch.before_batch(micro.stop)
            if micro.stop.is_set():
                return
            if micro.reload is not None:
                micro.suite = feed.suite = micro.reload(micro.suite)
            judged = feed.gate.look(arrived.path, marks)  # one of the batches before may have been the same file
            feed.waiting -= 1
            taken = watched(feed.taken(judged), micro.suite, micro.watch, lambda: feed.waiting)
            order = replace(micro.order, run_id=f"{micro.order.run_id}/{arrived.content[:12]}", taken=taken)
            result = run_batch(micro.bench, micro.suite, order, None, Clock())
            marks.add(judged.mark)
            micro.done += 1
            told(result, "")
        if micro.recycle is not None:
            micro.recycle(micro.suite)
        if once and not waiting:
            return
        if not once or not waiting:
            micro.stop.wait(pause)
