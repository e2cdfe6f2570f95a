"""How a held batch ends: released under an approval, discarded, or superseded by a second judgement of its source.

    files back in the target's folder → resolution.json → decision → ONE commit → quarantine → confirmation → closed

The first of all ends wins, by a transaction id in the target's log. From the moment `resolution.json` is there, whoever
comes next carries the end out, so a crash at any point is mended like that of a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lazaretto.gate.decide import decide
from lazaretto.model.errors import LazarettoError
from lazaretto.model.resolution import RESOLUTION_FILE, Resolution
from lazaretto.model.results import GateDecision
from lazaretto.model.seal import QUARANTINED, Seal
from lazaretto.model.words import AssetState, GateAction, Publication
from lazaretto.pipeline import archive
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.failpoints import reach
from lazaretto.pipeline.finish import Progress, commit_metadata, decide_batch
from lazaretto.pipeline.outcomes import give_up, set_aside
from lazaretto.quarantine import held
from lazaretto.spark.commits import commits
from lazaretto.spark.publisher import LOCK_APP, Published, TargetChanged, batch_app, lock_version
from lazaretto.store import RecordMissing


class NotReleasable(LazarettoError):
    """A held batch cannot be released as it is; the message says why and what else can be done."""


@dataclass(frozen=True)
class Ended:
    """A held batch that is held no longer."""

    seal: Seal
    resolution: Resolution
    version: int | None
    """The commit that ended it; None where the target is gone."""
    decision: GateDecision | None
    """Of a released batch."""
    unlocked: bool


def carry_out(bench: Bench, seal: Seal, resolution: Resolution, progress: Progress) -> Ended:
    """Carry the end of a held batch out, from wherever it stands."""
    spark, publisher = bench.spark, bench.publisher(seal)
    there = bench.logs.exists(seal.target.path)
    done = publisher.resolved(seal) if there else None
    decision: GateDecision | None = None
    evidence = ""
    original = decision_before(bench, seal)
    bench.store.record_approval(
        resolution.approval,
        seal.target.asset,
        requested_by=resolution.requested_by,
        decision_id=original.decision_id if original else None,
        approval_id=resolution.approval_id,
    )
    if resolution.kind == "released":
        decision = _decision(bench, seal, resolution, original, done)
        evidence = archive.record_decision(bench, seal, decision, approval_id=resolution.approval_id)
    if done is None and there:
        unlocks = locked_by(bench, seal, original)
        reach("before_resolution_commit", spark)
        with progress.phase("publish"):
            done = publisher.resolve(
                seal,
                _metadata(seal, resolution, decision, evidence, unlocks),
                with_rows=decision is not None,
                unlock=unlocks,
            )
        reach("after_resolution_commit", spark)
    return _close(bench, seal, resolution, decision, done, progress)


def decision_before(bench: Bench, seal: Seal) -> GateDecision | None:
    """The decision that held the batch; None if nobody knows it any more."""
    if not bench.logs.exists(seal.target.path):
        return None
    found = bench.publisher(seal).committed(seal)
    if found is None:
        return None
    try:
        return bench.store.decision(str(found.metadata.get("decision_id", "")))
    except RecordMissing:
        return None


def decide_release(bench: Bench, seal: Seal, resolution: Resolution, original: GateDecision | None) -> GateDecision:
    """Ask the gate again, with the approval among its inputs. NotReleasable if it still holds the batch."""
    before = original or decide_batch(bench, seal)
    asked = decide(bench.policy, before.results, before.context, (*before.approvals, resolution.approval))
    if asked.publishes:
        return asked
    if asked.context.schema_incompatible is not None:
        raise NotReleasable(
            f"batch {seal.batch_id[:12]} does not fit the schema of {seal.target.asset}, and no approval makes it fit: "
            f"{asked.context.schema_incompatible}. Discard it, or mend suite or table and use --reevaluate"
        )
    left = ", ".join(asked.held_by)
    raise NotReleasable(f"batch {seal.batch_id[:12]} is still held: the approval does not name {left}")


def locked_by(bench: Bench, seal: Seal, original: GateDecision | None) -> bool:
    """Whether the asset is locked, and by this batch."""
    now = lock_version(bench.logs, seal.target.path)
    if now % 2 == 0:
        return False
    found = bench.publisher(seal).committed(seal)
    log = commits(bench.files, seal.target.path, found.version) if found and found.version >= 0 else []
    if log and batch_app(seal.batch_id) in log[0].transactions:
        # In the batch's own commit, or where that was made over Spark Connect in one after it.
        mine = [each for each in log if each is log[0] or each.note.get("marks") == seal.batch_id]
        return any(each.transactions.get(LOCK_APP) == now for each in mine)
    return original is not None and original.action is GateAction.FAIL_CLOSED  # the log has been cleaned since


def finish_open(bench: Bench, target: str, progress: Progress) -> list[Ended]:
    """Carry out the ends that somebody began on a table; one that has become impossible is withdrawn."""
    ended = []
    for seal, resolution in _begun(bench, target):
        if resolution.kind == "superseded" and not _successor_is_in(bench, seal, resolution):
            withdraw(bench, seal, resolution)  # the second judgement never came to a commit: the first one stands
            continue
        archive.restore_if_behind(bench, seal.target.asset)
        try:
            ended.append(carry_out(bench, seal, resolution, progress))
        except (NotReleasable, TargetChanged) as error:
            withdraw(bench, seal, resolution)
            bench.store.record_event(
                "lazaretto", "release withdrawn", asset=seal.target.asset, subject=seal.batch_id,
                details={"why": str(error)},
            )  # fmt: skip
    return ended


def withdraw(bench: Bench, seal: Seal, resolution: Resolution) -> None:
    """Undo a begun end that came to no commit: the batch waits as before."""
    bench.files.delete(f"{seal.stage}/{RESOLUTION_FILE}")
    bench.files.delete(seal.stage)


def _begun(bench: Bench, target: str) -> list[tuple[Seal, Resolution]]:
    found = []
    for name in bench.files.list(target):
        text = bench.files.read_text(f"{target}/{name}/{RESOLUTION_FILE}") if name.startswith("lz-") else None
        if text is None:
            continue
        resolution = Resolution.model_validate_json(text)
        waiting = bench.files.read_text(f"{bench.places.held}/{name}/seal.json")
        if waiting is not None:
            found.append((Seal.model_validate_json(waiting), resolution))
        else:  # all was done but the last step
            _tidy(bench, f"{target}/{name}", resolution)
    return found


def _successor_is_in(bench: Bench, seal: Seal, resolution: Resolution) -> bool:
    app = batch_app(resolution.successor or "")
    return bench.logs.transaction_version(seal.target.path, app) >= 0


def _decision(
    bench: Bench, seal: Seal, resolution: Resolution, original: GateDecision | None, done: Published | None
) -> GateDecision:
    if done is not None:  # decided and committed: never again
        try:
            return bench.store.decision(str(done.metadata.get("decision_id", "")))
        except RecordMissing:
            pass
    return decide_release(bench, seal, resolution, original)


def _metadata(
    seal: Seal, resolution: Resolution, decision: GateDecision | None, evidence: str, unlocks: bool
) -> dict[str, Any]:
    """What the target's own history says of the end."""
    common = {
        "lazaretto": 1,
        "batch_id": seal.batch_id,
        "run_id": seal.run_id,
        "seal": seal.hash,
        "resolution": resolution.kind,
        "approver": resolution.approval.approver,
        "approval_id": resolution.approval_id,
        "unlocks": unlocks,
        "held": seal.counts.input,
    }
    if decision is None:
        return common | {"publication": Publication.NOT_PUBLISHED.value, "successor": resolution.successor}
    return commit_metadata(seal, decision, evidence) | common


