"""Finishing a sealed batch: measure, decide, publish, quarantine or hold, confirm.

Every step may be repeated: what is already done is found done. So the same function carries a fresh batch through
and rolls an interrupted one forward, whoever calls it and however often.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from lazaretto.engine.measure import context_of, measure
from lazaretto.gate.decide import decide
from lazaretto.gate.policy import BUILT_IN, Policy
from lazaretto.model.results import Counts, GateDecision
from lazaretto.model.seal import ACCEPTED, QUARANTINED, SEAL_FILE, Seal
from lazaretto.model.words import GateAction, Publication
from lazaretto.pipeline import taken_files
from lazaretto.pipeline.failpoints import reach
from lazaretto.pipeline.places import Places
from lazaretto.pipeline.samples import with_samples
from lazaretto.quarantine.append import append
from lazaretto.quarantine.held import hold, seals_under
from lazaretto.spark.files import Files
from lazaretto.spark.publisher import CopyPublisher, Published, Publisher, ZeroCopyPublisher
from lazaretto.store import RecordMissing, Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Progress(Protocol):
    """Where a run tells what it is doing."""

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Enclose a phase."""


@dataclass(frozen=True)
class Bench:
    """The tools a batch is worked on with."""

    spark: SparkSession
    places: Places
    store: Store
    policy: Policy = BUILT_IN

    @property
    def files(self) -> Files:
        """The lake's file system."""
        return Files(self.spark)

    def publisher(self, seal: Seal) -> Publisher:
        """The way of publishing the batch was staged for."""
        return CopyPublisher(self.spark) if seal.publisher == "copy" else ZeroCopyPublisher(self.spark)


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
        with progress.phase("measure"):
            decision = decide_batch(bench, seal)
        reach("after_measure", spark)
        bench.store.record_decision(decision, details={"seal": seal.hash})
        reach("after_decision", spark)
        taken_files.note(spark, seal)
        with progress.phase("publish"):
            reach("before_commit", spark)
            published = publisher.publish(
                seal,
                _commit_metadata(seal, decision),
                with_rows=decision.publishes,
                lock=decision.action is GateAction.FAIL_CLOSED,
            )
            reach("after_commit", spark)
    else:
        decision = _decision_on_record(bench, seal, published)
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
    else:
        with progress.phase("quarantine"):
            append(spark, seal, bench.places.records)
        reach("after_quarantine", spark)
        for path in seal.paths_of(QUARANTINED):
            files.delete(path)
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
        files.delete(f"{seal.stage}/{SEAL_FILE}" if visible else seal.stage)
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
    return decide(bench.policy, results, context_of(seal, replaces_published=seal.target.version > 0))


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
    bench.store.record_decision(again, details={"seal": seal.hash, "recovered": True})
    return again


def _commit_metadata(seal: Seal, decision: GateDecision) -> dict[str, Any]:
    """What the target's own history says of the batch."""
    counts = seal.counts_if(published=decision.publishes)
    return {
        "lazaretto": 1,
        "batch_id": seal.batch_id,
        "run_id": seal.run_id,
        "suite": seal.suite,
        "suite_version": seal.suite_version,
        "decision_id": decision.decision_id,
        "action": decision.action.value,
        "publication": decision.publication.value,
        "seal": seal.hash,
        "counts": counts.model_dump(),
        "source": {
            "name": seal.source.name,
            "table_id": seal.source.table_id,
            "version": seal.source.version,
        },
    }


def roll_forward(bench: Bench, target: str, progress: Progress) -> list[Finished]:
    """Finish what earlier runs left open, before anything new is begun."""
    return [finish(bench, seal, progress) for seal in seals_under(bench.files, target)]
