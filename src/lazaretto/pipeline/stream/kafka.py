"""Kafka topics as a stream: JSON with a declared schema; whatever cannot be read is kept as the bytes that came."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from lazaretto.config.secrets import revealed
from lazaretto.model.seal import SealedSource, SealedStream
from lazaretto.model.suite import Source, Suite
from lazaretto.pipeline.sources import SourceError, Taken, stream_app, suite_app
from lazaretto.pipeline.stream.checkpoint import Span
from lazaretto.pipeline.stream.feed import Marks, found, sealed_marks
from lazaretto.pipeline.stream.messages import POSITION, read_messages
from lazaretto.spark.delta_log import DeltaLogs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PREFIX = "kafka."
_PATIENCE = 30
"""Seconds for the brokers to answer."""


@dataclass(frozen=True)
class Topic:
    """A topic as the brokers know it: made anew, it has another id."""

    name: str
    id: str
    partitions: tuple[int, ...]


@dataclass(frozen=True)
class KafkaFeed:
    """Topics of one cluster."""

    spark: SparkSession
    suite: Suite
    env: str | None
    source: Source
    topics: tuple[Topic, ...]
    limit: int | None = None
    options: dict[str, str] = field(default_factory=dict, repr=False)
    unit = "messages"

    @classmethod
    def of(cls, spark: SparkSession, suite: Suite, source: Source, env: str | None) -> KafkaFeed:
        """The source of a suite, as it is now."""
        options = revealed(source.options)
        for wanted in ("kafka.bootstrap.servers", "subscribe"):
            if wanted not in options:
                raise SourceError(f"the Kafka source of {suite.suite} needs the option `{wanted}`")
        if source.schema_ is None:
            raise SourceError(f"the Kafka source of {suite.suite} needs the `schema` of its messages declared")
        names = [name.strip() for name in options["subscribe"].split(",")]
        return cls(spark, suite, env, source, _topics(spark, options, names), suite.stream.limit, options)

    @property
    def name(self) -> str:
        """The topics."""
        return self.source.name

    @cached_property
    def _apps(self) -> dict[tuple[str, int], str]:
        return {
            (topic.name, partition): f"{stream_app(self.suite, self.env, topic.id)}:{partition}"
            for topic in self.topics
            for partition in topic.partitions
        }

    def frame(self) -> DataFrame:
        """The messages as Spark streams them; they are read as rows batch by batch."""
        reader = self.spark.readStream.format("kafka").option("startingOffsets", "earliest").options(**self.options)
        reader = reader.option("includeHeaders", "true").option("failOnDataLoss", "true")
        if self.limit:
            reader = reader.option("maxOffsetsPerTrigger", self.limit)
        return reader.load()

    def taken(self, frame: DataFrame, span: Span, query_id: str, batch: int) -> Taken:
        """A micro-batch, ready to be judged."""
        stream = SealedStream(
            query_id=query_id,
            batch=batch,
            start=span.start,
            end=span.end,
            shown=f"from {_shown(span.start)} to {_shown(span.end)}",
            marks=sealed_marks(self.marks(span.start), self.marks(span.end)),
        )
        source = SealedSource(
            name=self.name,
            kind="kafka",
            table_id=",".join(topic.id for topic in self.topics),
            suite_app=suite_app(self.suite, self.env),
            stream=stream,
        )
        return Taken(read_messages(frame, self.source), source, carried=(POSITION,), position=POSITION)

    def knows(self, offset: str) -> bool:
        """Whether an offset is of these topics. Their ids are not in it: those are in the target's log."""
        return set(json.loads(offset)) <= {topic.name for topic in self.topics}

    def marks(self, offset: str | None) -> Marks:
        """The next offset of each partition."""
        read = json.loads(offset) if offset else {}
        return {
            app: int(read[topic][str(partition)])
            for (topic, partition), app in self._apps.items()
            if str(partition) in read.get(topic, {})
        }

    def reached(self, logs: DeltaLogs, target: str) -> Marks:
        """How far the suite's stream has taken each partition."""
        return found(logs, target, list(self._apps.values()))

    def offset(self, marks: Marks) -> str:
        """Spark's offset; partitions that are new since then begin at their beginning."""
        offsets: dict[str, dict[str, int]] = {}
        for (topic, partition), app in self._apps.items():
            if app in marks:
                offsets.setdefault(topic, {})[str(partition)] = marks[app]
        return json.dumps(offsets, separators=(",", ":"))

    def first_kept(self) -> Marks:
        """The first offset that each partition still has."""
        first = _ends(self.spark, self.options, list(self._apps), earliest=True)
        return {self._apps[place]: offset for place, offset in first.items()}

    def behind(self, offset: str) -> int:
        """Messages that are not taken yet."""
        taken = self.marks(offset)
        ends = _ends(self.spark, self.options, list(self._apps))
        return sum(max(0, end - taken.get(self._apps[place], 0)) for place, end in ends.items())


