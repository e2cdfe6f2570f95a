"""The grounds for a decision: everything that speaks for an action, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from lazaretto.gate import safety
from lazaretto.gate.asks import Ask, asked, faults
from lazaretto.gate.ground import Ground
from lazaretto.gate.order import holds, rank
from lazaretto.gate.policy import case_of
from lazaretto.gate.wording import what_happened
from lazaretto.model.policy import GUARD, Policy, Verdict
from lazaretto.model.results import Approval, CheckResult, GateContext
from lazaretto.model.words import CheckStatus, GateAction, GateReason, OnFail


def grounds(
    policy: Policy, results: Iterable[CheckResult], context: GateContext, approvals: Sequence[Approval]
) -> list[Ground]:
    """Every ground, the weightiest first. Empty where nothing at all is wrong."""
    approvals = [approval for approval in approvals if policy.takes(approval.assurance)]
    found = [g for result in results for g in _of_result(policy, result, context, approvals)]
    found += safety.of_the_batch(context)
    found = [_released(ground, context, approvals) for ground in found]
    # Asked after the release: a batch let go with rows missing is still a partial one.
    found += [_released(g, context, approvals) for g in safety.of_separation(found, context)]
    return sorted(set(found), key=Ground.weight)


def _of_result(
    policy: Policy, result: CheckResult, context: GateContext, approvals: Sequence[Approval]
) -> Iterator[Ground]:
    exception = _exception(result, approvals)
    for fault in faults(result, context):
        ask = asked(result, fault, context)
        case = case_of(result, fault, context)
        guarded = any(row.fits(case) for row in GUARD)
        excused = guarded and exception is not None
        yield _of_fault(result, fault, ask, policy.verdict(case, excused=excused))
        if excused and exception is not None:
            by_whom = f"under an exception by {exception.approver}: {exception.reason}"
            yield Ground(
                GateAction.WARN,
                GateReason.EXCEPTION_GRANTED,
                result.rule_id,
                f"{what_happened(result, fault)}, {by_whom}",
                result.severity.rank,
                softened=True,
            )
    if not context.recycled:  # so many of a whole batch: that says nothing about a handful of corrected rows
        yield from _of_thresholds(result)


def _of_fault(result: CheckResult, fault: CheckStatus, ask: Ask, verdict: Verdict) -> Ground:
    """The severest of what the rule asks for and what the policy says."""
    by_policy = rank(verdict.action) >= rank(ask.floor)
    action = verdict.action if by_policy else ask.floor
    if not by_policy:
        code, why = None, f"the rule asks for {action}"
    elif verdict.row is None:
        code, why = GateReason.POLICY_SILENT, verdict.why
    else:
        code, why = verdict.row.reason, verdict.why
    return Ground(
        action,
        code or _own_code(result, fault, action),
        result.rule_id,
        f"{what_happened(result, fault)}, severity {result.severity}: {why}",
        result.severity.rank,
        sets_aside=ask.sets_aside,
    )


def _own_code(result: CheckResult, fault: CheckStatus, action: GateAction) -> GateReason:
    if fault is CheckStatus.ERROR:
        if result.reason_code == GateReason.CHECK_MISSING:
            return GateReason.CHECK_MISSING
        return GateReason.CHECK_SKIPPED if result.status is CheckStatus.SKIPPED else GateReason.CHECK_ERROR
    if action is GateAction.PASS:
        return GateReason.FAILURES_OBSERVED
    return GateReason.RECORDS_QUARANTINED if action is GateAction.QUARANTINE_RECORDS else GateReason.CHECK_FAILED


def _of_thresholds(result: CheckResult) -> Iterator[Ground]:
    if result.on_fail is OnFail.OBSERVE:  # counted, and nothing else
        return
    for limit, action in (
        (result.block_above, GateAction.BLOCK_PUBLICATION),
        (result.warn_above, GateAction.WARN),
    ):
        if limit is not None and limit.exceeded_by(result.failed, result.checked):
            yield Ground(
                action,
                GateReason.THRESHOLD_EXCEEDED,
                result.rule_id,
                f"{what_happened(result, CheckStatus.FAIL)}, more than the {limit} that the rule allows",
                result.severity.rank,
            )


def _exception(result: CheckResult, approvals: Sequence[Approval]) -> Approval | None:
    standing = (a for a in approvals if a.batch_id is None and result.rule_id in a.rules)
    return min(standing, key=_order, default=None)


def _released(ground: Ground, context: GateContext, approvals: Sequence[Approval]) -> Ground:
    """A ground that holds the batch, as an approval of its release leaves it."""
    if not holds(ground.action) or not ground.releasable:
        return ground
    for_it = (a for a in approvals if a.batch_id == context.scope.batch_id and ground.subject in a.rules)
    approval = min(for_it, key=_order, default=None)
    if approval is None:
        return ground
    return replace(
        ground,
        # Rows that were kept out at staging stay out: an approval moves the batch, not its records.
        action=GateAction.QUARANTINE_RECORDS if ground.sets_aside else GateAction.WARN,
        code=GateReason.RELEASED,
        why=f"{ground.why}; released by {approval.approver}: {approval.reason}",
        softened=True,
    )


def _order(approval: Approval) -> str:
    """So that the order in which approvals are given does not matter."""
    return approval.model_dump_json()
