"""Finishing a sealed batch: measure, decide, publish, quarantine or hold, confirm.

Every step may be repeated: what is already done is found done. So the same function carries a fresh batch through
and rolls an interrupted one forward, whoever calls it and however often.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from lazaretto.engine.keys import duplicate_keys
from lazaretto.engine.measure import context_of, measure
from lazaretto.gate.decide import decide
from lazaretto.model.results import Counts, GateDecision
from lazaretto.model.seal import ACCEPTED, QUARANTINED, ROUTE, SEAL_FILE, Seal
from lazaretto.model.words import GateAction, Publication
from lazaretto.pipeline import archive, taken_files
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.failpoints import reach
from lazaretto.pipeline.outcomes import set_aside, wait_with_it
from lazaretto.pipeline.samples import with_samples
from lazaretto.quarantine.held import hold, seals_under
from lazaretto.spark.publisher import Overtaken, Published
from lazaretto.store import RecordMissing


class Progress(Protocol):
    """Where a run tells what it is doing."""

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Enclose a phase."""


@dataclass(frozen=True)
class Finished:
    """A batch that is where it belongs."""

    seal: Seal
    action: GateAction
    publication: Publication
    decision: GateDecision | None
    """None only where a replay found everything decided and the store had lost the record."""
    version: int
    """The batch's commit in the target's log."""
    counts: Counts


def finish(bench: Bench, seal: Seal, progress: Progress) -> Finished:
    """Carry a sealed batch to its end, from wherever it stands."""
    spark = bench.spark
    publisher = bench.publisher(seal)
    published = publisher.committed(seal)
    decision: GateDecision | None
    if published is None:
        publisher.see_that_it_is_due(seal)
        with progress.phase("measure"):
            decision = decide_batch(bench, seal)
        reach("after_measure", spark)
        evidence = archive.record_decision(bench, seal, decision)
        reach("after_decision", spark)
        taken_files.note(spark, seal)
        with progress.phase("publish"):
            reach("before_commit", spark)
            published = publisher.publish(
                seal,
                commit_metadata(seal, decision, evidence),
                with_rows=decision.publishes,
                lock=decision.action is GateAction.FAIL_CLOSED,
            )
            reach("after_commit", spark)
    else:
        decision = _decision_on_record(bench, seal, published)
    publisher.follow_up(seal, published)
    return _close(bench, seal, published, decision, progress)


def _close(
    bench: Bench, seal: Seal, published: Published, decision: GateDecision | None, progress: Progress
) -> Finished:
    """All that follows from the seal and the commit."""
    spark, files = bench.spark, bench.files
    publication = Publication(published.metadata.get("publication", decision.publication if decision else ""))
    visible = publication is not Publication.NOT_PUBLISHED
    if not visible:
        with progress.phase("hold"):
            hold(files, seal, seal.target.path, bench.places.held, delete=False)  # the seal stays open until the end
        reach("after_hold_copy", spark)
        wait_with_it(bench, seal)
    else:
        with progress.phase("quarantine"):
            set_aside(bench, seal, published.version)
        reach("after_quarantine", spark)
        files.delete(f"{seal.stage}/{ROUTE}={QUARANTINED}")
    reach("after_delete", spark)
    counts = seal.counts_if(published=visible)
    with progress.phase("confirm"):
        if decision is not None:
            bench.store.record_confirmation(
                seal.batch_id,
                decision.decision_id,
                published_version=published.version if visible else None,
                commit_version=published.version,
                counts=counts,
            )
        reach("after_confirm", spark)
        archive.close(bench, seal, decision, published, counts)
        # A batch of which no file is in the target leaves no folder behind.
        part_of_it = visible and seal.publisher == "zero_copy" and seal.files_of(ACCEPTED)
        files.delete(f"{seal.stage}/{SEAL_FILE}" if part_of_it else seal.stage)
    return Finished(
        seal=seal,
        action=GateAction(published.metadata.get("action", decision.action if decision else "")),
        publication=publication,
        decision=decision,
        version=published.version,
        counts=counts,
    )


def decide_batch(bench: Bench, seal: Seal) -> GateDecision:
    """Measure a staged batch and ask the gate."""
    results = with_samples(bench.spark, seal, measure(bench.spark, seal, datetime.now(UTC)))
    context = context_of(
        seal, replaces_published=seal.target.version > 0, duplicate_keys=duplicate_keys(bench.spark, seal)
    )
    # Standing exceptions only: an approval of one batch is given when it is released.
    exceptions = [a for a in bench.store.approvals(seal.target.asset) if a.batch_id is None]
    return decide(bench.policy, results, context, exceptions)


def _decision_on_record(bench: Bench, seal: Seal, published: Published) -> GateDecision | None:
    """The decision behind a commit: from the store, or made again if the store lost it and it comes out the same."""
    decision_id = published.metadata.get("decision_id", "")
    try:
        return bench.store.decision(decision_id)
    except RecordMissing:
        pass
    if not all(map(bench.files.exists, seal.paths_of(ACCEPTED, QUARANTINED))):
        return None
    again = decide_batch(bench, seal)
    if again.decision_id != decision_id:
        return None
    archive.record_decision(bench, seal, again, recovered=True)
    return again


def commit_metadata(seal: Seal, decision: GateDecision, evidence: str) -> dict[str, Any]:
    """What the target's own history says of the batch."""
    counts = seal.counts_if(published=decision.publishes)
    return {
        "lazaretto": 1,
        "batch_id": seal.batch_id,
        "run_id": seal.run_id,
        "suite": seal.suite,
        "suite_version": seal.suite_version,
        "decision_id": decision.decision_id,
        "evidence": evidence,
        "action": decision.action.value,
        "publication": decision.publication.value,
        "seal": seal.hash,
        "write": seal.write.value,
        "counts": counts.model_dump(),
        "source": {
            "name": seal.source.name,
            "table_id": seal.source.table_id,
            "version": seal.source.version,
            "kind": seal.source.kind,
        },
    } | ({"stream": seal.source.stream.model_dump(exclude={"marks"})} if seal.source.stream else {})


def roll_forward(bench: Bench, target: str, progress: Progress) -> list[Finished]:
    """Finish what earlier runs left open, before anything new is begun."""
    seals = seals_under(bench.files, target)
    for asset in {seal.target.asset for seal in seals}:
        archive.restore_if_behind(bench, asset)
    finished = []
    for seal in seals:
        try:
            finished.append(finish(bench, seal, progress))
        except Overtaken as overtaken:  # its rows are in another batch: nothing of this one may ever be published
            # The seal only: the files are nobody's now, and VACUUM takes them. Were this batch published after all, and
            # its transaction id lost, they would be the table's.
            bench.files.delete(f"{seal.stage}/{SEAL_FILE}")
            bench.store.record_event(
                "lazaretto",
                "gave a staged batch up",
                asset=seal.target.asset,
                subject=seal.batch_id,
                details={"reason": str(overtaken)},
            )
    return finished
