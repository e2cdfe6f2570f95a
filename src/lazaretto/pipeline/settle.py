"""`settle` and `rebuild-store`: what a crash, or the loss of the store, left out is written after the fact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lazaretto.model.results import Counts
from lazaretto.pipeline import archive, ends
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.finish import roll_forward
from lazaretto.pipeline.order import Clock
from lazaretto.pipeline.unlock import settle_lock
from lazaretto.spark.commits import Commit, commits
from lazaretto.spark.delta_log import DeltaLogs
from lazaretto.spark.lock import table_lock
from lazaretto.store import RecordConflict, RecordMissing

CANNOT_COME_BACK = (
    "the times of runs and their phases",
    "the log of who did what (changes of states, approvals and decisions are in the chain and came back)",
    "the text of suites: the next run of each registers it again",
)
"""What the lake does not keep."""


@dataclass
class Settled:
    """What was written after the fact."""

    asset: str
    finished: list[str] = field(default_factory=list)
    """Batches that were sealed and left open."""
    ended: list[str] = field(default_factory=list)
    """Held batches whose end was begun."""
    confirmed: list[str] = field(default_factory=list)
    """Batches whose confirmation was missing."""
    copied: int = 0
    """Evidence records that the lake did not have."""
    restored: int = 0
    """Evidence records that the store did not have."""
    left: list[str] = field(default_factory=list)
    """What could not be settled, and why."""

    @property
    def nothing(self) -> bool:
        """Whether there was nothing to do."""
        return not (self.finished or self.ended or self.confirmed or self.copied or self.restored or self.left)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return dict(vars(self))


def settle(bench: Bench, assets: Mapping[str, str]) -> list[Settled]:
    """Finish what is open and write what is missing, asset by asset."""
    return [_settle(bench, asset, path) for asset, path in assets.items()]


def _settle(bench: Bench, asset: str, path: str) -> Settled:
    done, watch = Settled(asset), Clock()
    with table_lock(bench.spark, path):
        try:
            restored = archive.restore_if_behind(bench, asset)
        except RecordConflict as error:
            done.left.append(str(error))
            return done
        done.restored = restored.records
        lost = "the content of decision {} is in no copy: only its outcome is attested"
        done.left += [lost.format(decision_id[:12]) for decision_id in restored.without_content]
        if DeltaLogs(bench.spark).exists(path):
            done.finished = [finished.seal.batch_id for finished in roll_forward(bench, path, watch)]
            done.ended = [ended.seal.batch_id for ended in ends.finish_open(bench, path, watch)]
            settle_lock(bench, asset, path)
        _confirm(bench, asset, commits(bench.files, path), done)
        done.copied = archive.note_chain(bench, asset)
    return done


def _confirm(bench: Bench, asset: str, log: list[Commit], done: Settled) -> None:
    """Confirm decisions whose commit is in the log, in the order of commits."""
    missing = {summary.decision_id for summary in bench.store.unconfirmed(asset)}
    for commit in log:
        note = commit.note
        if note.get("decision_id") not in missing:
            continue
        missing.discard(note["decision_id"])
        published = note["publication"] != "NOT_PUBLISHED"
        try:
            bench.store.record_confirmation(
                note["batch_id"],
                note["decision_id"],
                published_version=commit.version if published else None,
                commit_version=commit.version,
                counts=Counts.model_validate(note["counts"]),
                details={"settled": True},
            )
        except RecordMissing as error:
            done.left.append(str(error))
        else:
            done.confirmed.append(note["batch_id"])
    done.left += [f"the decision {each[:12]} was never carried out: no commit names it" for each in sorted(missing)]
