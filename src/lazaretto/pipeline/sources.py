"""What a run takes from its source, and how that is named, so that nothing is taken twice and nothing left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lazaretto.checks import sql
from lazaretto.config.secrets import revealed
from lazaretto.engine.events import Events
from lazaretto.engine.plan import Instance
from lazaretto.model.errors import LazarettoError
from lazaretto.model.fingerprint import sha256
from lazaretto.model.results import Flow
from lazaretto.model.seal import SealedSource
from lazaretto.model.suite import Source, Suite
from lazaretto.model.words import WriteMode
from lazaretto.pipeline.places import Places
from lazaretto.pipeline.taken_files import taken_before
from lazaretto.spark.files import Files, is_local, local
from lazaretto.spark.logs import Logs, logs_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

FILE_COLUMN = "lz_source_file"
RECORD, ATTEMPT, ORIGINAL_RUN, REFUSED = "lz_record_id", "lz_attempt", "lz_original_run", "lz_refused"
"""What corrected rows carry."""


class SourceError(LazarettoError):
    """The source cannot be taken as asked; the message says what to do instead."""


@dataclass(frozen=True)
class Slice:
    """Which part of the source a run is about."""

    where: str | None = None
    partition: tuple[tuple[str, str], ...] = ()
    as_of: str | None = None
    again: str | None = None
    """A label that makes the same input another batch on purpose."""

    def described(self) -> dict[str, str]:
        """For the identity of the batch and for the seal."""
        named = {"where": self.where, "again": self.again}
        return {k: v for k, v in named.items() if v} | {f"partition.{k}": v for k, v in self.partition}

    def of(self, frame: DataFrame) -> DataFrame:
        """The rows of the slice."""
        if self.where:
            frame = frame.where(self.where)
        for column, value in self.partition:
            frame = frame.where(f"cast({sql.identifier(column)} as string) <=> {sql.text(value)}")
        return frame


@dataclass(frozen=True)
class Stood:
    """How a stream stood when a micro-batch was begun, and what to measure of it."""

    recover_after: int = 1
    """The asset's state gets better only after so many good batches."""
    lag: int | None = None
    events: Events | None = None
    """What to compare the events' times with, if anybody wants to know."""

    def flow(self, observed: Mapping[str, int], now: datetime) -> Flow:
        """With what the one write counted."""
        found = self.events.flow(observed, now) if self.events is not None else Flow()
        return found.model_copy(update={"lag": self.lag})


@dataclass(frozen=True)
class Taken:
    """Rows to be judged, and what they are called."""

    frame: DataFrame | None
    """None: there is nothing new."""
    source: SealedSource
    carried: tuple[str, ...] = ()
    position: str = "cast(NULL as string)"
    demands: tuple[Instance, ...] = ()
    """What is known of the batch before its rows are read."""
    rows: int | None = None
    """How many rows it has to have."""
    stood: Stood | None = None
    """Of a micro-batch: how its stream stood."""


def progress_app(suite: Suite, env: str | None, table_id: str) -> str:
    """Under this id the target's log remembers how far a suite has taken a source."""
    return f"lazaretto:source:{sha256([suite.suite, env, table_id])[:32]}"


def stream_app(suite: Suite, env: str | None, source_id: str) -> str:
    """Under this id the target's log remembers how far a suite's stream has taken a source."""
    return f"lazaretto:stream:{sha256([suite.suite, env, source_id])[:32]}"


def delta_path(spark: SparkSession, suite: Suite, source: Source, places: Places) -> str:
    """Where a Delta source is."""
    return anchored(source.path, suite) if source.path else places.located(spark, str(source.table))


def take_frame(frame: DataFrame, suite: Suite, run_id: str) -> Taken:
    """A frame the caller brought: one batch named by its run."""
    name = suite.source.name if suite.source else f"frame of run {run_id}"
    return Taken(frame, SealedSource(name=name, kind="frame"))


def take(
    spark: SparkSession,
    suite: Suite,
    env: str | None,
    places: Places,
    target: str,
    chosen: Slice,
    *,
    reprocess: bool,
) -> Taken:
    """What is new in the suite's source since its last batch (or the whole slice, if the suite replaces)."""
    source = suite.source
    if source is None:
        raise SourceError(f"the suite {suite.suite} names no source: add `source:`, or give run() a DataFrame")
    if source.format == "delta":
        return _take_delta(spark, suite, source, env, places, target, chosen, reprocess)
    if source.format in ("parquet", "csv", "json"):
        return _take_files(spark, suite, source, target, chosen)
    raise SourceError(f"a {source.format} source is read by `lazaretto stream`, not by `lazaretto run`")


