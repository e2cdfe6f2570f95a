"""What to do about a decision, by its reason. Words for the person on duty."""

from __future__ import annotations

from lazaretto.gate.order import holds
from lazaretto.model.results import GateDecision
from lazaretto.model.words import GateAction, GateReason, Publication

_ADVICE: dict[str, str] = {
    GateReason.PRIVACY_FAILED: "keep the batch closed, find where the data came from, tell its owner",
    GateReason.PRIVACY_ERROR: "repair the privacy check and run again; until then nothing is known",
    GateReason.SECURITY_FAILED: "keep the batch closed and tell whoever answers for security",
    GateReason.SECURITY_ERROR: "repair the security check and run again; until then nothing is known",
    GateReason.POLICY_SILENT: "add a row for this case to the policy and run again",
    GateReason.SCHEMA_INCOMPATIBLE: "have the source restore the agreed columns, or migrate the asset",
    GateReason.CRITICAL_FAILED: "inspect the samples of the critical rule, repair the source, run again",
    GateReason.CHECK_MISSING: "report it: the fault is in the run and not in the data",
    GateReason.CHECK_SKIPPED: "find out why the check was skipped, or deactivate the rule, and run again",
    GateReason.CHECK_ERROR: "repair the check or what it depends on, and run again",
    GateReason.REFERENCE_MISSING: "bring the reference table back and run again",
    GateReason.KEY_NULL: "have the source fill the key and deliver the batch again",
    GateReason.KEY_NOT_UNIQUE: "trace the duplicates to their source, repair the deduplication, run again",
    GateReason.REJECT_RATE: "look for one common cause, such as a changed format; repair the source",
    GateReason.THRESHOLD_EXCEEDED: "inspect the samples and repair the source, or correct the threshold",
    GateReason.RECORDS_DEPENDENT: "repair the records at the source and deliver the whole batch again",
    GateReason.PARTIAL_NOT_ALLOWED: "repair the rejected records and run again: all rows or none",
    GateReason.AGGREGATES_FED: "repair the rejected records before anything is added up, and run again",
    GateReason.RELEASED: "repair what the approval tolerates before it becomes a habit",
    GateReason.EXCEPTION_GRANTED: "repair what the exception tolerates before it expires",
    GateReason.CHECK_FAILED: "inspect the samples of the rule and repair the source",
    GateReason.RECORDS_QUARANTINED: "review the quarantined records: correct them or reject them",
    GateReason.FAILURES_OBSERVED: "decide before its last day whether the observed rule should be enforced",
    GateReason.SUPERSEDES_PUBLISHED: "nothing to do; readers of the replaced version should read again",
    GateReason.ALL_CHECKS_PASSED: "nothing to do",
}


def recommended(decision: GateDecision) -> str:
    """What to do next."""
    advice = _ADVICE.get(decision.reason_code, "read the reasons and ask the owner")
    if not holds(decision.action):
        return advice
    if not decision.held_by or decision.context.schema_incompatible is not None:
        return f"{advice}; the held batch cannot be released as it is"
    return f"{advice}; or release the held batch with an approval that names {', '.join(decision.held_by)}"


def headline(decision: GateDecision) -> str:
    """What happened, in a few words that the name of the asset follows."""
    if decision.action is GateAction.FAIL_CLOSED:
        return "Closed until someone approves:"
    if decision.action is GateAction.QUARANTINE_BATCH:
        return "Batch quarantined for"
    if decision.action is GateAction.BLOCK_PUBLICATION:
        return "Publication blocked for"
    return {
        Publication.PUBLISHED_CERTIFIED: "Published, certified:",
        Publication.PUBLISHED_PARTIAL: "Published in part:",
        Publication.PUBLISHED_DEGRADED: "Published as degraded:",
    }[decision.publication]
