"""`lz.stream`: the suite on micro-batches, without end or until all is taken; the command calls it too."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lazaretto.config.project import Project, load_project
from lazaretto.gate.outcome import CLOSED, DONE, REFUSED
from lazaretto.model.errors import LazarettoError
from lazaretto.model.fingerprint import sha256
from lazaretto.model.results import Counts
from lazaretto.model.run import RunResult
from lazaretto.model.stream import Ended, StreamResult
from lazaretto.model.suite import Suite
from lazaretto.model.units import parse_duration
from lazaretto.model.words import AssetState, GateAction, WriteMode
from lazaretto.pipeline import archive
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.control import open_project_store
from lazaretto.pipeline.corrections import tried_by_itself
from lazaretto.pipeline.failpoints import FailpointReached
from lazaretto.pipeline.order import Order
from lazaretto.pipeline.places import Places
from lazaretto.pipeline.sources import SourceError, active
from lazaretto.pipeline.stream.checkpoint import Checkpoint
from lazaretto.pipeline.stream.delta import DeltaFeed
from lazaretto.pipeline.stream.feed import Feed, refuse_options
from lazaretto.pipeline.stream.kafka import BrokerSilent, KafkaFeed
from lazaretto.pipeline.stream.landing import LandingFeed, take_files
from lazaretto.pipeline.stream.prepare import prepare, ready_target
from lazaretto.pipeline.stream.query import Microbatches, run_query
from lazaretto.pipeline.stream.recycling import Recycling
from lazaretto.pipeline.stream.reload import Reloader
from lazaretto.pipeline.stream.windows import Measured, Watch
from lazaretto.quarantine import records
from lazaretto.spark.lock import AssetBusy, table_lock
from lazaretto.spark.publisher import Overtaken
from lazaretto.spark.reach import see_that_jvm_is_in_reach
from lazaretto.store import StoreUnreachable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_ENDING_TAKES = 15.0
"""Seconds that the JVM of an instance whose Python was killed may take to end, before a new one is refused."""


class StreamBusy(LazarettoError):
    """Another instance streams the suite with the same checkpoint."""


class StreamFailed(LazarettoError):
    """A micro-batch failed more often than `retries` allows."""


@dataclass(frozen=True)
class BatchTold:
    """What a program is told after each micro-batch."""

    result: RunResult
    number: int
    """Counted from the start of this stream."""
    seconds: float
    lag: str
    open_quarantine: int
    """Records of the asset that wait in the quarantine."""


@dataclass
class _Tally:
    """What the micro-batches came to."""

    tell: Callable[[BatchTold], None] | None
    feed: Feed | LandingFeed
    stop: threading.Event
    on_block: str
    batches: int = 0
    refused: int = 0
    counts: Counts = field(default_factory=Counts)
    last: RunResult | None = None
    ended: Ended | None = None
    watch: Watch | None = None
    waiting: int = 0
    """Records that wait in the quarantine: counted when the stream began, and those set aside since."""
    _since: float = field(default_factory=time.monotonic)

    def note(self, result: RunResult, offset: str) -> None:
        """Add a batch; ask for the end if it was the last one to be taken."""
        now = time.monotonic()
        seconds, self._since = now - self._since, now
        self.last = result
        if result.outcome == "locked" or result.action is GateAction.FAIL_CLOSED:
            self.ended = "locked"
            self.stop.set()
        if result.outcome != "done":
            return
        self.batches += 1
        a, b = self.counts, result.counts
        self.counts = Counts(**{name: value + getattr(b, name) for name, value in a})
        if result.counts.held:
            self.refused += 1
            if self.on_block == "stop" and self.ended is None:
                self.ended = "blocked"
                self.stop.set()
        if self.watch is not None and result.decision is not None:
            self.watch.after_batch(Measured.of(result.decision, datetime.now(UTC)))
            if self.watch.stopped_by is not None and self.ended is None:
                self.ended = "window"
                self.stop.set()
        self.waiting += result.counts.quarantined + result.counts.dead_lettered
        if self.tell is not None:
            lag = f"{self.feed.behind(offset):,} {self.feed.unit}"
            self.tell(BatchTold(result, self.batches, seconds, lag, self.waiting))


def stream(
    suite: Suite,
    spark: SparkSession | None = None,
    *,
    once: bool = False,
    every: str | timedelta | None = None,
    limit: int | None = None,
    env: str | None = None,
    checkpoint: str | None = None,
    reprocess: bool = False,
    on_block: str | None = None,
    reload: bool = False,
    project: Project | None = None,
    on_batch: Callable[[BatchTold], None] | None = None,
    say: Callable[[str], None] | None = None,
    stop: threading.Event | None = None,
    wait: float = 600.0,
) -> StreamResult:
    """Take the suite's source in micro-batches, each a batch with its own seal, decision and commit.

    `once` takes what is there and ends; else it goes on until `stop` is set, or SIGTERM or SIGINT comes. The batch
    under way is finished first. Kill it at any moment: the next start goes on where the target's log says.
    """
    suite = _with(suite, every, limit, on_block)
    chosen = spark or active()
    see_that_jvm_is_in_reach(chosen, "a stream")
    home = project or load_project(suite.project_root and Path(suite.project_root), env or suite.environment)
    env = env or suite.environment
    with open_project_store(home, env) as store:
        bench = Bench.of(chosen, home, store)
        feed = feed_from(chosen, suite, env, bench.places)
        if isinstance(feed, LandingFeed) and reprocess:
            raise SourceError("a landing folder has no beginning to go back to: give the file another content or name")
        place = checkpoint or checkpoint_path(home, suite, env)
        asked = stop or threading.Event()
        with _one_instance(chosen, place, suite, min(wait, _ENDING_TAKES)), _signals(asked, say or _silent):
            tally = _Tally(on_batch, feed, asked, suite.stream.on_block)
            if on_batch is not None:
                tally.waiting = records.waiting(chosen, bench.places.records, suite.asset)
            watch = tally.watch = _watch(bench, suite, tally, say or _silent)
            micro = Microbatches(
                bench=bench,
                suite=suite,
                order=Order(
                    run_id=f"{suite.suite} stream",
                    env=env,
                    wait=wait,
                    corrections=tried_by_itself(suite, home, env),
                ),
                feed=cast(Feed, feed),
                checkpoint=Checkpoint(bench.files, place),
                path=bench.places.asset(chosen, suite),
                told=tally.note,
                stop=asked,
                reload=Reloader(home, env, say or _silent) if reload else None,
                compact_every=suite.stream.compact_every,
                watch=watch,
                recycle=Recycling(bench, env, wait, say or _silent),
            )
            _keep_going(micro, tally, once, reprocess, say or _silent)
            return _result(suite, place, tally, once)


def feed_from(spark: SparkSession, suite: Suite, env: str | None, places: Places) -> Feed | LandingFeed:
    """The suite's source as a stream."""
    source = suite.source
    if source is None:
        raise SourceError(f"the suite {suite.suite} names no source: add `source:`")
    if suite.write is not WriteMode.APPEND:
        raise SourceError(f"a stream appends: `write: {suite.write.value}` is for `lazaretto run`")
    refuse_options(suite)
    if source.format == "delta":
        return DeltaFeed.of(spark, suite, source, env, places)
    if source.format == "kafka":
        return KafkaFeed.of(spark, suite, source, env)
    if source.format == "landing":
        return LandingFeed.of(spark, suite, source)
    raise SourceError(f"a {source.format} source is not streamed: `lazaretto run` takes what is new in it")


