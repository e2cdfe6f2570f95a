"""What came of corrections: counts by correction, and examples before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lazaretto.model.correction import Correction


@dataclass(frozen=True)
class Count:
    """What one correction did."""

    correction: Correction
    tried: int
    """Records it was meant for."""
    applied: int
    """Those it had other values for."""
    succeeded: int
    """Those that passed all rules with them."""
    unusable: str | None = None
    """Why it cannot be tried on some of the records at all."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON and for the evidence."""
        one = self.correction
        return {
            "id": one.id,
            "version": one.version,
            "owner": one.owner,
            "fingerprint": one.fingerprint,
            "tried": self.tried,
            "applied": self.applied,
            "succeeded": self.succeeded,
            "unusable": self.unusable,
        }


@dataclass(frozen=True)
class Example:
    """A record before and after, for a person to look at."""

    record_id: str
    corrections: tuple[str, ...]
    before: str
    after: str
    passes: bool
    broken: tuple[str, ...]
    """Rules that it breaks even so."""


@dataclass(frozen=True)
class Attempted:
    """What came of the corrections of one asset."""

    asset: str
    counts: tuple[Count, ...] = ()
    tried: int = 0
    """Records that some correction was meant for."""
    passing: int = 0
    """Records that would pass."""
    corrected: int = 0
    """Records that were changed: those that pass, less those that somebody changed meanwhile."""
    illegible: Mapping[str, int] = field(default_factory=dict)
    """Open records that are not legible, by payload policy."""
    examples: tuple[Example, ...] = ()
    version: int | None = None
    """The commit in `quarantine.records`; None if nothing was changed."""
    dry_run: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "asset": self.asset,
            "dry_run": self.dry_run,
            "tried": self.tried,
            "passing": self.passing,
            "corrected": self.corrected,
            "illegible": dict(self.illegible),
            "version": self.version,
            "corrections": [count.to_dict() for count in self.counts],
            "examples": [vars(example) for example in self.examples],
        }
