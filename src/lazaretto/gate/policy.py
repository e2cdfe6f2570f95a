"""What the gate asks a policy: the case that a result makes."""

from __future__ import annotations

from lazaretto.gate.asks import asked, faults
from lazaretto.model.policy import Case, Policy
from lazaretto.model.results import CheckResult, GateContext
from lazaretto.model.words import CheckStatus, GateAction


def case_of(result: CheckResult, fault: CheckStatus, context: GateContext) -> Case:
    """The case of one fault of one result."""
    quiet = fault is CheckStatus.PASS
    action = GateAction.PASS if quiet else asked(result, fault, context).action
    return Case(result.dimension, result.severity, fault, context.tier, action, context.consumers)


def action_for(policy: Policy, result: CheckResult, context: GateContext) -> tuple[GateAction, str]:
    """What a policy says of a result, and why: the severest where it both failed and broke."""
    found = faults(result, context) or (CheckStatus.PASS,)
    verdicts = (policy.verdict(case_of(result, fault, context)) for fault in found)
    worst = max(verdicts, key=lambda verdict: verdict.action.rank)
    return worst.action, worst.why
