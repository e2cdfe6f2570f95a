"""Results and contexts with everything filled in that a test does not care about."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from lazaretto.model.results import Approval, CheckResult, GateContext, Scope

SCOPE = Scope(asset="silver.transactions", partition={"day": "2026-07-04"}, run_id="run-1", batch_id="batch-1")
AT = datetime(2026, 7, 4, 2, 8, tzinfo=UTC)


def a_result(rule_id: str = "amount_in_range", **keys: Any) -> CheckResult:
    """A row rule that passed on 100 rows, unless told otherwise. `failed` or `errored` set the status."""
    status = "FAIL" if keys.get("failed") else "ERROR" if keys.get("errored") else "PASS"
    given: dict[str, Any] = {
        "tool_version": "0.1.0",
        "suite": "core",
        "suite_version": "2.4.0",
        "rule_id": rule_id,
        "rule_version": "2.4.0",
        "rule_fingerprint": "f" * 64,
        "check": "range",
        "dimension": "VALIDITY",
        "severity": "MEDIUM",
        "scope": SCOPE,
        "status": status,
        "checked": 100,
        "on_fail": "quarantine_records",
        "on_error": "block_publication",
        "reason_code": "range",
        "owner": "payments-data",
        "evaluated_at": AT,
    }
    return CheckResult.model_validate(given | keys)


def a_context(*results: CheckResult, **keys: Any) -> GateContext:
    """A batch of 100 rows that expects the results given, with the rows they set aside."""
    failed = [r.failed for r in results if r.kind == "row" and r.on_fail.keeps_row_out]
    errored = [r.errored for r in results if r.kind == "row" and r.on_error != "warn" and not r.optional]
    aside = max(failed + errored, default=0)
    given: dict[str, Any] = {
        "suite": "core",
        "suite_version": "2.4.0",
        "rule_set_fingerprint": "a" * 64,
        "scope": SCOPE,
        "owner": "payments-data",
        "tier": "standard",
        "certify_below": "1%",
        "quarantine_batch_above": "50%",
        "rows": 100,
        "rows_failing": max((r.failed for r in results), default=0),
        "rows_quarantined": 0 if keys.get("mode") == "annotate" else aside,
        "expected": tuple((r.rule_id, r.column) for r in results),
        "inputs": ("bronze.transactions version 884",),
    }
    return GateContext.model_validate(given | keys)


def an_approval(*rules: str, **keys: Any) -> Approval:
    """Somebody's word for some rules: a standing exception, unless a batch is named."""
    return Approval.model_validate({"approver": "maria", "rules": rules, "reason": "ticket 17"} | keys)