def _topics(spark: SparkSession, options: dict[str, str], names: list[str]) -> tuple[Topic, ...]:
    with _Admin(spark, options) as admin:
        described = admin.ask(admin.client.describeTopics(admin.listed(names)).allTopicNames(), names)
        return tuple(
            Topic(
                name,
                str(described[name].topicId()),
                tuple(sorted(part.partition() for part in described[name].partitions())),
            )
            for name in sorted(names)
        )


def _ends(
    spark: SparkSession, options: dict[str, str], places: list[tuple[str, int]], *, earliest: bool = False
) -> dict[tuple[str, int], int]:
    with _Admin(spark, options) as admin:
        common, clients = admin.jvm.org.apache.kafka.common, admin.jvm.org.apache.kafka.clients.admin
        wanted = admin.jvm.java.util.HashMap()
        keys = {place: common.TopicPartition(*place) for place in places}
        for key in keys.values():
            wanted.put(key, clients.OffsetSpec.earliest() if earliest else clients.OffsetSpec.latest())
        answer = admin.ask(admin.client.listOffsets(wanted).all(), [topic for topic, _ in places])
        return {place: int(answer[key].offset()) for place, key in keys.items()}


class _Admin:
    """Kafka's own administration client, for the time of one question."""

    def __init__(self, spark: SparkSession, options: dict[str, str]) -> None:
        self.jvm = cast(Any, spark._jvm)
        properties = self.jvm.java.util.Properties()
        for name, value in options.items():
            if name.startswith(_PREFIX):
                properties.put(name.removeprefix(_PREFIX), value)
        self._servers = options["kafka.bootstrap.servers"]
        self.client: Any = self.jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)

    def __enter__(self) -> _Admin:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close(self.jvm.java.time.Duration.ofSeconds(1))

    def listed(self, names: list[str]) -> Any:
        """A Java list."""
        found = self.jvm.java.util.ArrayList()
        for name in names:
            found.add(name)
        return found

    def ask(self, future: Any, names: list[str]) -> Any:
        """What the brokers answer."""
        from py4j.protocol import Py4JJavaError

        try:
            return future.get(_PATIENCE, self.jvm.java.util.concurrent.TimeUnit.SECONDS)
        except Py4JJavaError as error:
            if "UnknownTopicOrPartition" in str(error.java_exception):
                raise SourceError(f"there is no topic {', '.join(sorted(set(names)))} at {self._servers}") from None
            raise BrokerSilent(f"no answer from Kafka at {self._servers}; is it running?") from None


class BrokerSilent(SourceError):
    """The brokers do not answer: try again when they do."""


def _shown(offset: str | None) -> str:
    if offset is None:
        return "the beginning"
    read = json.loads(offset)
    return ", ".join(f"{topic} {place}@{at}" for topic, parts in sorted(read.items()) for place, at in parts.items())
