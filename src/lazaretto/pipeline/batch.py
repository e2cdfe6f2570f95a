"""`run`: one batch of a suite, from its source to its place.

evaluate → stage → seal → measure → decide → publish → quarantine or hold → confirm
"""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from lazaretto.model.errors import LazarettoError
from lazaretto.model.run import RunResult
from lazaretto.model.suite import Suite
from lazaretto.model.words import WriteMode
from lazaretto.pipeline import archive, ends, foreign
from lazaretto.pipeline import target as targets
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.corrections import after_quarantine
from lazaretto.pipeline.finish import Finished, decide_batch, finish, roll_forward
from lazaretto.pipeline.order import Clock, Order
from lazaretto.pipeline.person import here
from lazaretto.pipeline.sources import Taken, sliced, take, take_frame
from lazaretto.pipeline.staging import NoRows, identity, stage_batch
from lazaretto.pipeline.told import result_of, told, without_batch
from lazaretto.spark.lock import table_lock
from lazaretto.spark.publisher import batch_app, is_locked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run_batch(bench: Bench, suite: Suite, order: Order, frame: DataFrame | None, clock: Clock) -> RunResult:
    """Run one batch under the asset's lock; first finish whatever earlier runs left open."""
    path = bench.places.asset(bench.spark, suite)
    record = bench.store.begin_run(order.run_id, suite=suite.suite, suite_version=suite.version, asset=suite.asset)
    with record:
        clock.record = record
        with table_lock(bench.spark, path, wait=order.wait):
            archive.restore_if_behind(bench, suite.asset)
            result = _in_turn(bench, suite, order, frame, path, clock)
        result = _corrected(bench, suite, order, result, clock)
        record.end(detail=result.action.value if result.action else result.outcome)
    return result


def _corrected(bench: Bench, suite: Suite, order: Order, result: RunResult, clock: Clock) -> RunResult:
    """Try the corrections on what this run and those it finished left in the quarantine. The batch is done: whatever
    goes wrong here is said, and left to `lazaretto correct`."""
    batches = [*result.rolled_forward, *([result.batch_id] if result.batch_id and result.counts.quarantined else [])]
    if not order.corrections or not batches:
        return result
    try:
        with clock.phase("correct"):
            done = after_quarantine(bench, suite, order.corrections, batches, here())
    except LazarettoError as error:
        return result.model_copy(update={"message": f"{result.message} Corrections were not tried: {error}"})
    return result if done is None else result.model_copy(update={"corrected": done.corrected})


def _in_turn(bench: Bench, suite: Suite, order: Order, frame: DataFrame | None, path: str, clock: Clock) -> RunResult:
    logs = bench.logs
    there = logs.exists(path)
    before = roll_forward(bench, path, clock) if there else []
    if there:
        ends.finish_open(bench, path, clock)
    changes = foreign.foreign_changes(bench.files, path, logs.facts(path).version) if there else ()
    result = next_batch(bench, suite, order, frame, path, before, clock)
    if changes:
        foreign.note(bench.store, suite.asset, changes)
        archive.note_chain(bench, suite.asset)
    return foreign.told(result, changes)


def next_batch(
    bench: Bench,
    suite: Suite,
    order: Order,
    frame: DataFrame | None,
    path: str,
    before: list[Finished],
    clock: Clock,
) -> RunResult:
    """Take, judge and finish a batch of an asset on which nothing is open; the caller holds its lock."""
    logs = bench.logs
    bench.store.register_suite(suite)
    if not order.despite_lock and logs.exists(path) and is_locked(logs, path):
        return without_batch(suite, "locked", order, before, clock)
    with clock.phase("source"):
        if (
            frame is None
            and order.taken is None
            and not order.reprocess
            and suite.write is WriteMode.APPEND
            and not order.slice.described()
        ):
            targets.refuse_a_lost_one(bench.files, logs, suite, path)
        taken = _take(bench, suite, order, frame, path)
    if taken.frame is None:
        return without_batch(suite, "nothing_new", order, before, clock)
    batch_id = identity(suite, order, taken)
    if logs.exists(path) and logs.transaction_version(path, batch_app(batch_id)) >= 0:
        return without_batch(suite, "already_published", order, before, clock, batch_id)
    try:
        seal = stage_batch(bench, suite, order, taken, path, batch_id, clock)
    except NoRows:
        return without_batch(suite, "nothing_new", order, before, clock)
    targets.remember(bench.files, path, seal.target.table_id)
    return result_of(suite, finish(bench, seal, clock), order, before, clock)


def _take(bench: Bench, suite: Suite, order: Order, frame: DataFrame | None, path: str) -> Taken:
    """The caller's frame, or what is new in the suite's source, cut down to the slice asked for."""
    if order.taken is not None:
        return sliced(order.taken, order.slice)
    if frame is not None:
        return sliced(take_frame(frame, suite, order.run_id), order.slice)
    taken = take(bench.spark, suite, order.env, bench.places, path, order.slice, reprocess=order.reprocess)
    return sliced(taken, order.slice)


def rehearse(bench: Bench, suite: Suite, order: Order, frame: DataFrame | None, clock: Clock) -> RunResult:
    """What a run would decide: the same evaluation, in a folder of its own that is gone afterwards."""
    spark, logs = bench.spark, bench.logs
    path = bench.places.asset(spark, suite)
    taken = _take(bench, suite, order, frame, path)
    if taken.frame is None:
        return without_batch(suite, "nothing_new", order, [], clock)
    with tempfile.TemporaryDirectory(prefix="lazaretto-dry-run-") as scratch:
        stand_in = f"{scratch}/target"
        if logs.exists(path):  # a clone has the target's columns and constraints, and none of its data is moved
            spark.sql(f"CREATE TABLE delta.`{stand_in}` SHALLOW CLONE delta.`{path}`")
        batch_id = identity(suite, order, taken)
        seal = stage_batch(bench, suite, order, taken, stand_in, batch_id, clock)
        with clock.phase("measure"):
            decision = decide_batch(bench, seal)
    counts = seal.counts_if(published=decision.publishes)
    return told(suite, seal, decision, counts, order, clock).model_copy(update={"outcome": "dry_run"})
