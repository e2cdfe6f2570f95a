"""A ground: one thing that speaks for an action."""

from __future__ import annotations

from dataclasses import dataclass

from lazaretto.gate.order import rank
from lazaretto.model.words import GateAction, GateReason, Severity

GATE_PREFIX = "lz.gate."
"""Grounds of the gate's own have names too, so that an approval can speak of them."""

_CODES = list(GateReason)


@dataclass(frozen=True)
class Ground:
    """One thing that speaks for an action."""

    action: GateAction
    code: GateReason
    subject: str
    """The rule, or `lz.gate.…`: what an approval names."""
    why: str
    severity: int = Severity.CRITICAL.rank
    """Orders grounds of one action."""
    sets_aside: bool = False
    """Rows were kept out because of it."""
    softened: bool = False
    """An approval made it milder than it was."""
    releasable: bool = True

    def weight(self) -> tuple[int, int, int, str, str]:
        """Sorts the weightiest first, and always in one order."""
        return (-rank(self.action), _CODES.index(self.code), -self.severity, self.subject, self.why)
