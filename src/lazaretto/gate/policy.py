"""The policy: an ordered table from what went wrong to what is done about it.

The first row that fits decides; where none fits, the asset is closed. A policy may be stricter than the rules
ask, never milder (`asks.Ask.floor`), and whatever a project writes, the rows of `GUARD` come first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict

from lazaretto.gate.asks import asked, faults
from lazaretto.gate.order import rank
from lazaretto.model.fingerprint import sha256
from lazaretto.model.results import CheckResult, GateContext
from lazaretto.model.words import CheckStatus, Dimension, GateAction, GateReason, Severity, Tier

DEFAULT = GateAction.FAIL_CLOSED
"""For a case the policy does not know."""

_Word = TypeVar("_Word")


def _one_or_many(raw: Any) -> Any:
    return [raw] if isinstance(raw, str) else raw


Match = Annotated[frozenset[_Word] | None, BeforeValidator(_one_or_many)]
"""One word, several, or None for any."""


@dataclass(frozen=True)
class Case:
    """What a policy looks at."""

    dimension: Dimension
    severity: Severity
    status: CheckStatus
    tier: Tier
    asked: GateAction

    @classmethod
    def of(cls, result: CheckResult, fault: CheckStatus, context: GateContext) -> Case:
        """The case of one fault of one result."""
        quiet = fault is CheckStatus.PASS
        action = GateAction.PASS if quiet else asked(result, fault, context).action
        return cls(result.dimension, result.severity, fault, context.tier, action)


class PolicyRow(BaseModel):
    """One line of a policy: the cases it is for, and what it does with them."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    dimension: Match[Dimension] = None
    """privacy, validity …"""
    severity: Match[Severity] = None
    """info, low, medium, high, critical."""
    status: Match[CheckStatus] = None
    """fail (the data is wrong), error (the check broke), pass."""
    tier: Match[Tier] = None
    """exploratory, standard, regulatory."""
    asked: Match[GateAction] = None
    """What the rule itself asks for; pass where it only observes."""
    action: GateAction
    """What is done."""
    reason: GateReason | None = None
    """Code for the decision, where the row has one of its own."""
    why: str = ""
    """The reason in words, for the person who reads the decision."""

    def fits(self, case: Case) -> bool:
        """Whether the row is for this case."""
        return all(
            wanted is None or found in wanted
            for wanted, found in (
                (self.dimension, case.dimension),
                (self.severity, case.severity),
                (self.status, case.status),
                (self.tier, case.tier),
                (self.asked, case.asked),
            )
        )

    def canonical(self) -> dict[str, Any]:
        """What the row does, in a form where equal meanings are equal; words of explanation do not count."""
        form = self.model_dump(mode="json", exclude={"why"}, exclude_none=True)
        return {key: sorted(value) if isinstance(value, list) else value for key, value in form.items()}


class Verdict(NamedTuple):
    """What a policy says of a case; `row` is None where it says nothing."""

    action: GateAction
    why: str
    row: PolicyRow | None


class Policy(BaseModel):
    """A named table of rows. Immutable; its digest goes into every decision."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    rows: tuple[PolicyRow, ...]

    @property
    def table(self) -> tuple[PolicyRow, ...]:
        """All rows in the order they are tried."""
        return GUARD + self.rows

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the policy does, whatever it is called."""
        return sha256({"rows": [row.canonical() for row in self.table], "default": DEFAULT})

    def __str__(self) -> str:
        return f"{self.name}@{self.digest}"

    def verdict(self, case: Case, *, excused: bool = False) -> Verdict:
        """The first row that fits. `excused`: an exception on record stands, so the guard is not asked."""
        for row in self.rows if excused else self.table:
            if row.fits(case):
                return Verdict(row.action, row.why or _described(row), row)
        return Verdict(DEFAULT, f"the policy {self.name} has no row for this case, so the asset is closed", None)

    def action_for(self, result: CheckResult, context: GateContext, *, excused: bool = False) -> tuple[GateAction, str]:
        """What the policy says of a result, and why: the severest where it both failed and broke."""
        found = faults(result, context) or (CheckStatus.PASS,)
        verdicts = (self.verdict(Case.of(result, fault, context), excused=excused) for fault in found)
        worst = max(verdicts, key=lambda verdict: rank(verdict.action))
        return worst.action, worst.why


def _described(row: PolicyRow) -> str:
    """A row that brings no words of its own."""
    matched = {key: value for key, value in row.canonical().items() if isinstance(value, list)}
    parts = [f"{key} {' or '.join(words)}" for key, words in matched.items()]
    return f"the policy says {row.action} for {', '.join(parts) or 'everything'}"


def _guard(dimension: Dimension, status: CheckStatus, reason: GateReason) -> PolicyRow:
    what = "failed" if status is CheckStatus.FAIL else "could not be evaluated"
    return PolicyRow(
        dimension=frozenset({dimension}),
        status=frozenset({status}),
        action=GateAction.FAIL_CLOSED,
        reason=reason,
        why=f"a {dimension} rule {what}, which closes the asset until someone approves",
    )


GUARD = (
    _guard(Dimension.PRIVACY, CheckStatus.FAIL, GateReason.PRIVACY_FAILED),
    _guard(Dimension.PRIVACY, CheckStatus.ERROR, GateReason.PRIVACY_ERROR),
    _guard(Dimension.SECURITY, CheckStatus.FAIL, GateReason.SECURITY_FAILED),
    _guard(Dimension.SECURITY, CheckStatus.ERROR, GateReason.SECURITY_ERROR),
)
"""No policy can leave these out; only an exception on record goes past them."""


def _row(action: GateAction, why: str, reason: GateReason | None = None, **match: Any) -> PolicyRow:
    return PolicyRow.model_validate({**match, "action": action, "reason": reason, "why": why})


BUILT_IN = Policy(
    name="built-in",
    rows=(
        _row(GateAction.PASS, "nothing is wrong", status="PASS"),
        _row(GateAction.PASS, "the rule only observes", status="FAIL", asked="PASS"),
        _row(
            GateAction.BLOCK_PUBLICATION,
            "a CRITICAL rule failed, and one failing row is enough",
            GateReason.CRITICAL_FAILED,
            status="FAIL",
            severity="CRITICAL",
        ),
        *(
            _row(action, f"the rule asks for {action}", status="FAIL", asked=action)
            for action in GateAction
            if action not in (GateAction.PASS, GateAction.SUPERSEDE)
        ),
        # A rule that could not be evaluated. `optional: true` arrives here as asking for WARN.
        _row(GateAction.FAIL_CLOSED, "the rule asks for FAIL_CLOSED", status="ERROR", asked="FAIL_CLOSED"),
        _row(
            GateAction.BLOCK_PUBLICATION,
            "a regulatory asset is not published on a check that broke",
            status="ERROR",
            tier="regulatory",
        ),
        _row(
            GateAction.QUARANTINE_RECORDS,
            "the rows that could not be evaluated are kept out",
            status="ERROR",
            asked="QUARANTINE_RECORDS",
        ),
        _row(
            GateAction.WARN,
            "an exploratory asset may be published on a check that broke, as degraded",
            status="ERROR",
            tier="exploratory",
        ),
        _row(GateAction.WARN, "the rule asks for a warning only", status="ERROR", asked="WARN"),
        _row(
            GateAction.BLOCK_PUBLICATION,
            "what could not be checked is not published",
            status="ERROR",
            asked="BLOCK_PUBLICATION",
        ),
    ),
)
"""What decides where a project has no policy of its own."""