def _take_delta(
    spark: SparkSession,
    suite: Suite,
    source: Source,
    env: str | None,
    places: Places,
    target: str,
    chosen: Slice,
    reprocess: bool,
) -> Taken:
    logs = logs_of(spark)
    path = delta_path(spark, suite, source, places)
    if not logs.exists(path):
        raise SourceError(f"the source {source.name} is not a Delta table (looked in {path})")
    facts = logs.facts(path)
    version = facts.version if chosen.as_of is None else _version_at(spark, path, chosen.as_of)
    app = progress_app(suite, env, facts.id)
    sealed = SealedSource(
        name=source.name, kind="delta", table_id=facts.id, version=version, progress_app=app, path=path
    )
    read = spark.read.format("delta").options(**revealed(source.options))
    if suite.write is not WriteMode.APPEND or chosen.again or chosen.where or chosen.partition:
        # A slice, or a repetition on purpose, says nothing of how far the source was taken.
        sealed = sealed.model_copy(update={"progress_app": None})
        return _located(read.option("versionAsOf", version).load(path), sealed)
    taken = logs.transaction_version(target, app) if logs.exists(target) else -1
    if logs.exists(target):
        _refuse_half_a_version(logs, suite, env, target, source, facts.id, taken)
    if taken < 0 and not reprocess and logs.exists(target):
        _refuse_recreated(logs, suite, env, target, source)
    if taken >= version and chosen.as_of is None:
        return Taken(None, sealed.model_copy(update={"since_version": taken}))
    if taken < 0:
        return _located(read.option("versionAsOf", version).load(path), sealed)
    sealed = sealed.model_copy(update={"since_version": taken})
    return _located(_appended_between(spark, path, source.name, taken, version), sealed)


def _refuse_recreated(logs: Logs, suite: Suite, env: str | None, target: str, source: Source) -> None:
    """A source of the same name with another id is another source: taking it whole could double every row."""
    if logs.transaction_version(target, suite_app(suite, env)) >= 0:
        raise SourceError(
            f"the source {source.name} is not the table this suite took before (it was dropped and made anew); "
            "run with --reprocess to take it from its beginning"
        )


def _refuse_half_a_version(
    logs: Logs, suite: Suite, env: str | None, target: str, source: Source, table_id: str, taken: int
) -> None:
    """A stream with a limit can stop in the middle of a version; only a stream can go on from there."""
    mark = logs.transaction_version(target, stream_app(suite, env, table_id))
    if mark > (taken + 1) << 24:
        raise SourceError(
            f"a stream of {suite.suite} stopped in the middle of a version of {source.name}: let "
            f"`lazaretto stream {suite.suite} --once` finish it"
        )


def suite_app(suite: Suite, env: str | None) -> str:
    """Under this id the target's log remembers that a suite has taken a Delta source at all."""
    return f"lazaretto:suite:{sha256([suite.suite, env])[:32]}"


def _appended_between(spark: SparkSession, path: str, name: str, since: int, until: int) -> DataFrame:
    """The rows that commits after `since` up to `until` appended; a source that changed rows is refused."""
    files = Files(spark)
    adds: list[dict[str, Any]] = []
    for version in range(since + 1, until + 1):
        text = files.read_text(f"{path}/_delta_log/{version:020d}.json")
        if text is None:
            raise SourceError(
                f"the log of {name} no longer holds version {version}: its history was cleaned before it was taken; "
                "take the whole table with `write: replace`, or with --again"
            )
        for line in text.splitlines():
            action = json.loads(line) if line.strip() else {}
            if action.get("remove", {}).get("dataChange"):
                raise SourceError(
                    f"version {version} of {name} updates, deletes or overwrites rows; `write: append` takes only "
                    "appended ones. Use `write: replace`, or point the suite at an append-only source"
                )
            if action.get("add", {}).get("dataChange"):
                adds.append(action["add"])
    return logs_of(spark).frame_of_files(path, adds)


def _version_at(spark: SparkSession, path: str, as_of: str) -> int:
    if as_of.isdigit():
        return int(as_of)
    history = spark.sql(f"DESCRIBE HISTORY delta.`{path}`").where(f"timestamp <= cast({sql.text(as_of)} as timestamp)")
    row = history.selectExpr("max(version)").first()
    if row is None or row[0] is None:
        raise SourceError(f"the source has no version as of {as_of}")
    return int(row[0])


