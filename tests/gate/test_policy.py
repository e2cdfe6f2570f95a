"""The policy as data: first match, closed where it is silent, a digest of what it does."""

from __future__ import annotations

from itertools import product

import pytest
from pydantic import ValidationError

from lazaretto.gate import BUILT_IN, Policy, PolicyRow, decide
from lazaretto.gate.policy import action_for
from lazaretto.model.policy import GUARD, Case
from lazaretto.model.words import CheckStatus, Dimension, GateAction, Severity, Tier

from .builders import a_context, a_result

ASKED = [action for action in GateAction if action is not GateAction.SUPERSEDE]


def test_the_built_in_policy_knows_every_case_a_rule_can_make() -> None:
    on_error = {"WARN", "QUARANTINE_RECORDS", "BLOCK_PUBLICATION", "FAIL_CLOSED"}
    for dimension, severity, tier, asked in product(Dimension, Severity, Tier, ASKED):
        assert BUILT_IN.verdict(Case(dimension, severity, CheckStatus.FAIL, tier, asked)).row is not None
        if asked in on_error:
            assert BUILT_IN.verdict(Case(dimension, severity, CheckStatus.ERROR, tier, asked)).row is not None


def test_every_row_of_the_built_in_policy_is_reached() -> None:
    cases = [Case(*values) for values in product(Dimension, Severity, (*CheckStatus,), Tier, (*ASKED,))]
    reached = {id(BUILT_IN.verdict(case).row) for case in cases}
    assert {id(row) for row in BUILT_IN.table} <= reached


@pytest.mark.parametrize("rows", [(), ({"status": "FAIL", "tier": "regulatory", "action": "WARN"},)])
def test_a_case_no_row_fits_is_closed(rows: tuple[dict[str, str], ...]) -> None:
    policy = Policy.model_validate({"name": "mine", "rows": rows})
    bad = a_result(failed=1, on_fail="warn")
    decision = decide(policy, [bad], a_context(bad))
    assert (decision.action, decision.reason_code) == ("FAIL_CLOSED", "POLICY_SILENT")
    assert action_for(policy, bad, a_context(bad))[0] == "FAIL_CLOSED"


def test_the_first_row_that_fits_decides() -> None:
    rows = (
        PolicyRow.model_validate({"severity": ["low", "info"], "action": "warn"}),
        PolicyRow.model_validate({"status": "fail", "action": "block_publication", "why": "we are strict"}),
    )
    policy = Policy(name="mine", rows=rows)
    low, high = a_result(failed=1, severity="LOW"), a_result(failed=1, severity="HIGH")
    assert action_for(policy, low, a_context()) == ("WARN", "the policy says WARN for severity INFO or LOW")
    assert action_for(policy, high, a_context()) == ("BLOCK_PUBLICATION", "we are strict")


def test_a_policy_escalates_and_never_softens() -> None:
    mild = Policy(name="mild", rows=(PolicyRow(action=GateAction.PASS),))
    bad = a_result(failed=1)
    assert decide(mild, [bad], a_context(bad)).action == "QUARANTINE_RECORDS"
    broken = a_result(status="ERROR")
    assert decide(mild, [broken], a_context(broken)).action == "WARN"  # never a pass


def test_no_policy_gets_past_the_guard() -> None:
    mild = Policy(name="mild", rows=(PolicyRow(action=GateAction.PASS),))
    private = a_result(failed=1, dimension="PRIVACY", on_fail="observe")
    assert mild.table[: len(GUARD)] == GUARD
    assert decide(mild, [private], a_context(private)).action == "FAIL_CLOSED"


def test_action_for_takes_the_severest_of_failed_and_broken() -> None:
    both = a_result(failed=1, errored=1, on_fail="warn")
    assert action_for(BUILT_IN, both, a_context(both))[0] == "BLOCK_PUBLICATION"
    assert action_for(BUILT_IN, a_result(), a_context()) == ("PASS", "nothing is wrong")


def test_the_digest_is_of_what_a_policy_does() -> None:
    row = PolicyRow.model_validate({"severity": ["LOW", "INFO"], "action": "WARN"})
    same = PolicyRow.model_validate({"severity": ["info", "low"], "action": "warn", "why": "because"})
    other = PolicyRow.model_validate({"severity": ["info", "low"], "action": "PASS"})
    digests = [Policy(name=str(n), rows=(r,)).digest for n, r in enumerate((row, same, other))]
    assert digests[0] == digests[1] != digests[2]
    assert len(digests[0]) == 64
    assert Policy(name="x", rows=(row, other)).digest != Policy(name="x", rows=(other, row)).digest
    assert str(BUILT_IN) == f"built-in@{BUILT_IN.digest}"


def test_unknown_keys_and_words_are_refused() -> None:
    with pytest.raises(ValidationError):
        PolicyRow.model_validate({"sevrity": "LOW", "action": "WARN"})
    with pytest.raises(ValidationError):
        PolicyRow.model_validate({"severity": "AWFUL", "action": "WARN"})
