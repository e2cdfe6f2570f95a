"""Take the lock off an asset that was closed: by the approval of a person, on record."""

from __future__ import annotations

from lazaretto.model.errors import LazarettoError
from lazaretto.model.words import AssetState
from lazaretto.pipeline import archive, ends
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.failpoints import reach
from lazaretto.pipeline.finish import roll_forward
from lazaretto.pipeline.order import Clock
from lazaretto.pipeline.person import Person
from lazaretto.quarantine import held
from lazaretto.spark.commits import commits
from lazaretto.spark.delta_log import DeltaLogs
from lazaretto.spark.lock import table_lock
from lazaretto.spark.publisher import is_locked, lock_version, unlock


class NotLocked(LazarettoError):
    """There is no lock to take off."""


def unlock_asset(
    bench: Bench, asset: str, path: str, approver: Person, reason: str, *, requested_by: str | None = None
) -> AssetState:
    """Let an asset take batches again; what was held stays held. The state it has now."""
    if not reason.strip():
        raise LazarettoError("a reason is needed: it is what others will read in the evidence")
    logs, watch = DeltaLogs(bench.spark), Clock()
    if not logs.exists(path):
        raise NotLocked(f"there is no table {asset} (looked in {path})")
    with table_lock(bench.spark, path):
        archive.restore_if_behind(bench, asset)
        roll_forward(bench, path, watch)
        ends.finish_open(bench, path, watch)
        if is_locked(logs, path):
            asker = requested_by or _who_ran_it(bench, asset)
            approver.see_four_eyes(asker, f"unlock {asset}")
            approver.see_assurance(bench.policy, f"unlock {asset}")
            note = {
                "lazaretto": 1,
                "unlocks": True,
                "lock": lock_version(logs, path),
                "approver": approver.name,
                "assurance": approver.assurance,
                "requested_by": asker,
                "reason": reason.strip(),
            }
            unlock(logs, path, note)
            reach("after_unlock", bench.spark)
        elif not settle_lock(bench, asset, path):
            raise NotLocked(f"{asset} is not locked")
        settle_lock(bench, asset, path)
    return ends.standing(bench, asset, unlocked=False)[0]


def settle_lock(bench: Bench, asset: str, path: str) -> bool:
    """Put on record that a lock was taken off, if the target's log says so and the store does not yet."""
    standing = bench.store.asset_state(asset)
    if standing is None or standing.state is not AssetState.LOCKED or is_locked(DeltaLogs(bench.spark), path):
        return False
    notes = [c.note for c in commits(bench.files, path) if "lock" in c.note]
    if not notes:
        return False
    note = notes[-1]
    state, version = ends.standing(bench, asset, unlocked=True)
    bench.store.record_transition(
        asset,
        state,
        version=version,
        reason=f"unlocked: {note['reason']}",
        actor=str(note["approver"]),
        assurance=str(note["assurance"]),
        key=f"unlock:{asset}:{note['lock']}",
        details={"requested_by": note["requested_by"]},
    )
    archive.note_chain(bench, asset)
    return True


def _who_ran_it(bench: Bench, asset: str) -> str:
    """Who ran the batch that closed the asset, as far as it still waits."""
    waiting = [seal for seal in held.held(bench.files, bench.places.held) if seal.target.asset == asset]
    return waiting[-1].user if waiting else ""
