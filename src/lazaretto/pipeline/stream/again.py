"""The stretch of a stream that a held batch took, read once more: for `lazaretto held release --reevaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from lazaretto.model.seal import SealedSource, SealedStream
from lazaretto.model.suite import Suite
from lazaretto.pipeline.sources import SourceError, Taken
from lazaretto.pipeline.stream.kafka import KafkaFeed
from lazaretto.pipeline.stream.landing import LandingFeed
from lazaretto.pipeline.stream.messages import POSITION, read_messages
from lazaretto.pipeline.taken_files import taken_before

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def versions_of(taken: SealedSource, stream: SealedStream) -> tuple[int | None, int]:
    """The versions of a Delta table that a stretch is, if it is whole ones: the last before it, and its last."""
    ends = [json.loads(offset) for offset in (stream.start, stream.end) if offset is not None]
    if any(int(end["index"]) > -1 for end in ends):
        raise SourceError(
            f"the batch took a part of a version of {taken.name}, which cannot be read again by itself; release it as "
            "it was judged, or discard it"
        )
    since = int(ends[0]["reservoirVersion"]) - 1 if stream.start is not None else None
    return since, int(ends[-1]["reservoirVersion"]) - 1


def file_again(spark: SparkSession, suite: Suite, taken: SealedSource, target: str) -> Taken:
    """A file drop, looked at by today's settings, if it is still the same. Its twin stays a twin."""
    if suite.source is None or suite.source.format != "landing":
        raise SourceError(f"{taken.name} came into a landing folder, and the suite {suite.suite} has none any more")
    feed, path = LandingFeed.of(spark, suite, suite.source), Path(str(taken.path))
    others = taken_before(spark, target, suite) - set(taken.files)
    if not path.is_file() or (arrived := feed.gate.look(path, others)).mark not in taken.files:
        raise SourceError(f"the file {taken.name} is gone or was changed: what the batch took is not there any more")
    return feed.taken(arrived)


def messages_again(spark: SparkSession, suite: Suite, taken: SealedSource, stream: SealedStream) -> Taken:
    """The messages between the offsets, if the topics still have them."""
    assert suite.source is not None
    feed = KafkaFeed.of(spark, suite, suite.source, None)
    if ",".join(topic.id for topic in feed.topics) != taken.table_id:
        raise SourceError(f"the topics {taken.name} were made anew: what the batch took is not there any more")
    reader = spark.read.format("kafka").options(**feed.options).option("includeHeaders", "true")
    reader = reader.option("startingOffsets", stream.start or "earliest").option("endingOffsets", stream.end)
    # It says nothing of how far the topics were taken, and where it may be found if it is held once more.
    same = stream.model_copy(update={"marks": ()})
    again = taken.model_copy(update={"suite_app": None, "references": {}, "stream": same})
    return Taken(read_messages(reader.load(), suite.source), again, carried=(POSITION,), position=POSITION)
