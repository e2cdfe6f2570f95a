"""What a result says is wrong, and what its rule asks for."""

from __future__ import annotations

from dataclasses import dataclass

from lazaretto.model.results import CheckResult, GateContext
from lazaretto.model.words import CheckStatus, GateAction, GateReason, Mode, OnError, OnFail

_ASKED_ON_FAIL = {
    OnFail.OBSERVE: GateAction.PASS,
    OnFail.WARN: GateAction.WARN,
    OnFail.DEGRADE_CONSUMER: GateAction.DEGRADE_CONSUMER,
    OnFail.QUARANTINE_RECORDS: GateAction.QUARANTINE_RECORDS,
    OnFail.QUARANTINE_BATCH: GateAction.QUARANTINE_BATCH,
    OnFail.BLOCK_PUBLICATION: GateAction.BLOCK_PUBLICATION,
    OnFail.FAIL_CLOSED: GateAction.FAIL_CLOSED,
}


@dataclass(frozen=True)
class Ask:
    """What a rule wants done about one fault of one result."""

    action: GateAction
    """What it asks for; the policy sees this."""
    floor: GateAction
    """What the policy cannot undercut."""
    sets_aside: bool = False
    """Whether rows were kept out of the accepted ones because of it."""


def faults(result: CheckResult, context: GateContext) -> tuple[CheckStatus, ...]:
    """What is wrong: FAIL, ERROR, both or nothing.

    Counts are believed over the status: one failing row is a FAIL, whatever a result calls itself.
    """
    found: list[CheckStatus] = []
    if result.status is CheckStatus.FAIL or result.failed > 0:
        found.append(CheckStatus.FAIL)
    if result.status is CheckStatus.ERROR or result.errored > 0 or skipped_though_expected(result, context):
        found.append(CheckStatus.ERROR)
    return tuple(found)


def skipped_though_expected(result: CheckResult, context: GateContext) -> bool:
    """A check that should have run and did not. An inactive rule is not expected, so it may be skipped."""
    return result.status is CheckStatus.SKIPPED and (result.rule_id, result.column) in context.expected


def asked(result: CheckResult, fault: CheckStatus, context: GateContext) -> Ask:
    """What the rule behind a result asks for, given what is wrong with it."""
    ask = _on_fail(result, context) if fault is CheckStatus.FAIL else _on_error(result, context)
    if context.mode is Mode.ANNOTATE and ask.action is GateAction.QUARANTINE_RECORDS:
        # The rows stay in the target with their faults attached: that is a warning to its readers.
        return Ask(GateAction.WARN, GateAction.WARN)
    return ask


def _on_fail(result: CheckResult, context: GateContext) -> Ask:
    action = _ASKED_ON_FAIL[result.on_fail]
    rows_known = result.kind == "row" and result.failed > 0
    routed = rows_known and result.on_fail.keeps_row_out and context.mode is Mode.QUARANTINE
    if action is GateAction.QUARANTINE_RECORDS and not rows_known:
        # Asked to keep records out, and no record to point at: then all of them.
        return Ask(GateAction.QUARANTINE_BATCH, GateAction.QUARANTINE_BATCH)
    return Ask(action, action, sets_aside=routed)


def _on_error(result: CheckResult, context: GateContext) -> Ask:
    if result.on_error is OnError.FAIL_CLOSED:  # nobody writes this by accident: `optional` does not undo it
        return Ask(GateAction.FAIL_CLOSED, GateAction.FAIL_CLOSED)
    if result.reason_code == GateReason.CHECK_MISSING:
        # Nobody can say what was not looked at, so neither `optional` nor a lenient tier may wave it through.
        return Ask(GateAction.BLOCK_PUBLICATION, GateAction.BLOCK_PUBLICATION)
    if result.optional or result.on_error is OnError.WARN:
        return Ask(GateAction.WARN, GateAction.WARN)
    if result.on_error is OnError.QUARANTINE_RECORDS:
        if _rows_kept_out(result, context) and not _broke_altogether(result, context):
            routed = context.mode is Mode.QUARANTINE
            return Ask(GateAction.QUARANTINE_RECORDS, GateAction.QUARANTINE_RECORDS, sets_aside=routed)
        # The rule could not be evaluated at all, or hardly ever: then it is the rule that is broken and not so many
        # rows, and the batch waits for it.
        return Ask(GateAction.BLOCK_PUBLICATION, GateAction.BLOCK_PUBLICATION)
    # Every rule carries block_publication unless it says otherwise, so it means "as strict as the asset
    # deserves": the policy decides by tier. A rule that insists says fail_closed.
    return Ask(GateAction.BLOCK_PUBLICATION, GateAction.WARN)


def _broke_altogether(result: CheckResult, context: GateContext) -> bool:
    """Whether a rule threw on most rows it was asked about. One broken rule is not a thousand bad records.

    As any rate, it says nothing about a handful of corrected rows; and annotated rows make no records.
    """
    if context.recycled or context.mode is Mode.ANNOTATE:
        return False
    return 2 * result.errored > max(result.checked, 1)


def _rows_kept_out(result: CheckResult, context: GateContext) -> bool:
    """Whether the rows a rule could not judge were set aside one by one (in annotate mode: marked).

    A rule that is broken altogether may count no row or every row; either way fewer were set aside than it says.
    """
    if result.kind != "row" or result.errored <= 0:
        return False
    return context.mode is Mode.ANNOTATE or result.errored <= context.rows_quarantined
