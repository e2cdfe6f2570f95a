"""Judge the source of a held batch again, under today's rules: a new batch through the front door.

The held batch is superseded by the commit of the new one, whatever that one's fate; until then it waits as before.
"""

from __future__ import annotations

from dataclasses import replace

from lazaretto.model.resolution import RESOLUTION_FILE
from lazaretto.model.run import RunResult
from lazaretto.model.seal import Seal
from lazaretto.model.suite import Suite
from lazaretto.pipeline import ends
from lazaretto.pipeline.batch import next_batch
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.ends import NotReleasable
from lazaretto.pipeline.failpoints import reach
from lazaretto.pipeline.held import approval_of, asked_for, resolution_of, still_waiting
from lazaretto.pipeline.order import Clock, Order
from lazaretto.pipeline.person import Person
from lazaretto.pipeline.sources import Slice, take_again
from lazaretto.pipeline.staging import identity
from lazaretto.spark.lock import table_lock


def reevaluate(
    bench: Bench,
    batch: str,
    suite: Suite,
    approver: Person,
    reason: str,
    *,
    requested_by: str | None = None,
    clock: Clock | None = None,
) -> RunResult:
    """Take what the held batch took once more, and let the gate decide anew."""
    seal, asker = asked_for(bench, batch, approver, "judge again", requested_by)
    if seal.recycled:
        raise NotReleasable(
            f"batch {seal.batch_id[:12]} is of corrected records, and those are judged one by one: discard it, and "
            "send them once more"
        )
    watch = clock or Clock()
    path = seal.target.path
    with table_lock(bench.spark, path):
        seal = still_waiting(bench, seal, watch)
        taken = take_again(bench.spark, suite, seal.source, path)
        order = Order(
            run_id=f"{seal.run_id} again",
            env=seal.environment,
            slice=_slice(seal),
            metadata=tuple(sorted(seal.metadata.items())),
            taken=taken,
            despite_lock=True,
        )
        successor = identity(suite, order, taken)
        resolution = resolution_of("superseded", seal, approval_of(seal, approver, reason), asker, successor)
        bench.files.put_if_absent(f"{seal.stage}/{RESOLUTION_FILE}", resolution.model_dump_json())
        reach("after_resolution", bench.spark)
        result = next_batch(bench, suite, order, None, path, [], watch)
        ends.carry_out(bench, seal, resolution, watch)
    return result


def _slice(seal: Seal) -> Slice:
    """The same part of the source, named as another batch."""
    pairs = ((name.removeprefix("partition."), value) for name, value in seal.slice.items() if "partition." in name)
    kept = Slice(where=seal.slice.get("where"), partition=tuple(sorted(pairs)))
    return replace(kept, again=f"instead of {seal.batch_id}")
