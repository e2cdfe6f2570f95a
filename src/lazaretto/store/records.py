"""What the store gives back: frozen, plain, and without a database behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lazaretto.model.results import Approval
from lazaretto.model.words import AssetState, GateAction, Publication, Severity, Word


class EvidenceKind(Word):
    """What an evidence record attests."""

    DECISION = "decision"
    CONFIRMATION = "confirmation"
    TRANSITION = "transition"
    APPROVAL = "approval"
    RECORDS = "records"
    """Something was done to quarantined records: which, how many, by whom and why."""


class RunState(Word):
    """How a run ended, if it did. What the gate decided is another matter."""

    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"


class Flaw(Word):
    """How evidence can fail to add up."""

    ALTERED = "altered"
    REMOVED = "removed"
    REORDERED = "reordered"
    REWRITTEN = "rewritten"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True)
class ChainHead:
    """The last record of an asset's chain; kept in the lake too, it betrays a store that was rewritten."""

    asset: str
    sequence: int
    hash: str


@dataclass(frozen=True)
class EvidenceRecord:
    """One link of a chain."""

    asset: str
    sequence: int
    kind: str
    """An `EvidenceKind`, unless somebody altered it."""
    record_key: str
    batch_id: str | None
    recorded_at: datetime
    payload: Mapping[str, Any]
    previous_hash: str
    hash: str


@dataclass(frozen=True)
class Finding:
    """Something that does not add up, and where."""

    asset: str
    flaw: Flaw
    sequence: int | None
    """Position in the chain; None where the flaw is in no single record."""
    problem: str

    def __str__(self) -> str:
        place = self.asset if self.sequence is None else f"{self.asset} #{self.sequence}"
        return f"{place}: {self.problem}"


@dataclass(frozen=True)
class DecisionSummary:
    """A decision as one line of a list; `Store.decision` has the whole."""

    decision_id: str
    asset: str
    run_id: str
    batch_id: str
    suite: str
    suite_version: str
    rule_set_fingerprint: str
    action: GateAction
    publication: Publication
    max_severity: Severity | None
    reason_code: str
    policy: str
    decided_at: datetime
    published_version: int | None
    confirmed: bool


@dataclass(frozen=True)
class AssetStanding:
    """How far an asset can be trusted, and which of its Delta versions that is said of."""

    asset: str
    sequence: int
    state: AssetState
    version: int | None
    supersedes: int | None
    last_attempt_refused: bool
    decision_id: str | None
    batch_id: str | None
    reason: str
    recorded_at: datetime


@dataclass(frozen=True)
class RunRecord:
    """One run of a suite."""

    key: str
    run_id: str
    suite: str
    suite_version: str
    asset: str
    state: RunState
    started_at: datetime
    ended_at: datetime | None
    detail: str | None


@dataclass(frozen=True)
class PhaseRecord:
    """One phase of a run; without an end if the run died in it."""

    position: int
    name: str
    started_at: datetime
    ended_at: datetime | None
    seconds: float | None


@dataclass(frozen=True)
class ApprovalRecord:
    """An approval as it is on record; in force or not."""

    approval_id: str
    asset: str
    approval: Approval
    requested_by: str | None
    recorded_at: datetime


@dataclass(frozen=True)
class AuditEvent:
    """Somebody did something."""

    at: datetime
    actor: str
    assurance: str
    action: str
    asset: str | None
    subject: str | None
    details: Mapping[str, Any]
