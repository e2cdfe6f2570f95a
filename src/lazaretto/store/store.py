"""The store as the other rooms see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lazaretto.model.fingerprint import rule_set_fingerprint
from lazaretto.model.results import Approval, Counts, GateDecision
from lazaretto.model.suite import Suite
from lazaretto.model.words import AssetState
from lazaretto.store import chain, decisions, people, restore, runs, states, suites, verify
from lazaretto.store.database import connect
from lazaretto.store.ledger import Ledger
from lazaretto.store.migrate import migrate
from lazaretto.store.records import (
    ApprovalRecord,
    AssetStanding,
    AuditEvent,
    ChainHead,
    DecisionSummary,
    EvidenceRecord,
    Finding,
    PhaseRecord,
    RunRecord,
)


def open_store(
    url: str,
    *,
    environment: str = "default",
    root: Path | None = None,
    create: bool = True,
    clock: Callable[[], datetime] | None = None,
) -> Store:
    """Open the control store, making or migrating it as needed.

    `root` is where a relative SQLite path begins. With `create=False` a missing SQLite file is an error, for
    commands that only look.
    """
    database = connect(url, root=root, create=create)
    try:
        migrate(database)
    except BaseException:
        database.close()
        raise
    return Store(Ledger(database, environment) if clock is None else Ledger(database, environment, clock))


class Store:
    """One environment's suites, runs, decisions and evidence. Safe to share between threads."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    @property
    def environment(self) -> str:
        """Whose evidence this is."""
        return self._ledger.environment

    @property
    def address(self) -> str:
        """Where the store is, without password."""
        return self._ledger.database.shown

    def __repr__(self) -> str:
        return f"Store({self.address!r}, environment={self.environment!r})"

    def close(self) -> None:
        """Let go of all connections."""
        self._ledger.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Suites and runs

    def register_suite(self, suite: Suite, fingerprint: str | None = None) -> None:
        """Put a suite version on record. SuiteChanged if it is there with another fingerprint."""
        suites.register(self._ledger, suite, fingerprint or rule_set_fingerprint(suite))

    def suite_fingerprint(self, suite: str, version: str) -> str | None:
        """The fingerprint a suite version is on record with, or None."""
        return suites.fingerprint_of(self._ledger, suite, version)

    def begin_run(self, run_id: str, *, suite: str, suite_version: str, asset: str) -> runs.Run:
        """Record the begin of a run: `with store.begin_run(…) as run: with run.phase("stage"): …`."""
        return runs.begin(self._ledger, run_id, suite=suite, suite_version=suite_version, asset=asset)

    def runs(self, run_id: str | None = None, *, limit: int = 50) -> tuple[RunRecord, ...]:
        """Runs, the latest first."""
        return runs.listing(self._ledger, run_id, limit=limit)

    def phases(self, run_key: str) -> tuple[PhaseRecord, ...]:
        """The phases of a run (`RunRecord.key`), in order."""
        return runs.phases(self._ledger, run_key)

    # Decisions

    def record_decision(
        self,
        decision: GateDecision,
        *,
        decided_at: datetime | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> str:
        """Store a decision, before it takes effect; returns its evidence hash.

        The same decision again is a no-op; another verdict under the same id raises RecordConflict.
        """
        return decisions.record(self._ledger, decision, decided_at=decided_at, details=details)

    def record_confirmation(
        self,
        batch_id: str,
        decision_id: str,
        *,
        published_version: int | None,
        counts: Counts,
        commit_version: int | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> str:
        """Store what came of a decision, and the asset's new state; returns its evidence hash. Idempotent.

        `published_version` is None exactly where nothing was published; `commit_version` then tells the empty
        commit. Confirm in the order of commits: the last one recorded is the asset's current state.
        """
        return decisions.confirm(
            self._ledger,
            batch_id,
            decision_id,
            published_version=published_version,
            counts=counts,
            commit_version=commit_version,
            details=details,
        )

    def decision(self, decision_id: str) -> GateDecision:
        """A decision, equal to the one that was stored; RecordMissing if there is none."""
        return decisions.load(self._ledger, decision_id)

    def decisions(
        self,
        asset: str | None = None,
        *,
        limit: int | None = 50,
        before: datetime | None = None,
        since: datetime | None = None,
    ) -> tuple[DecisionSummary, ...]:
        """Decisions, the latest first."""
        return decisions.listing(self._ledger, asset, limit=limit, before=before, since=since)

    def latest_decisions(self) -> Mapping[str, DecisionSummary]:
        """The last decision about each asset."""
        return decisions.latest(self._ledger)

    def decision_named(self, prefix: str) -> DecisionSummary:
        """The one decision whose id begins so; RecordMissing if there is none, or more than one."""
        return decisions.named(self._ledger, prefix)

    def decision_details(self, decision_id: str) -> Mapping[str, Any]:
        """What was attested besides the decision: the seal, and the policy in full."""
        return decisions.details_of(self._ledger, decision_id)

    def unconfirmed(self, asset: str | None = None) -> tuple[DecisionSummary, ...]:
        """Decisions without a confirmation, the oldest first, for `settle`."""
        return decisions.unconfirmed(self._ledger, asset)

    # Asset states

    def asset_state(self, asset: str) -> AssetStanding | None:
        """The current state of an asset; None if nothing is known of it."""
        return states.current(self._ledger, asset)

    def asset_states(self) -> tuple[AssetStanding, ...]:
        """The current state of every asset, by name."""
        return states.all_current(self._ledger)

    def asset_history(self, asset: str, *, limit: int = 100) -> tuple[AssetStanding, ...]:
        """What an asset's state has been, the latest first."""
        return states.history(self._ledger, asset, limit=limit)

    def last_version(self, asset: str, accept: Iterable[AssetState] = (AssetState.CERTIFIED,)) -> int | None:
        """The latest Delta version that stands in an accepted state, or None."""
        return states.last_version(self._ledger, asset, accept)

    def asset_versions(self, asset: str) -> dict[int, AssetState]:
        """Each Delta version on record and the state it stands in today, the last word first."""
        return states.worth(self._ledger, asset)

    def record_transition(
        self,
        asset: str,
        state: AssetState,
        *,
        version: int | None,
        reason: str,
        actor: str,
        assurance: str = "asserted",
        details: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> str:
        """Change an asset's state outside a batch; returns the evidence hash. The same `key` again changes nothing."""
        return people.transition(
            self._ledger,
            asset,
            state,
            version=version,
            reason=reason,
            actor=actor,
            assurance=assurance,
            details=details,
            key=key,
        )

    # People

    def record_approval(
        self,
        approval: Approval,
        asset: str,
        *,
        requested_by: str | None = None,
        decision_id: str | None = None,
        approval_id: str | None = None,
    ) -> str:
        """Put an approval on record; returns its id. Whether it is worth anything is the gate's business.

        An id given by the caller makes it safe to repeat.
        """
        return people.approve(
            self._ledger,
            approval,
            asset,
            requested_by=requested_by,
            decision_id=decision_id,
            approval_id=approval_id,
        )

    def approvals(self, asset: str, *, batch_id: str | None = None, at: datetime | None = None) -> tuple[Approval, ...]:
        """Approvals in force, oldest first; with `batch_id` those for that batch or for any."""
        return people.approvals(self._ledger, asset, batch_id=batch_id, at=at)

    def approvals_on_record(self, asset: str | None = None) -> tuple[ApprovalRecord, ...]:
        """All approvals, the latest first, expired ones too."""
        return people.on_record(self._ledger, asset)

    def record_event(
        self,
        actor: str,
        action: str,
        *,
        asset: str | None = None,
        subject: str | None = None,
        assurance: str = "asserted",
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Note in the audit log that somebody did something."""
        people.log(self._ledger, actor, action, asset=asset, subject=subject, assurance=assurance, details=details)

    def record_action(
        self,
        asset: str,
        action: str,
        *,
        key: str,
        reason: str,
        actor: str,
        assurance: str = "asserted",
        subject: str | None = None,
        batch_id: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> str:
        """Attest what was done to quarantined records of an asset; returns the evidence hash.

        It becomes a link of the asset's chain and an entry of the log. The same `key` again changes nothing.
        """
        return people.act(
            self._ledger,
            asset,
            action,
            key=key,
            reason=reason,
            actor=actor,
            assurance=assurance,
            subject=subject,
            batch_id=batch_id,
            details=details,
        )

    def events(
        self, asset: str | None = None, *, subject: str | None = None, limit: int = 100
    ) -> tuple[AuditEvent, ...]:
        """The audit log, the latest first."""
        return people.events(self._ledger, asset, subject=subject, limit=limit)

    # Evidence

    def evidence(self, asset: str, *, after: int = 0) -> tuple[EvidenceRecord, ...]:
        """An asset's chain, from its first record on, or from the one after a position."""
        return chain.records(self._ledger, asset, after)

    def chain_heads(self, asset: str | None = None) -> tuple[ChainHead, ...]:
        """The last record of each chain, to be noted in the lake."""
        return chain.heads(self._ledger, asset)

    def restore(self, asset: str, records: Sequence[EvidenceRecord], decisions: Mapping[str, Any]) -> restore.Restored:
        """Bring back what copies of the evidence hold and this store does not (see `lazaretto rebuild-store`)."""
        return restore.restore(self._ledger, asset, records, decisions)

    def verify_chain(self, asset: str, known_heads: Sequence[ChainHead] = ()) -> tuple[Finding, ...]:
        """What does not add up in an asset's evidence, the first broken link first; empty if all is well."""
        return verify.verify(self._ledger, asset, known_heads)
