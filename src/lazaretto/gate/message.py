"""What a person is told about a decision: what failed, where, how bad, why, what to do, who answers for it.

`facts` is for machines and `lines` for the terminal; the second is written from the first, so that they
cannot differ. Neither contains a value of the data, nor a text that a value could be in (messages, samples,
measurements, observed values).
"""

from __future__ import annotations

from typing import Any

from lazaretto.gate.advice import headline, recommended
from lazaretto.gate.asks import faults
from lazaretto.gate.outcome import asset_state_after
from lazaretto.gate.wording import rows, what_happened
from lazaretto.model.results import CheckResult, GateContext, GateDecision
from lazaretto.model.words import CheckStatus, OnFail

SHOWN = 10
"""Rules and reasons named in the text; the facts have them all."""


def facts(decision: GateDecision) -> dict[str, Any]:
    """Everything worth telling, ready for JSON."""
    context = decision.context
    bad = [result for result in decision.results if faults(result, context)]
    bad.sort(key=lambda result: (-result.severity.rank, -result.failed, result.rule_id, result.column or ""))
    state = asset_state_after(decision)
    return {
        "headline": headline(decision),
        "asset": decision.scope.asset,
        "partition": dict(decision.scope.partition),
        "what_failed": [_failed(result, context) for result in bad],
        "max_severity": decision.max_severity and decision.max_severity.value,
        "action": decision.action.value,
        "reason_code": decision.reason_code,
        "explanation": decision.explanation,
        "reasons": list(decision.reasons),
        "publication": decision.publication.value,
        "asset_state": state and state.value,
        "affected": _affected(decision),
        "inputs": list(context.inputs),
        "run_id": decision.scope.run_id,
        "batch_id": decision.scope.batch_id,
        "backfill_id": decision.scope.backfill_id,
        "suite": decision.suite,
        "suite_version": decision.suite_version,
        "policy": decision.policy,
        "decision_id": decision.decision_id,
        "held_by": list(decision.held_by),
        "approvals": [
            approval.model_dump(mode="json", include={"approver", "assurance", "rules", "reason", "expires_at"})
            for approval in decision.approvals
        ],
        "recommended_action": recommended(decision),
        "owner": context.owner,
        "rule_owners": sorted({result.owner for result in bad} - {context.owner}),
        "runbooks": list(dict.fromkeys(result.runbook for result in bad if result.runbook)),
    }


def lines(decision: GateDecision) -> list[str]:
    """The message as plain text."""
    told = facts(decision)
    partition = ", ".join(f"{name}={value}" for name, value in told["partition"].items())
    text = [f"{told['headline']} {told['asset']}{f' partition {partition}' if partition else ''}."]
    text += [_sentence(failed) for failed in told["what_failed"][:SHOWN]]
    text += _more(len(told["what_failed"]), "rules")
    if told["max_severity"]:
        text.append(f"Severity {told['max_severity']}.")
    text.append(f"Action {told['action']} ({told['reason_code']}): {told['explanation']}.")
    others = [reason for reason in told["reasons"] if not reason.endswith(f": {told['explanation']}")]
    text += [f"Also {reason}." for reason in others[:SHOWN]]
    text += _more(len(others), "reasons")
    text.append(f"Affected: {told['affected']['text']}.")
    if told["inputs"]:
        text.append(f"Input {'; '.join(told['inputs'])}.")
    backfill = f", backfill {told['backfill_id']}" if told["backfill_id"] else ""
    text.append(f"Producing run {told['run_id']}, batch {told['batch_id']}{backfill}.")
    text.append(f"Suite {told['suite']} {told['suite_version']}, decision {told['decision_id'][:12]}.")
    for approval in told["approvals"]:
        named = ", ".join(approval["rules"]) or "no rule"
        text.append(f"Approval by {approval['approver']} ({approval['assurance']}) for {named}: {approval['reason']}.")
    text.append(f"Recommended action: {told['recommended_action']}.")
    owners = ", ".join(told["rule_owners"])
    text.append(f"Owner {told['owner']}{f' (rules: {owners})' if owners else ''}.")
    text += [f"Runbook {runbook}" for runbook in told["runbooks"]]
    return text


def _failed(result: CheckResult, context: GateContext) -> dict[str, Any]:
    found = faults(result, context)
    return {
        "rule_id": result.rule_id,
        "rule_version": result.rule_version,
        "column": result.column,
        "check": result.check,
        "dimension": result.dimension.value,
        "severity": result.severity.value,
        "status": result.status.value,
        "faults": [fault.value for fault in found],
        "checked": result.checked,
        "failed": result.failed,
        "errored": result.errored,
        "reason_code": result.reason_code,
        "observed_only": result.on_fail is OnFail.OBSERVE and CheckStatus.ERROR not in found,
        "text": " and ".join(what_happened(result, fault) for fault in found),
        "owner": result.owner,
        "runbook": result.runbook,
        "samples": len(result.samples),
    }


def _sentence(failed: dict[str, Any]) -> str:
    note = ", observed only" if failed["observed_only"] else ""
    return f"Rule {failed['text']}, severity {failed['severity']}{note}."


def _affected(decision: GateDecision) -> dict[str, Any]:
    context = decision.context
    aside = context.rows_quarantined
    if decision.publishes:
        published, held = context.rows - aside, 0
        text = f"{rows(published)} published, {aside:,} set aside"
    else:
        # A held batch is held with everything in it: nothing of it reaches the asset or the inbox.
        published, aside, held = 0, 0, context.rows
        text = f"{rows(held)} held, nothing published"
    counted = {"rows": context.rows, "failing": context.rows_failing, "published": published}
    return {**counted, "set_aside": aside, "held": held, "text": text}


def _more(count: int, what: str) -> list[str]:
    return [f"And {count - SHOWN} more {what}."] if count > SHOWN else []
