"""The message a person gets: all that is asked of it, and no value of the data."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lazaretto.gate import BUILT_IN, decide
from lazaretto.gate.advice import _ADVICE
from lazaretto.gate.message import SHOWN, facts, lines
from lazaretto.model.words import GateReason

from .builders import a_context, a_result, an_approval

SECRET = "4111-1111"


def test_a_blocked_publication_reads_like_this() -> None:
    bad = a_result(
        "case_id_unique",
        column="case_id",
        failed=12,
        checked=9904,
        severity="HIGH",
        on_fail="block_publication",
        owner="case-team",
        runbook="https://wiki/case_id_unique",
    )
    decision = decide(BUILT_IN, [bad], a_context(bad, rows=9904))
    assert lines(decision) == [
        "Publication blocked for silver.transactions partition day=2026-07-04.",
        "Rule case_id_unique (column case_id) failed on 12 of 9,904 rows, severity HIGH.",
        "Severity HIGH.",
        "Action BLOCK_PUBLICATION (CHECK_FAILED): case_id_unique (column case_id) failed on 12 of 9,904 "
        "rows, severity HIGH: the rule asks for BLOCK_PUBLICATION.",
        "Affected: 9,904 rows held, nothing published.",
        "Input bronze.transactions version 884.",
        "Producing run run-1, batch batch-1.",
        f"Suite core 2.4.0, decision {decision.decision_id[:12]}.",
        "Recommended action: inspect the samples of the rule and repair the source; "
        "or release the held batch with an approval that names case_id_unique.",
        "Owner payments-data (rules: case-team).",
        "Runbook https://wiki/case_id_unique",
    ]


def test_a_clean_batch_says_so_in_few_words() -> None:
    text = lines(decide(BUILT_IN, [a_result()], a_context(a_result())))
    assert text[0] == "Published, certified: silver.transactions partition day=2026-07-04."
    assert "Action PASS (ALL_CHECKS_PASSED): every check passed on 100 rows." in text
    assert not any(line.startswith(("Rule", "Also", "Severity")) for line in text)


@pytest.mark.parametrize(
    ("keys", "headline"),
    [
        ({"failed": 1, "dimension": "PRIVACY"}, "Closed until someone approves: silver.transactions"),
        ({"failed": 1, "on_fail": "quarantine_batch"}, "Batch quarantined for silver.transactions"),
        ({"failed": 3}, "Published in part: silver.transactions"),
        ({"failed": 1, "on_fail": "warn"}, "Published as degraded: silver.transactions"),
    ],
)
def test_the_headline_says_what_became_of_it(keys: dict[str, Any], headline: str) -> None:
    bad = a_result(**keys)
    assert lines(decide(BUILT_IN, [bad], a_context(bad)))[0].startswith(headline)


def test_the_facts_are_json_and_have_everything() -> None:
    bad = [a_result(f"r{n:02}", failed=1 + n % 2) for n in range(SHOWN + 2)]
    context = a_context(*bad, records_independent=False)
    approval = an_approval("r01")
    told = facts(decide(BUILT_IN, bad, context, [approval]))
    assert json.loads(json.dumps(told)) == told
    assert len(told["what_failed"]) == SHOWN + 2
    assert told["what_failed"][0]["failed"] == 2
    assert told["affected"] == {
        "rows": 100,
        "failing": 2,
        "published": 0,
        "set_aside": 0,
        "held": 100,
        "text": "100 rows held, nothing published",
    }
    assert told["approvals"][0]["approver"] == "maria"
    assert told["held_by"] == ["lz.gate.records_dependent"]
    text = lines(decide(BUILT_IN, bad, context, [approval]))
    assert f"And {2} more rules." in text
    assert any(line.startswith("Approval by maria (asserted) for r01: ticket 17") for line in text)


def test_observed_missing_and_broken_are_told_apart() -> None:
    observed = a_result("seen", failed=3, on_fail="observe")
    broken = a_result("broken", errored=2)
    context = a_context(observed, broken, expected=(("gone", None),))
    text = lines(decide(BUILT_IN, [observed, broken], context))
    assert "Rule seen failed on 3 of 100 rows, severity MEDIUM, observed only." in text
    assert "Rule broken could not be evaluated on 2 of 100 rows, severity MEDIUM." in text
    assert "Rule gone gave no result, severity CRITICAL." in text


def test_a_schema_that_does_not_fit_offers_no_release() -> None:
    bad = a_result(failed=1, severity="CRITICAL")
    context = a_context(bad, schema_incompatible="no column amount")
    assert "cannot be released" in facts(decide(BUILT_IN, [bad], context))["recommended_action"]


def test_no_value_of_the_data_is_told() -> None:
    bad = a_result(
        failed=1,
        message=f"found {SECRET}",
        measurements={"top": SECRET},
        observed_value="987654",
        samples=[{"record_id": SECRET, "position": SECRET, "reason_code": SECRET, "payload_hash": SECRET}],
    )
    decision = decide(BUILT_IN, [bad], a_context(bad))
    told = json.dumps(facts(decision)) + "\n".join(lines(decision)) + decision.explanation
    assert SECRET not in told
    assert "987654" not in told


def test_there_is_advice_for_every_reason() -> None:
    assert set(_ADVICE) == set(GateReason)
