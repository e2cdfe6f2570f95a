"""Summary metrics of a batch: one row per metric, in the shape others know.

Counts are of the batch as it was judged, whatever was decided about it: a held batch has them as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from lazaretto.model.results import CheckResult, GateDecision
from lazaretto.model.words import Mode, OnError, OnFail

SCHEMA = (
    "run_id string, run_name string, input_location string, output_location string, quarantine_location string, "
    "checks_location string, rule_set_fingerprint string, metric_name string, metric_value string, run_time timestamp, "
    "error_column_name string, warning_column_name string, user_metadata map<string, string>"
)
ERRORS, WARNINGS = "_errors", "_warnings"

BATCH_KEY, DECISION_KEY = "lazaretto.batch_id", "lazaretto.decision_id"
"""Our keys in `user_metadata`: by the first one is known which batches are in the table."""


def metrics(decision: GateDecision) -> dict[str, str]:
    """Metric → value, all as text. What was not counted is left out rather than guessed."""
    context = decision.context
    counts = {
        "input_row_count": context.rows,
        "error_row_count": context.rows_with_errors,
        "warning_row_count": context.rows_with_warnings,
        "valid_row_count": context.rows - context.rows_failing,
    }
    checks: dict[str, dict[str, Any]] = {}
    for result in decision.results:
        # By name, as `_errors` and `_warnings` call them: a rule at many columns has one name.
        check = checks.setdefault(result.rule_id, {"check_name": result.rule_id, "error_count": 0, "warning_count": 0})
        errors, warnings = _found(result)
        check["error_count"] += errors
        check["warning_count"] += warnings
    told = {name: str(count) for name, count in counts.items() if count is not None}
    return told | {"check_metrics": json.dumps(list(checks.values()), ensure_ascii=False)}


def rows(
    decision: GateDecision,
    decided_at: datetime,
    *,
    quarantine: str,
    checks_location: str,
    metadata: Mapping[str, str],
) -> list[dict[str, Any]]:
    """The rows of one batch, ready for the table."""
    context, scope = decision.context, decision.scope
    common = {
        "run_id": scope.run_id,
        "run_name": decision.suite,
        "input_location": context.inputs[0] if context.inputs else None,
        "output_location": scope.asset,
        "quarantine_location": None if context.mode is Mode.ANNOTATE else quarantine,
        "checks_location": checks_location,
        "rule_set_fingerprint": decision.rule_set_fingerprint,
        "run_time": decided_at,
        "error_column_name": ERRORS,
        "warning_column_name": WARNINGS,
        "user_metadata": {
            **metadata,
            BATCH_KEY: scope.batch_id,
            DECISION_KEY: decision.decision_id,
        },
    }
    return [common | {"metric_name": name, "metric_value": value} for name, value in metrics(decision).items()]


def _found(result: CheckResult) -> tuple[int, int]:
    """How often a rule made an error, and how often a warning; what is only observed makes neither by failing."""
    errors = warnings = 0
    if result.on_fail is OnFail.WARN:
        warnings += result.failed
    elif result.on_fail is not OnFail.OBSERVE:
        errors += result.failed
    if result.optional or result.on_error is OnError.WARN:
        return errors, warnings + result.errored
    return errors + result.errored, warnings
