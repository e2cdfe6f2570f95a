"""What a proof says: findings that do not add up, and notes on how far it reaches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lazaretto.model.results import Counts
from lazaretto.model.words import Word


class Kind(Word):
    """What is wrong."""

    EVIDENCE = "evidence"
    """The chain, or what the tables of the store say of it."""
    DECISION = "decision"
    """A commit without its decision, or a decision without its commit."""
    CONSERVATION = "conservation"
    """Rows that are not where they have to be."""
    FOREIGN = "foreign"
    """Somebody else changed the rows or the files of the target."""
    OPEN = "open"
    """Something was begun and not finished; `lazaretto settle` finishes it."""


@dataclass(frozen=True)
class Problem:
    """Something that does not add up."""

    kind: Kind
    problem: str
    batch_id: str | None = None
    version: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {"kind": self.kind.value, "problem": self.problem, "batch_id": self.batch_id, "version": self.version}


@dataclass
class Proof:
    """Of one asset."""

    asset: str
    batches: int = 0
    totals: Counts = field(default_factory=Counts)
    records: int = 0
    """Evidence records in the chain."""
    standing: dict[str, int] = field(default_factory=dict)
    """Quarantined records: open, recovered, rejected, archived (and by_hand, which came with no batch)."""
    findings: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether everything adds up."""
        return not self.findings

    def find(self, kind: Kind, problem: str, batch_id: str | None = None, version: int | None = None) -> None:
        """Note something that does not add up."""
        self.findings.append(Problem(kind, problem, batch_id, version))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "asset": self.asset,
            "holds": self.holds,
            "batches": self.batches,
            "counts": self.totals.model_dump(),
            "quarantined": self.standing,
            "evidence_records": self.records,
            "findings": [problem.to_dict() for problem in self.findings],
            "notes": self.notes,
        }
