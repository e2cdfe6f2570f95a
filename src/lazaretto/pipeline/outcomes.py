"""Where the rejected rows of a batch go: new ones into the quarantine, recycled ones back to the records they are.

For a recycled batch the accepted rows have records as well: those are recovered, by the version that published them.
"""

from __future__ import annotations

from typing import Any

from lazaretto.model.resolution import Resolution
from lazaretto.model.seal import Seal
from lazaretto.pipeline import archive
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.failpoints import reach
from lazaretto.quarantine.append import append
from lazaretto.quarantine.outcome import mark_in_flight, settle
from lazaretto.spark.lock import table_lock


def set_aside(bench: Bench, seal: Seal, version: int) -> None:
    """After the commit that published a batch. Safe to repeat."""
    if not seal.recycled:
        append(bench.spark, seal, bench.places.records)
        return
    reach("before_outcome", bench.spark)
    with table_lock(bench.spark, bench.places.records):
        settle(
            bench.spark,
            bench.places.records,
            bench.places.outbox,
            seal,
            version=version,
            note=_note(seal, "outcome"),
        )
    reach("after_outcome", bench.spark)
    counts = seal.counts
    failed = counts.quarantined + counts.dead_lettered
    _attest_sent(bench, seal)
    _attest(bench, seal, "outcome", {"recovered": counts.accepted, "failed": failed, "published_version": version})


def wait_with_it(bench: Bench, seal: Seal) -> None:
    """A recycled batch is held: its records are in flight until somebody ends that."""
    if not seal.recycled:
        return
    with table_lock(bench.spark, bench.places.records):
        mark_in_flight(bench.spark, bench.places.records, bench.places.outbox, seal, _note(seal, "held"))
    _attest_sent(bench, seal)
    _attest(bench, seal, "held", {"held": seal.counts.input})


def give_up(bench: Bench, seal: Seal, resolution: Resolution) -> None:
    """A held batch of recycled rows was discarded: the records themselves are not, they are back in the quarantine."""
    if not seal.recycled or resolution.kind != "discarded":
        return
    why = f"its batch was discarded by {resolution.approval.approver}: {resolution.approval.reason}"
    with table_lock(bench.spark, bench.places.records):
        settle(
            bench.spark,
            bench.places.records,
            bench.places.outbox,
            seal,
            version=None,
            note=_note(seal, "discarded"),
            why=why,
        )
    _attest(bench, seal, "discarded", {"failed": seal.counts.input, "why": why})


def attest_sending(bench: Bench, asset: str, version: int, by: str, details: dict[str, Any]) -> None:
    """Evidence that records went into the outbox as one batch."""
    archive.restore_if_behind(bench, asset)
    bench.store.record_action(
        asset,
        "records:send",
        key=f"send:{details['outbox']}:{version}",
        reason="",
        actor=by,
        subject=str(version),
        details=details | {"outbox_version": version},
    )


def _attest_sent(bench: Bench, seal: Seal) -> None:
    """The sending, if a crash came before its evidence."""
    details = {"outbox": str(seal.source.table_id), "count": seal.counts.input}
    attest_sending(bench, seal.target.asset, int(seal.source.version or 0), seal.user, details)


def _attest(bench: Bench, seal: Seal, what: str, details: dict[str, Any]) -> None:
    bench.store.record_action(
        seal.target.asset,
        f"records:{what}",
        key=f"recycle:{seal.batch_id}:{what}",
        reason="",
        actor=seal.user,
        subject=seal.batch_id,
        batch_id=seal.batch_id,
        details=details | {"outbox_version": seal.source.version, "run_id": seal.run_id},
    )


def _note(seal: Seal, what: str) -> dict[str, Any]:
    """What the history of `quarantine.records` says of it."""
    return {
        "lazaretto": 1,
        "recycled": seal.batch_id,
        "what": what,
        "asset": seal.target.asset,
        "outbox_version": seal.source.version,
    }