def _close(
    bench: Bench,
    seal: Seal,
    resolution: Resolution,
    decision: GateDecision | None,
    done: Published | None,
    progress: Progress,
) -> Ended:
    """All that follows from the held batch and the commit that ended it."""
    spark, files, asset = bench.spark, bench.files, seal.target.asset
    said = done.metadata if done else {}
    if said.get("resolution", resolution.kind) != resolution.kind:
        _tidy(bench, seal.stage, resolution)
        raise NotReleasable(f"batch {seal.batch_id[:12]} was {said['resolution']} by {said['approver']} meanwhile")
    if decision is not None and done is not None:
        with progress.phase("quarantine"):
            set_aside(bench, seal, done.version)
        reach("after_resolution_quarantine", spark)
        for path in seal.paths_of(QUARANTINED):
            files.delete(path)
    with progress.phase("confirm"):
        if decision is not None and done is not None:
            bench.store.record_confirmation(
                seal.batch_id,
                decision.decision_id,
                published_version=done.version,
                counts=seal.counts,
                details={"resolution": resolution.kind, "approval_id": resolution.approval_id},
            )
            archive.close(bench, seal, decision, done, seal.counts)
        else:
            give_up(bench, seal, resolution)
            _note_discard(bench, seal, resolution, done, unlocked=bool(said.get("unlocks")))
            archive.note_chain(bench, asset)
        reach("after_resolution_confirm", spark)
        held.close(files, seal, bench.places.held, resolution)
        _tidy(bench, seal.stage, resolution)
    return Ended(seal, resolution, done.version if done else None, decision, bool(said.get("unlocks")))


def _note_discard(bench: Bench, seal: Seal, resolution: Resolution, done: Published | None, *, unlocked: bool) -> None:
    """Evidence that a batch is no more. Readers see what they saw before; a lock of its own goes with it."""
    state, version = standing(bench, seal.target.asset, unlocked=unlocked)
    bench.store.record_transition(
        seal.target.asset,
        state,
        version=version,
        reason=f"held batch {seal.batch_id[:12]} {resolution.kind}: {resolution.approval.reason}",
        actor=resolution.approval.approver,
        assurance=resolution.approval.assurance,
        key=f"held:{seal.batch_id}",
        details={
            "resolution": resolution.kind,
            "batch_id": seal.batch_id,
            "held": seal.counts.input,
            "commit_version": done.version if done else None,
            "approval_id": resolution.approval_id,
            "successor": resolution.successor,
        },
    )


def standing(bench: Bench, asset: str, *, unlocked: bool) -> tuple[AssetState, int | None]:
    """The state of an asset; without its lock, if that was taken off."""
    for entry in bench.store.asset_history(asset, limit=1000):
        if not (unlocked and entry.state is AssetState.LOCKED):
            return entry.state, entry.version
    return AssetState.UNCERTIFIED, None


def _tidy(bench: Bench, stage: str, resolution: Resolution) -> None:
    """Remove what lies in the target's folder and is no part of the table."""
    bench.files.delete(f"{stage}/{RESOLUTION_FILE}" if resolution.kind == "released" else stage)