def checkpoint_path(project: Project, suite: Suite, env: str | None) -> str:
    """Where the checkpoint of a suite and its source is, unless the caller says otherwise."""
    assert suite.source is not None
    return f"{project.checkpoints_root}/{suite.suite}-{sha256([env, suite.source.format, suite.source.name])[:12]}"


def _keep_going(micro: Microbatches, tally: _Tally, once: bool, reprocess: bool, say: Callable[[str], None]) -> None:
    """Take the source until it ends as it should; what is infrastructure is tried again."""
    suite, feed, failed = micro.suite, tally.feed, 0
    while True:
        # File drops need no query of Spark's: the target's log knows each file.
        landing = isinstance(feed, LandingFeed)
        ready = ready_target(micro) if landing else prepare(micro, reprocess=reprocess, distrust=failed > 1)
        reprocess = False
        for note in ready.notes:
            say(note)
        if ready.locked:
            tally.ended = "locked"
            return
        try:
            if isinstance(feed, LandingFeed):
                take_files(micro, feed, tally.note, once=once)
            else:
                micro.between()
                run_query(micro, _trigger(suite, once), f"lazaretto {suite.suite} {sha256(micro.checkpoint.path)[:8]}")
            return
        except Exception as error:
            if not _is_passing(error):
                raise _told(error, feed) from error
            failed = 1 if micro.done else failed + 1
            if failed > suite.stream.retries:
                raise StreamFailed(
                    f"the stream of {suite.suite} failed {failed} times at the same place; nothing is lost, start it "
                    f"again when this is mended: {_words(error)}"
                ) from error
            pause = 0.0 if isinstance(error, Overtaken) else min(60.0, 2.0 ** (failed - 1))
            say(f"{_words(error)}; trying again in {pause:.0f} s")
            micro.begin_again()
            if micro.stop.wait(pause):
                return


def _watch(bench: Bench, suite: Suite, tally: _Tally, say: Callable[[str], None]) -> Watch | None:
    """The suite's windows, with what was decided about the last batches."""
    windows, store, asset = suite.stream.windows, bench.store, suite.asset
    if not windows:
        return None

    def degrade(why: str) -> None:
        standing = store.asset_state(asset)
        if standing is None or standing.reason != why:
            version = tally.last.published_version if tally.last else None
            store.record_transition(asset, AssetState.DEGRADED, version=version, reason=why, actor="lazaretto")
            archive.note_chain(bench, asset)

    def note(state: str, why: str) -> None:
        store.record_event("lazaretto", f"circuit breaker {state}", asset=asset, details={"reason": why})

    watch = Watch(windows, say, degrade, note)
    before = [s for s in store.decisions(asset, limit=max(w.over for w in windows)) if s.suite == suite.suite]
    watch.remember(Measured.of(store.decision(s.decision_id), s.decided_at) for s in reversed(before))
    return watch


