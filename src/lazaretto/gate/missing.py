"""An expected check without a result becomes a result: ERROR, never silence."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from lazaretto.model.results import CheckResult, GateContext
from lazaretto.model.words import CheckStatus, Dimension, GateReason, OnError, OnFail, Severity

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def missing_results(results: Sequence[CheckResult], context: GateContext) -> tuple[CheckResult, ...]:
    """One ERROR for each expected (rule, column) that no result speaks of, in the order they are expected."""
    seen = {(result.rule_id, result.column) for result in results}
    wanted = dict.fromkeys(pair for pair in context.expected if pair not in seen)
    if not wanted:
        return ()
    siblings = {result.rule_id: result for result in sorted(results, key=CheckResult.model_dump_json)}
    # There is no clock here: it was noticed when the last check that did run was done.
    noticed = max((result.evaluated_at for result in results), key=datetime.isoformat, default=_NEVER)
    return tuple(_missing(rule, column, siblings.get(rule), context, noticed) for rule, column in wanted)


def _missing(
    rule_id: str, column: str | None, sibling: CheckResult | None, context: GateContext, noticed: datetime
) -> CheckResult:
    absent: dict[str, Any] = {
        "column": column,
        "status": CheckStatus.ERROR,
        "checked": 0,
        "failed": 0,
        "errored": 0,
        "observed_value": None,
        "reason_code": GateReason.CHECK_MISSING.value,
        "message": "",
        "measurements": {},
        "samples": (),
        "evaluated_at": noticed,
    }
    if sibling is not None:  # the same rule at another column: dimension, severity and owner are known
        return sibling.model_copy(update=absent)
    return CheckResult.model_validate(
        {
            "tool_version": "",
            "suite": context.suite,
            "suite_version": context.suite_version,
            "rule_id": rule_id,
            "rule_version": context.suite_version,
            "rule_fingerprint": "",
            "check": "",
            # Nothing is known of the rule, so the worst is assumed of its weight.
            "dimension": Dimension.STRUCTURE,
            "severity": Severity.CRITICAL,
            "scope": context.scope,
            "on_fail": OnFail.BLOCK_PUBLICATION,
            "on_error": OnError.BLOCK_PUBLICATION,
            "owner": context.owner,
            **absent,
        }
    )
