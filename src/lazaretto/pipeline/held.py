"""Held batches: what waits, and what people may do with it. Each end needs an approver who is not the one who asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from lazaretto.model.errors import LazarettoError
from lazaretto.model.resolution import RESOLUTION_FILE, Request, Resolution
from lazaretto.model.results import Approval
from lazaretto.model.seal import Seal
from lazaretto.model.words import Publication, WriteMode
from lazaretto.pipeline import archive, ends
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.ends import Ended, NotReleasable
from lazaretto.pipeline.failpoints import reach
from lazaretto.pipeline.finish import decide_batch, roll_forward
from lazaretto.pipeline.order import Clock
from lazaretto.pipeline.person import Person
from lazaretto.pipeline.places import Places
from lazaretto.quarantine import held
from lazaretto.spark.commits import commits
from lazaretto.spark.delta_log import DeltaLogs
from lazaretto.spark.files import Files
from lazaretto.spark.lock import table_lock
from lazaretto.spark.publisher import is_locked


class NotHeld(LazarettoError):
    """No batch of that name waits."""


@dataclass(frozen=True)
class HeldBatch:
    """A batch that was held: waiting, or how it ended."""

    seal: Seal
    request: Request | None
    resolution: Resolution | None

    @property
    def state(self) -> str:
        """waiting, released, discarded or superseded."""
        return self.resolution.kind if self.resolution else "waiting"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        seal = self.seal
        return {
            "batch_id": seal.batch_id,
            "asset": seal.target.asset,
            "suite": seal.suite,
            "suite_version": seal.suite_version,
            "run_id": seal.run_id,
            "run_by": seal.user,
            "sealed_at": seal.sealed_at.isoformat(),
            "state": self.state,
            "rows": seal.counts.input,
            "would_be": seal.counts.model_dump(),
            "source": seal.source.words(),
            "request": self.request.model_dump(mode="json") if self.request else None,
            "resolution": self.resolution.model_dump(mode="json") if self.resolution else None,
        }


def listing(files: Files, places: Places, asset: str | None = None, *, ended: bool = False) -> list[HeldBatch]:
    """The batches that wait, the oldest first; with `ended` also those that wait no longer."""
    waiting = [HeldBatch(seal, held.asked(files, seal, places.held), None) for seal in held.held(files, places.held)]
    over = [HeldBatch(seal, None, how) for seal, how in held.closed(files, places.held)] if ended else []
    found = sorted((*over, *waiting), key=lambda each: each.seal.sealed_at)
    return [each for each in found if asset is None or each.seal.target.asset == asset]


def find(files: Files, places: Places, batch: str, *, ended: bool = False) -> HeldBatch:
    """A held batch by its id or the beginning of it."""
    known = listing(files, places, ended=True)
    found = [each for each in known if each.seal.batch_id.startswith(batch)] if batch else []
    if len(found) > 1:
        raise NotHeld(f"{batch} is the beginning of {len(found)} batch ids; give more of it")
    if not found:
        raise NotHeld(f"no batch {batch or '(no id given)'} is held; `lazaretto held list` shows those that are")
    (one,) = found
    if one.resolution is not None and not ended:
        raise NotHeld(f"batch {batch} waits no longer: it was {one.state} by {one.resolution.approval.approver}")
    return one


def request(
    files: Files, places: Places, batch: str, wish: Literal["release", "discard"], by: Person, reason: str
) -> Request:
    """Ask somebody else to release or discard a batch."""
    seal = find(files, places, batch).seal
    asking = Request(by=by.name, wish=wish, reason=_given(reason), at=datetime.now(UTC))
    if not held.ask(files, seal, places.held, asking):
        before = held.asked(files, seal, places.held)
        raise NotHeld(f"{before.by if before else 'somebody'} has asked already; now somebody else has to answer")
    return asking


def release(
    bench: Bench,
    batch: str,
    approver: Person,
    reason: str,
    *,
    requested_by: str | None = None,
    rules: Sequence[str] | None = None,
    clock: Clock | None = None,
) -> Ended:
    """Publish a held batch as it was judged, under an approval. `rules` are what the approver tolerates; else all.

    NotReleasable if the gate still holds it; nothing has changed then.
    """
    seal, asker = asked_for(bench, batch, approver, "release", requested_by)
    watch = clock or Clock()
    with table_lock(bench.spark, seal.target.path):
        seal = still_waiting(bench, seal, watch)
        _see_that_it_may_go(bench, seal)
        held.bring_back(bench.files, seal, bench.places.held)
        reach("after_bring_back", bench.spark)
        original = ends.decision_before(bench, seal) or decide_batch(bench, seal)
        approval = Approval(
            approver=approver.name,
            assurance=approver.assurance,
            rules=tuple(rules) if rules is not None else original.held_by,
            batch_id=seal.batch_id,
            reason=_given(reason),
        )
        resolution = resolution_of("released", seal, approval, asker)
        ends.decide_release(bench, seal, resolution, original)  # refuses before anything is begun
        bench.publisher(seal).see_that_it_fits(seal)
        return begin(bench, seal, resolution, watch)


def discard(
    bench: Bench,
    batch: str,
    approver: Person,
    reason: str,
    *,
    requested_by: str | None = None,
    clock: Clock | None = None,
) -> Ended:
    """Give a held batch up for good: its rows are deleted, the evidence stays."""
    seal, asker = asked_for(bench, batch, approver, "discard", requested_by)
    watch = clock or Clock()
    with table_lock(bench.spark, seal.target.path):
        seal = still_waiting(bench, seal, watch)
        return begin(bench, seal, resolution_of("discarded", seal, approval_of(seal, approver, reason), asker), watch)


def begin(bench: Bench, seal: Seal, resolution: Resolution, watch: Clock) -> Ended:
    """From here on the end is carried out, whoever does it."""
    bench.files.put_if_absent(f"{seal.stage}/{RESOLUTION_FILE}", resolution.model_dump_json())
    reach("after_resolution", bench.spark)
    return ends.carry_out(bench, seal, resolution, watch)


def approval_of(seal: Seal, approver: Person, reason: str) -> Approval:
    """An approval that ends a batch without softening any rule."""
    return Approval(approver=approver.name, assurance=approver.assurance, batch_id=seal.batch_id, reason=_given(reason))


def resolution_of(
    kind: Literal["released", "discarded", "superseded"],
    seal: Seal,
    approval: Approval,
    asker: str,
    successor: str | None = None,
) -> Resolution:
    """The end of a batch, as it is put on record."""
    return Resolution(
        kind=kind,
        batch_id=seal.batch_id,
        asset=seal.target.asset,
        seal=seal.hash,
        approval=approval,
        requested_by=asker,
        successor=successor,
        at=datetime.now(UTC),
    )


def asked_for(bench: Bench, batch: str, approver: Person, what: str, requested_by: str | None) -> tuple[Seal, str]:
    """The batch, and who asked: who put it on record, whom the approver names, or who ran it."""
    found = find(bench.files, bench.places, batch)
    asker = found.request.by if found.request else requested_by or found.seal.user
    approver.see_four_eyes(asker, f"{what} batch {found.seal.batch_id[:12]}")
    approver.see_assurance(bench.policy, f"{what} it")
    return found.seal, asker


def still_waiting(bench: Bench, seal: Seal, watch: Clock) -> Seal:
    """The batch, after everything that was begun on its asset is finished: this one's end may be among it."""
    archive.restore_if_behind(bench, seal.target.asset)
    if DeltaLogs(bench.spark).exists(seal.target.path):
        roll_forward(bench, seal.target.path, watch)
        ends.finish_open(bench, seal.target.path, watch)
    return find(bench.files, bench.places, seal.batch_id).seal


def _see_that_it_may_go(bench: Bench, seal: Seal) -> None:
    name, asset, path = seal.batch_id[:12], seal.target.asset, seal.target.path
    logs = DeltaLogs(bench.spark)
    if not logs.exists(path):
        raise NotReleasable(f"{asset} is gone, so batch {name} has nowhere to go; discard it or use --reevaluate")
    if is_locked(logs, path) and not ends.locked_by(bench, seal, ends.decision_before(bench, seal)):
        raise NotReleasable(f"{asset} is locked because of another batch; end that one first (lazaretto held list)")
    if seal.write is WriteMode.APPEND:
        return
    held_at = bench.publisher(seal).committed(seal)
    since = commits(bench.files, path, held_at.version + 1 if held_at else 0)
    if any(c.note.get("publication", Publication.NOT_PUBLISHED) != Publication.NOT_PUBLISHED for c in since):
        raise NotReleasable(
            f"batch {name} replaces what {asset} held, and newer rows were published since; discard it, or judge "
            "its source again with --reevaluate"
        )


def _given(reason: str) -> str:
    if not reason.strip():
        raise LazarettoError("a reason is needed: it is what others will read in the evidence")
    return reason.strip()