def _trigger(suite: Suite, once: bool) -> dict[str, Any]:
    if once:
        return {"availableNow": True}
    return {"processingTime": f"{int(suite.stream.every.total_seconds() * 1000)} milliseconds"}


def _is_passing(error: BaseException) -> bool:
    """Whether trying again may help: what Lazaretto itself refuses stays refused, everything else is infrastructure."""
    if isinstance(error, FailpointReached):
        return False
    if isinstance(error, LazarettoError):
        return isinstance(error, Overtaken | AssetBusy | StoreUnreachable | BrokerSilent)
    return not any(sign in f"{error}" for sign in _NOT_APPENDED) and not _is_spark_gone(error)


_NOT_APPENDED = ("DELTA_SOURCE_TABLE_IGNORE_CHANGES", "DELTA_SOURCE_IGNORE_DELETE")


def _is_spark_gone(error: BaseException) -> bool:
    from py4j.protocol import Py4JNetworkError

    return isinstance(error, Py4JNetworkError | ConnectionError)


def _told(error: Exception, feed: Feed | LandingFeed) -> Exception:
    if any(sign in f"{error}" for sign in _NOT_APPENDED):
        return SourceError(
            f"the source {feed.name} updates, deletes or overwrites rows; a stream takes only appended ones. Use "
            "`lazaretto run` with `write: replace`, or point the suite at an append-only source"
        )
    return error


def _words(error: BaseException) -> str:
    """What happened, without the values that an error's text may carry."""
    from lazaretto.spark.frames import error_class

    if isinstance(error, LazarettoError):
        return str(error)
    return error_class(error) if isinstance(error, Exception) else type(error).__name__


def _result(suite: Suite, place: str, tally: _Tally, once: bool) -> StreamResult:
    ended: Ended = tally.ended or ("asked" if tally.stop.is_set() or not once else "caught_up")
    code = {"locked": CLOSED, "blocked": REFUSED, "window": REFUSED}.get(ended, DONE)
    if once and tally.refused:
        code = max(code, REFUSED)
    return StreamResult(
        suite=suite.suite,
        asset=suite.asset,
        checkpoint=place,
        ended=ended,
        batches=tally.batches,
        refused=tally.refused,
        counts=tally.counts,
        last=tally.last,
        message=_WORDS[ended].format(asset=suite.asset, window=tally.watch.stopped_by if tally.watch else ""),
        exit_code=code,
    )


_WORDS = {
    "caught_up": "All that was in the source is taken.",
    "asked": "Stopped as asked, after the batch that was under way.",
    "blocked": "Stopped because a batch was refused (`on_block: stop`); it is held: lazaretto held list.",
    "window": "Stopped, because a window asks for it: {window}.",
    "locked": "{asset} is locked: a privacy, security or fail-closed rule failed and nobody has approved yet.",
}


def _with(suite: Suite, every: str | timedelta | None, limit: int | None, on_block: str | None) -> Suite:
    """The suite with what the caller wants otherwise."""
    if isinstance(every, str) and every.replace("-", "").replace("_", "").casefold() in ("realtime", "continuous"):
        raise SourceError(
            f"`{every}` is refused: Spark's real-time and continuous modes call nothing between two batches, so no "
            "gate could stand there. Micro-batches one after the other: leave --every out"
        )
    wishes = {
        "every": None if every is None else parse_duration(every),
        "limit": limit,
        "on_block": on_block,
    }
    given = {name: value for name, value in wishes.items() if value is not None}
    settings = type(suite.stream).model_validate(dict(suite.stream) | given)
    return suite.model_copy(update={"stream": settings})


@contextmanager
def _one_instance(spark: SparkSession, place: str, suite: Suite, wait: float) -> Iterator[None]:
    """One instance for each checkpoint. Where no lock reaches, the fence in the target's log stands alone."""
    try:
        with table_lock(spark, place, wait=wait):
            yield
    except AssetBusy as busy:
        if place not in str(busy):
            raise
        raise StreamBusy(
            f"another instance streams {suite.suite} with the checkpoint {place}; stop it first, or let it work"
        ) from None


@contextmanager
def _signals(stop: threading.Event, say: Callable[[str], None]) -> Iterator[None]:
    """SIGTERM and SIGINT ask for the end; a second one has its usual effect."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def ask(number: int, _: Any) -> None:
        if stop.is_set():
            signal.signal(number, before[signal.Signals(number)])
            signal.raise_signal(number)
            return
        stop.set()
        say("stopping after the batch that is under way")

    for number in before:
        signal.signal(number, ask)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _silent(_: str) -> None:
    """Nobody is told."""
