"""Before a stream begins: what is open is finished, and the checkpoint is made to say what the target's log says."""

from __future__ import annotations

from dataclasses import dataclass

from lazaretto.model.suite import Suite
from lazaretto.pipeline import archive, ends
from lazaretto.pipeline import target as targets
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.finish import roll_forward
from lazaretto.pipeline.order import Clock
from lazaretto.pipeline.sources import SourceError, suite_app
from lazaretto.pipeline.stream.checkpoint import Checkpoint, Torn
from lazaretto.pipeline.stream.feed import Feed, Marks
from lazaretto.pipeline.stream.query import Microbatches
from lazaretto.spark.delta_log import DeltaLogs
from lazaretto.spark.lock import table_lock
from lazaretto.spark.publisher import is_locked


@dataclass(frozen=True)
class Ready:
    """How a stream begins."""

    locked: bool
    notes: tuple[str, ...] = ()
    """What was found and mended, in sentences."""


def prepare(micro: Microbatches, *, reprocess: bool = False, distrust: bool = False) -> Ready:
    """Finish open batches and see that Spark goes on exactly where the target's log says. `distrust`: Spark could not
    work with the checkpoint as it is, so it is written anew in any case."""
    suite, feed, path, checkpoint = micro.suite, micro.feed, micro.path, micro.checkpoint
    logs, ready = DeltaLogs(micro.bench.spark), ready_target(micro, reprocess=reprocess)
    if ready.locked:
        return ready
    if reprocess:
        checkpoint.clear()
        return Ready(False, (*ready.notes, "the source is taken from its beginning"))
    note = _agree(checkpoint, feed, feed.reached(logs, path), logs, suite, micro.order.env, path, distrust)
    return Ready(False, (*ready.notes, note) if note else ready.notes)


def ready_target(micro: Microbatches, *, reprocess: bool = False) -> Ready:
    """Finish what is open on the target, unless it is gone or locked."""
    bench, suite, path = micro.bench, micro.suite, micro.path
    logs, notes = DeltaLogs(bench.spark), []
    if not reprocess:
        targets.refuse_a_lost_one(bench.files, logs, suite, path)
    if not logs.exists(path):
        return Ready(False)
    with table_lock(bench.spark, path, wait=micro.order.wait):
        archive.restore_if_behind(bench, suite.asset)
        finished = roll_forward(bench, path, Clock())
        ends.finish_open(bench, path, Clock())
        notes += [f"finished batch {f.seal.batch_id[:12]}, which was left open" for f in finished]
        if reprocess:
            _forget(bench, micro.feed, path)
    return Ready(not reprocess and is_locked(logs, path), tuple(notes))


def _agree(
    checkpoint: Checkpoint,
    feed: Feed,
    reached: Marks,
    logs: DeltaLogs,
    suite: Suite,
    env: str | None,
    path: str,
    distrust: bool,
) -> str | None:
    """Leave a checkpoint alone that says what the target says; write any other one anew."""
    why = "it did not work" if distrust else disagreement(checkpoint, feed, reached)
    if why is None:
        return None
    if reached:
        checkpoint.write(feed.offset(reached))
        return f"the checkpoint was written anew from the target's log ({why})"
    if logs.exists(path) and logs.transaction_version(path, suite_app(suite, env)) >= 0:
        raise SourceError(
            f"{suite.asset} has taken batches of {suite.suite}, and none from {feed.name} as it is now: it was dropped "
            "and made anew, or is another one than before. Run with --reprocess to take it from its beginning"
        )
    checkpoint.clear()
    return None if why == _FRESH else f"the checkpoint was removed ({why}); nothing was taken yet"


_FRESH = "there was none"


def disagreement(checkpoint: Checkpoint, feed: Feed, reached: Marks) -> str | None:
    """Why a checkpoint is not to be trusted, or None if it says what the target's log says."""
    try:
        seen = checkpoint.look()
    except Torn as torn:
        return str(torn)
    if seen is None:
        return _FRESH
    span, noted = seen
    if not feed.knows(span.end):
        return "it is of another source"
    if reached == feed.marks(span.end) or (not noted and reached == feed.marks(span.start)):
        return None
    return "it says otherwise"


def _forget(bench: Bench, feed: Feed, path: str) -> None:
    """Note in the target's log that the source begins anew. On record, by whoever asked for it."""
    logs = DeltaLogs(bench.spark)
    reached = feed.reached(logs, path)
    if not reached:
        return
    transaction = logs.begin(path)
    actions = [logs.set_transaction(app, -1) for app in reached]
    logs.commit(transaction, actions, "Append", '{"lazaretto": 1, "reprocess": true}')
