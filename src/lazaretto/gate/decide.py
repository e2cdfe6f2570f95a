"""`decide`: from what was found to what is done. No Spark, no I/O, no clock: same inputs, same decision.

The action is the severest of what failing rules ask for, what thresholds say, what the policy says and what
the safety rules demand. The publication is the worst of the grounds that remain: a batch that sets records
aside and also warns is PUBLISHED_DEGRADED, because the rows that are readable carry the warning.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazaretto.gate.asks import faults
from lazaretto.gate.ground import Ground
from lazaretto.gate.grounds import grounds
from lazaretto.gate.missing import missing_results
from lazaretto.gate.order import PUBLICATIONS, holds, severest
from lazaretto.gate.wording import rows
from lazaretto.model.fingerprint import canonical_json, sha256
from lazaretto.model.policy import Policy
from lazaretto.model.results import Approval, CheckResult, GateContext, GateDecision
from lazaretto.model.words import GateAction, GateReason, Publication, Severity

_NOT_LOOKED_AT = {
    "tool",
    "tool_version",
    "scope",
    "message",
    "owner",
    "runbook",
    "measurements",
    "samples",
    "evaluated_at",
}
"""Keys of a result that cannot change a decision. A batch that another run measures again after a crash is
the same decision; its samples are drawn anew and its clock has moved on."""


_NOT_ASKED = dict.fromkeys(("owner", "expected", "recover_after", "flow"), True)
"""Likewise of the context; of what is expected, the results are there."""


def decide(
    policy: Policy,
    results: Sequence[CheckResult],
    context: GateContext,
    approvals: Sequence[Approval] = (),
) -> GateDecision:
    """What the platform may do with a batch, and why.

    Never raises. A decision's own results, context and approvals give the same decision again.
    """
    complete = (*results, *missing_results(results, context))
    found = grounds(policy, complete, context, approvals)
    action = severest(ground.action for ground in found)
    if action is GateAction.PASS and context.replaces_published:
        action = GateAction.SUPERSEDE
    publication = _publication(action, found, context)
    code, explanation = _explained(action, found, context)
    return GateDecision(
        decision_id=_decision_id(policy, complete, context, approvals),
        scope=context.scope,
        suite=context.suite,
        suite_version=context.suite_version,
        rule_set_fingerprint=context.rule_set_fingerprint,
        action=action,
        publication=publication,
        max_severity=_max_severity(complete, context),
        reason_code=code.value,
        explanation=explanation,
        reasons=tuple(f"{ground.action}: {ground.why}" for ground in found),
        held_by=tuple(dict.fromkeys(g.subject for g in found if holds(g.action) and g.releasable)),
        policy=str(policy),
        results=complete,
        context=context,
        approvals=tuple(approvals),
    )


def _publication(action: GateAction, found: Sequence[Ground], context: GateContext) -> Publication:
    if holds(action):
        return Publication.NOT_PUBLISHED
    states = {Publication.PUBLISHED_CERTIFIED}
    # Batch-wide rates say nothing about a handful of corrected rows.
    if not context.recycled and context.certify_below.exceeded_by(context.rows_quarantined, context.rows):
        states.add(Publication.PUBLISHED_PARTIAL)
    if any(g.softened or g.action in (GateAction.WARN, GateAction.DEGRADE_CONSUMER) for g in found):
        states.add(Publication.PUBLISHED_DEGRADED)
    return max(states, key=PUBLICATIONS.index)


def _explained(action: GateAction, found: Sequence[Ground], context: GateContext) -> tuple[GateReason, str]:
    """The reason that comes first: what holds the batch, else who let it go, else the weightiest ground."""
    if action is GateAction.SUPERSEDE:
        return (
            GateReason.SUPERSEDES_PUBLISHED,
            "nothing stands against the batch; it replaces what was published before",
        )
    if not found:
        return GateReason.ALL_CHECKS_PASSED, f"every check passed on {rows(context.rows)}"
    softened = None if holds(action) else next((ground for ground in found if ground.softened), None)
    first = softened or found[0]
    return first.code, first.why


def _max_severity(results: Sequence[CheckResult], context: GateContext) -> Severity | None:
    bad = (result.severity for result in results if faults(result, context))
    return max(bad, key=lambda severity: severity.rank, default=None)


def _decision_id(
    policy: Policy, results: Sequence[CheckResult], context: GateContext, approvals: Sequence[Approval]
) -> str:
    """Names the decision by what it was made from; the order in which things were given does not matter."""
    judged = [result.model_dump(mode="json", exclude=_NOT_LOOKED_AT) for result in results]
    given = context.model_dump(mode="json", exclude={"scope": {"run_id"}, **_NOT_ASKED})
    given["expected"] = sorted({canonical_json(pair) for pair in context.expected})
    return sha256(
        {
            "policy": policy.digest,
            "results": sorted(judged, key=canonical_json),
            "context": given,
            "approvals": sorted((a.model_dump(mode="json") for a in approvals), key=canonical_json),
        }
    )