def _take_files(spark: SparkSession, suite: Suite, source: Source, target: str, chosen: Slice) -> Taken:
    files = _listed(anchored(str(source.path), suite))
    if suite.write is WriteMode.APPEND and not chosen.again:
        seen = taken_before(spark, target, suite)
        files = {name: mark for name, mark in files.items() if f"{name}|{mark}" not in seen}
    marks = tuple(f"{name}|{mark}" for name, mark in sorted(files.items()))
    sealed = SealedSource(name=source.name, kind="files", files=marks)
    if not files:
        return Taken(None, sealed)
    return _located(_file_reader(spark, source).load(sorted(files)), sealed)


def _file_reader(spark: SparkSession, source: Source) -> DataFrameReader:
    reader = spark.read.format(source.format).options(**revealed(source.options))
    if source.format in ("csv", "json"):
        return (
            reader.schema(f"{source.schema_}, _corrupt_record STRING")
            .option("mode", "PERMISSIVE")
            .option("columnNameOfCorruptRecord", "_corrupt_record")
        )
    return reader.schema(source.schema_) if source.schema_ else reader


def take_again(spark: SparkSession, suite: Suite, taken: SealedSource, target: str) -> Taken:
    """What a batch of a target took once, if it is still there as it was. It says nothing of how far the source was
    taken."""
    source = suite.source
    again = taken.model_copy(update={"progress_app": None, "suite_app": None, "references": {}, "stream": None})
    if source is None or taken.kind == "frame":
        raise SourceError(f"{taken.name} was given by a program and is not kept: give it to run() again")
    if taken.kind == "files":
        gone = [mark for mark in taken.files if not _is_there(mark)]
        if gone:
            raise SourceError(f"{len(gone)} of {len(taken.files)} source files are gone or changed: {gone[0]}")
        return _located(_file_reader(spark, source).load([m.rpartition("|")[0] for m in taken.files]), again)
    if taken.kind == "landing" or taken.stream is not None:
        from lazaretto.pipeline.stream.again import file_again, messages_again, versions_of  # it builds on this module

        if taken.stream is None:
            return file_again(spark, suite, taken, target)
        if taken.kind == "kafka":
            return messages_again(spark, suite, taken, taken.stream)
        since, until = versions_of(taken, taken.stream)
        taken = taken.model_copy(update={"since_version": since, "version": until})
        again = again.model_copy(update={"since_version": since, "version": until})
    logs, path = logs_of(spark), str(taken.path)
    if not logs.exists(path) or logs.facts(path).id != taken.table_id:
        raise SourceError(
            f"the source {taken.name} is gone or was made anew: what the batch took is not there any more"
        )
    version = int(taken.version or 0)
    if taken.since_version is not None:
        return _located(_appended_between(spark, path, taken.name, taken.since_version, version), again)
    read = spark.read.format("delta").options(**revealed(source.options))
    return _located(read.option("versionAsOf", version).load(path), again)


def _is_there(mark: str) -> bool:
    name, _, known = mark.rpartition("|")
    return Path(name).is_file() and _listed(name).get(name) == known


def _listed(path: str) -> dict[str, str]:
    """Data files at a path with what tells a changed file: size and time of change."""
    if not is_local(path):
        raise SourceError(f"file sources are read from local folders only; put {path} behind a Delta table")
    root = local(path)
    if not root.exists():
        raise SourceError(f"the source folder {path} does not exist")
    found = [root] if root.is_file() else [f for f in root.rglob("*") if f.is_file()]
    visible = [f for f in found if not any(p.startswith((".", "_")) for p in f.relative_to(root.parent).parts[1:])]
    return {str(f): f"{f.stat().st_size}:{f.stat().st_mtime_ns}" for f in visible}


def _located(frame: DataFrame, sealed: SealedSource) -> Taken:
    """Remember which file a row came from, where Spark knows."""
    located = frame.selectExpr("*", f"_metadata.file_path AS {FILE_COLUMN}")
    return Taken(located, sealed, (FILE_COLUMN,), FILE_COLUMN)


def anchored(path: str, suite: Suite) -> str:
    """Relative paths are meant from the project's folder."""
    if "://" in path or Path(path).is_absolute() or suite.project_root is None:
        return path
    return str(Path(suite.project_root) / path)


def active() -> SparkSession:
    """The session that is there already."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise SourceError("a SparkSession is needed: pass spark=…, or build one with lazaretto.spark.session()")
    return session


def sliced(taken: Taken, chosen: Slice) -> Taken:
    """What of it the slice is about."""
    return taken if taken.frame is None else replace(taken, frame=chosen.of(taken.frame))
