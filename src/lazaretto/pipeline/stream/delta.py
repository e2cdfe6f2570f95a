"""A Delta table as a stream. Its offsets (version, place in the version) are one number in the target's log."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lazaretto.config.secrets import revealed
from lazaretto.model.seal import SealedSource, SealedStream
from lazaretto.model.suite import Source, Suite
from lazaretto.pipeline.places import Places
from lazaretto.pipeline.sources import SourceError, Taken, delta_path, progress_app, stream_app, suite_app
from lazaretto.pipeline.stream.checkpoint import Span
from lazaretto.pipeline.stream.feed import Marks, found, sealed_marks
from lazaretto.spark.delta_log import DeltaLogs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PLACES = 24
"""Bits for the place inside a version: Delta counts its files there."""
BEGIN = -1
"""Delta's place before the first file of a version."""


def number(version: int, place: int, initial: bool) -> int:
    """An offset as one number that grows as the source is taken."""
    inside = (max(place, BEGIN) + 1) << 1 | initial
    if inside >> _PLACES:
        raise SourceError(
            f"version {version} of the source has more files than a stream can count; use `lazaretto run`"
        )
    return version << _PLACES | inside


def version_and_place(mark: int) -> tuple[int, int, bool]:
    """The offset that a number means."""
    inside = mark & ((1 << _PLACES) - 1)
    return mark >> _PLACES, (inside >> 1) - 1, bool(inside & 1)


@dataclass(frozen=True)
class DeltaFeed:
    """An append-only Delta table."""

    spark: SparkSession
    suite: Suite
    env: str | None
    name: str
    path: str
    table_id: str
    limit: int | None = None
    limit_bytes: int | None = None
    unit = "versions"

    @classmethod
    def of(cls, spark: SparkSession, suite: Suite, source: Source, env: str | None, places: Places) -> DeltaFeed:
        """The source of a suite, as it is now."""
        path = delta_path(spark, suite, source, places)
        if not DeltaLogs(spark).exists(path):
            raise SourceError(f"the source {source.name} is not a Delta table (looked in {path})")
        table_id = DeltaLogs(spark).facts(path).id
        stream = suite.stream
        return cls(spark, suite, env, source.name, path, table_id, stream.limit, stream.limit_bytes)

    @property
    def _apps(self) -> tuple[str, str]:
        return stream_app(self.suite, self.env, self.table_id), progress_app(self.suite, self.env, self.table_id)

    def frame(self) -> DataFrame:
        """The table as Spark streams it."""
        assert self.suite.source is not None
        reader = self.spark.readStream.format("delta").options(**revealed(self.suite.source.options))
        if self.limit:
            reader = reader.option("maxFilesPerTrigger", self.limit)
        if self.limit_bytes:
            reader = reader.option("maxBytesPerTrigger", self.limit_bytes)
        return reader.load(self.path)

    def taken(self, frame: DataFrame, span: Span, query_id: str, batch: int) -> Taken:
        """A micro-batch, ready to be judged."""
        since, until = self.marks(span.start), self.marks(span.end)
        run_app = self._apps[1]
        stream = SealedStream(
            query_id=query_id,
            batch=batch,
            start=span.start,
            end=span.end,
            shown=f"from {_shown(span.start)} to {_shown(span.end)}",
            marks=sealed_marks(since, until),
        )
        source = SealedSource(
            name=self.name,
            kind="delta",
            path=self.path,
            table_id=self.table_id,
            since_version=since.get(run_app),
            version=until.get(run_app),
            suite_app=suite_app(self.suite, self.env),
            stream=stream,
        )
        return Taken(frame, source)

    def knows(self, offset: str) -> bool:
        """Whether an offset is of this very table."""
        return bool(json.loads(offset).get("reservoirId") == self.table_id)

    def marks(self, offset: str | None) -> Marks:
        """The offset as one number; and the last version that is wholly taken, for `lazaretto run`."""
        if offset is None:
            return {}
        read = json.loads(offset)
        version, initial = int(read["reservoirVersion"]), bool(read["isStartingVersion"])
        stream, run = self._apps
        marks = {stream: number(version, int(read["index"]), initial)}
        return marks if initial or not version else marks | {run: version - 1}

    def reached(self, logs: DeltaLogs, target: str) -> Marks:
        """How far streams and runs of the suite have taken the table."""
        return found(logs, target, list(self._apps))

    def offset(self, marks: Marks) -> str:
        """Delta's offset."""
        stream, run = self._apps
        whole = number(marks[run] + 1, BEGIN, False) if run in marks else -1
        version, place, initial = version_and_place(max(marks.get(stream, -1), whole))
        return json.dumps(
            {
                "sourceVersion": 1,
                "reservoirId": self.table_id,
                "reservoirVersion": version,
                "index": place,
                "isStartingVersion": initial,
            },
            separators=(",", ":"),
        )

    def behind(self, offset: str) -> int:
        """Versions of the source that are not taken yet."""
        read = json.loads(offset)
        latest = DeltaLogs(self.spark).facts(self.path).version
        return max(0, latest - int(read["reservoirVersion"]) + 1)


def _shown(offset: str | None) -> str:
    if offset is None:
        return "the beginning"
    read = json.loads(offset)
    place = int(read["index"])
    version = read["reservoirVersion"]
    return f"version {version}" if place <= BEGIN else f"version {version} file {place + 1}"
