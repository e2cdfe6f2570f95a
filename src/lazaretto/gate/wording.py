"""How results are put into words. Names and counts only: no value of the data, no text with one in it."""

from __future__ import annotations

from lazaretto.model.results import CheckResult
from lazaretto.model.words import CheckStatus, GateReason


def name_of(result: CheckResult) -> str:
    """The rule, and the column it looked at."""
    return f"{result.rule_id} (column {result.column})" if result.column else result.rule_id


def what_happened(result: CheckResult, fault: CheckStatus) -> str:
    """One fault of one result as the start of a sentence."""
    if fault is CheckStatus.FAIL:
        return f"{name_of(result)} failed{_on_rows(result.failed, result.checked)}"
    if result.reason_code == GateReason.CHECK_MISSING:
        return f"{name_of(result)} gave no result"
    if result.status is CheckStatus.SKIPPED:
        return f"{name_of(result)} was skipped although it is expected"
    return f"{name_of(result)} could not be evaluated{_on_rows(result.errored, result.checked)}"


def rows(count: int) -> str:
    """`1 row`, `2 rows`."""
    return f"{count:,} row" if count == 1 else f"{count:,} rows"


def _on_rows(count: int, checked: int) -> str:
    if count <= 0:
        return ""
    return f" on {count:,} of {rows(checked)}" if checked >= count else f" on {rows(count)}"
