"""What `lazaretto doctor --stream` looks at: the stream's options, checkpoint, rivals, and what its source forgets."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from lazaretto.config.project import Project, load_project
from lazaretto.model.errors import LazarettoError
from lazaretto.model.suite import Suite
from lazaretto.model.units import duration_words
from lazaretto.pipeline.places import Places
from lazaretto.pipeline.stream.api import checkpoint_path, feed_from
from lazaretto.pipeline.stream.checkpoint import Checkpoint, Torn
from lazaretto.pipeline.stream.delta import DeltaFeed
from lazaretto.pipeline.stream.feed import Feed, Marks
from lazaretto.pipeline.stream.kafka import KafkaFeed
from lazaretto.pipeline.stream.landing import LandingFeed
from lazaretto.pipeline.stream.prepare import disagreement
from lazaretto.spark.commits import commit
from lazaretto.spark.delta_log import DeltaLogs
from lazaretto.spark.doctor import Diagnosis
from lazaretto.spark.files import Files
from lazaretto.spark.lock import AssetBusy, table_lock
from lazaretto.spark.publisher import is_locked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RETENTIONS = {
    "delta.logRetentionDuration": timedelta(days=30),
    "delta.deletedFileRetentionDuration": timedelta(days=7),
}
_INTERVAL = re.compile(r"(?:interval\s+)?(\d+)\s+(hour|day|week)s?", re.IGNORECASE)


def examine_stream(
    spark: SparkSession, suite: Suite, env: str | None = None, project: Project | None = None
) -> Iterator[Diagnosis]:
    """One diagnosis after the other; nothing is changed."""
    home = project or load_project(suite.project_root and Path(suite.project_root), env or suite.environment)
    env = env or suite.environment
    places = Places.of(home)
    try:
        feed = feed_from(spark, suite, env, places)
    except LazarettoError as error:
        yield Diagnosis("source", False, str(error), "Mend the suite's `source:`")
        return
    yield Diagnosis("source", True, f"{feed.name} can be streamed")
    if isinstance(feed, LandingFeed):
        return
    path, logs = places.asset(spark, suite), DeltaLogs(spark)
    if logs.exists(path) and is_locked(logs, path):
        yield Diagnosis("asset", False, f"{suite.asset} is locked by FAIL_CLOSED", "See: lazaretto held list")
    reached = feed.reached(logs, path)
    checkpoint = Checkpoint(Files(spark), checkpoint_path(home, suite, env))
    yield _instance(spark, checkpoint)
    yield _checkpoint(checkpoint, feed, reached)
    if reached:
        yield _retention(spark, feed, reached)


def _instance(spark: SparkSession, checkpoint: Checkpoint) -> Diagnosis:
    if not checkpoint.files.exists(checkpoint.path):
        return Diagnosis("instance", True, "none runs")
    try:
        with table_lock(spark, checkpoint.path, wait=0):
            return Diagnosis("instance", True, "none runs")
    except AssetBusy:
        return Diagnosis("instance", True, "one runs at this moment; a second one would be refused")


def _checkpoint(checkpoint: Checkpoint, feed: Feed, reached: Marks) -> Diagnosis:
    anew = "Nothing to do: the next start writes it anew from the target's log"
    try:
        seen = checkpoint.look()
    except Torn as torn:
        return Diagnosis("checkpoint", False, f"{checkpoint.path} is torn: {torn}", anew)
    if seen is None:
        return Diagnosis("checkpoint", True, "there is none yet" if not reached else "lost; the next start writes one")
    if (why := disagreement(checkpoint, feed, reached)) is not None:
        return Diagnosis("checkpoint", False, f"{checkpoint.path}: {why} than the target's log", anew)
    return Diagnosis("checkpoint", True, f"agrees with the target's log at batch {checkpoint.last()}")


def _retention(spark: SparkSession, feed: Feed, reached: Marks) -> Diagnosis:
    if isinstance(feed, DeltaFeed):
        return _retention_of_a_table(spark, feed, reached)
    if isinstance(feed, KafkaFeed):
        return _retention_of_topics(feed, reached)
    return Diagnosis("retention", True, "files stay until somebody removes them")


def _retention_of_a_table(spark: SparkSession, feed: DeltaFeed, reached: Marks) -> Diagnosis:
    facts = DeltaLogs(spark).facts(feed.path)
    kept = min(_interval(facts.configuration.get(name), usual) for name, usual in _RETENTIONS.items())
    following = int(json.loads(feed.offset(reached))["reservoirVersion"])
    if following > facts.version:
        return Diagnosis("retention", True, f"nothing waits; the source keeps {duration_words(kept)}")
    waiting = commit(Files(spark), feed.path, following)
    if waiting is None:
        return Diagnosis(
            "retention",
            False,
            f"version {following} of {feed.name} was cleaned away before it was taken",
            "Take the source from its beginning with --reprocess, and let it keep its history longer",
        )
    lag = timedelta(seconds=max(0.0, time.time() - waiting.at / 1000))
    detail = f"the oldest version that waits is {duration_words(lag)} old; the source keeps {duration_words(kept)}"
    if lag * 2 > kept:
        return Diagnosis(
            "retention", False, detail, "Start the stream, or raise the source's retention (TBLPROPERTIES)"
        )
    return Diagnosis("retention", True, detail)


def _retention_of_topics(feed: KafkaFeed, reached: Marks) -> Diagnosis:
    gone = sum(max(0, first - reached.get(app, first)) for app, first in feed.first_kept().items())
    if gone:
        return Diagnosis(
            "retention",
            False,
            f"{gone:,} messages of {feed.name} expired before they were taken",
            "They are lost in Kafka. Take what is left with --reprocess, and raise retention.ms",
        )
    return Diagnosis(
        "retention",
        True,
        f"no message expired before it was taken; lag {feed.behind(feed.offset(reached)):,} {feed.unit}",
    )


def _interval(text: str | None, usual: timedelta) -> timedelta:
    """Delta's `interval 30 days`."""
    if text is None or (read := _INTERVAL.search(text)) is None:
        return usual
    return timedelta(**{f"{read.group(2).lower()}s": int(read.group(1))})
