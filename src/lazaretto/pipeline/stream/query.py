"""One streaming query from start to end: each micro-batch is a batch; it is stopped between two, never in one."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lazaretto.model.run import RunResult
from lazaretto.model.suite import Suite
from lazaretto.pipeline import target as targets
from lazaretto.pipeline.batch import run_batch
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.failpoints import reach
from lazaretto.pipeline.order import Clock, Order
from lazaretto.pipeline.stream.checkpoint import Checkpoint
from lazaretto.pipeline.stream.feed import Feed
from lazaretto.pipeline.stream.flow import watched
from lazaretto.pipeline.stream.upkeep import compact
from lazaretto.pipeline.stream.windows import Watch
from lazaretto.spark.delta_log import DeltaLogs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_NOTING_TAKES = 10.0
"""Seconds that Spark may take to note a finished micro-batch before it is stopped all the same."""


_LOOKS = 10
"""Every so many looks at the query, corrected records are looked for."""


class Stopping(Exception):
    """The query is being stopped: the micro-batch that Spark has just planned is left for the next start."""


@dataclass
class Microbatches:
    """What Spark calls for every micro-batch."""

    bench: Bench
    suite: Suite
    order: Order
    feed: Feed
    checkpoint: Checkpoint
    path: str
    told: Callable[[RunResult, str], None]
    """Is told of each batch, and of the offset up to which the source is taken."""
    stop: threading.Event = field(default_factory=threading.Event)
    reload: Callable[[Suite], Suite] | None = None
    """Gives the suite to judge the next batch by."""
    compact_every: int = 0
    watch: Watch | None = None
    recycle: Callable[[Suite], None] | None = None
    """Sends corrected records back, between two micro-batches."""
    failure: BaseException | None = None
    done: int = 0
    """Micro-batches that were finished."""
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _last: int | None = None
    _untidy: int = 0

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Take one micro-batch; called by Spark, in a thread and a session of its own."""
        while not self._turn.acquire(timeout=0.05):
            if self.stop.is_set():
                raise Stopping
        try:
            if self.watch is not None:
                self.watch.before_batch(self.stop)
            if self.stop.is_set():
                raise Stopping
            self._take(frame, batch)
        except BaseException as error:
            if not isinstance(error, Stopping):
                self.failure = error  # Spark passes on its text only, and with it whatever values stand there
            raise
        finally:
            self._turn.release()

    def _take(self, frame: DataFrame, batch: int) -> None:
        bench = replace(self.bench, spark=frame.sparkSession)
        if self._last is not None:
            reach("after_batch_commit", bench.spark)
        reach("after_offsets", bench.spark)
        if self.reload is not None:
            self.suite = self.reload(self.suite)
        targets.refuse_a_lost_one(bench.files, DeltaLogs(bench.spark), self.suite, self.path)
        span, query = self.checkpoint.span(batch), self.checkpoint.query_id
        taken = self.feed.taken(frame, span, query, batch)
        order = replace(
            self.order,
            run_id=f"{self.order.run_id}/{batch}",
            taken=watched(taken, self.suite, self.watch, lambda: self.feed.behind(span.end)),
        )
        result = run_batch(bench, self.suite, order, None, Clock())
        self._last = batch
        self.done += 1
        self.told(result, span.end)
        self._tidy(result)
        reach("before_batch_commit", bench.spark)

    def _tidy(self, result: RunResult) -> None:
        """After so many batches small files are put together, in the session the query was started from."""
        self._untidy += result.outcome == "done"
        if self.compact_every and self._untidy >= self.compact_every:
            self._untidy = 0
            compact(self.bench, self.path, wait=self.order.wait)
        if self.recycle is not None:
            self.recycle(self.suite)

    def between(self) -> None:
        """While the source is silent: corrected records do not have to wait for its next rows."""
        if self.recycle is not None and self._turn.acquire(blocking=False):
            try:
                self.recycle(self.suite)
            finally:
                self._turn.release()

    def begin_again(self) -> None:
        """Forget a failed query before the next one is started."""
        self.failure, self.done, self._last = None, 0, None

    def stop_between(self, query: StreamingQuery) -> None:
        """Stop the query while no micro-batch is under way, and after Spark has noted the last one."""
        with self._turn:
            deadline = time.monotonic() + _NOTING_TAKES
            while self._last is not None and time.monotonic() < deadline and query.isActive:
                if self.bench.files.exists(f"{self.checkpoint.path}/commits/{self._last}"):
                    break
                time.sleep(0.02)
            query.stop()


def run_query(microbatches: Microbatches, trigger: dict[str, Any], name: str) -> None:
    """Run a query until it has taken all there is, is asked to stop, or fails. Raises what a micro-batch raised."""
    writer = microbatches.feed.frame().writeStream.queryName(name).foreachBatch(microbatches)
    with _hushed():
        query = writer.option("checkpointLocation", microbatches.checkpoint.path).trigger(**trigger).start()
        try:
            looks = itertools.count(1)
            while not query.awaitTermination(0.2):  # type: ignore[arg-type]
                if microbatches.stop.is_set():
                    microbatches.stop_between(query)
                    return
                if next(looks) % _LOOKS == 0:
                    microbatches.between()
        except Exception:
            if microbatches.failure is not None:
                raise microbatches.failure from None
            if not microbatches.stop.is_set():
                raise
        finally:
            _end(query)


def _end(query: StreamingQuery) -> None:
    """After an exception of ours, such as a second Ctrl-C. With the JVM gone there is nothing left to end."""
    from py4j.protocol import Py4JNetworkError

    with suppress(Py4JNetworkError, ConnectionError):
        if query.isActive:
            query.stop()


@contextmanager
def _hushed() -> Iterator[None]:
    """Py4J logs what a micro-batch raises, with all values in its text; it is told by whoever catches it."""
    logger = logging.getLogger("py4j.clientserver")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
