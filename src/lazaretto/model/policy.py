"""The policy: an ordered table from what went wrong to what is done about it.

The first row that fits decides; where none fits, the asset is closed. A policy may be stricter than the rules
ask, never milder (`Case.floor`), and whatever a project writes, the rows of `GUARD` come first. Plain data: projects
write policies in YAML, the gate asks them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict

from lazaretto.model.fingerprint import sha256
from lazaretto.model.words import CheckStatus, Consumers, Dimension, GateAction, GateReason, Severity, Tier

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

    consumers: Consumers = Consumers.NORMAL

    @property
    def floor(self) -> GateAction:
        """What the rule's own ask demands at least; no policy undercuts it.

        Every rule asks for block_publication where it breaks, unless it says otherwise, so that ask leaves the policy
        room down to a warning.
        """
        if self.status is CheckStatus.ERROR and self.asked is GateAction.BLOCK_PUBLICATION:
            return GateAction.WARN
        return self.asked


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
    consumers: Match[Consumers] = None
    """normal, important, critical: how much depends on those who read the asset."""
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
                (self.consumers, case.consumers),
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
    approvals: Literal["asserted", "authenticated"] = "asserted"
    """How sure the gate has to be of who approved; an approval that is less softens nothing."""

    @property
    def table(self) -> tuple[PolicyRow, ...]:
        """All rows in the order they are tried."""
        return GUARD + self.rows

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the policy does, whatever it is called."""
        form: dict[str, Any] = {"rows": [row.canonical() for row in self.table], "default": DEFAULT}
        return sha256(form if self.approvals == "asserted" else form | {"approvals": self.approvals})

    def takes(self, assurance: str) -> bool:
        """Whether an approval of this assurance counts."""
        return assurance in (self.approvals, "authenticated")

    def __str__(self) -> str:
        return f"{self.name}@{self.digest}"

    def verdict(self, case: Case, *, excused: bool = False) -> Verdict:
        """The first row that fits. `excused`: an exception on record stands, so the guard is not asked."""
        for row in self.rows if excused else self.table:
            if row.fits(case):
                return Verdict(row.action, row.why or described(row), row)
        return Verdict(DEFAULT, f"the policy {self.name} has no row for this case, so the asset is closed", None)


def described(row: PolicyRow) -> str:
    """A row in words, for one that brings none of its own."""
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
