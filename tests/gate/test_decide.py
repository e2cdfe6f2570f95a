"""Every row of the action table, and every rule that leads to it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from lazaretto.gate import BUILT_IN, Policy, asset_state_after, decide, exit_code
from lazaretto.gate.order import ACTIONS, rank
from lazaretto.model.results import CheckResult, GateDecision
from lazaretto.model.words import GateAction, Severity

from .builders import AT, a_context, a_result, an_approval


def decided(*results: CheckResult, approvals: tuple[Any, ...] = (), **context: Any) -> GateDecision:
    return decide(BUILT_IN, results, a_context(*results, **context), approvals)


def outcome(decision: GateDecision) -> tuple[str, str, str | None, int, int]:
    state = asset_state_after(decision)
    return (
        decision.action.value,
        decision.publication.value,
        state and state.value,
        exit_code(decision),
        exit_code(decision, strict=True),
    )


CERTIFIED, PARTIAL, DEGRADED = "PUBLISHED_CERTIFIED", "PUBLISHED_PARTIAL", "PUBLISHED_DEGRADED"
NOT = "NOT_PUBLISHED"


@pytest.mark.parametrize(
    ("results", "context", "expected"),
    [
        ([a_result()], {}, ("PASS", CERTIFIED, "certified", 0, 0)),
        ([a_result(checked=0)], {"rows": 0}, ("PASS", CERTIFIED, "certified", 0, 0)),
        ([a_result(failed=1)], {}, ("QUARANTINE_RECORDS", CERTIFIED, "certified", 0, 0)),
        ([a_result(failed=2)], {}, ("QUARANTINE_RECORDS", PARTIAL, "partial", 0, 5)),
        ([a_result(failed=1, on_fail="warn")], {}, ("WARN", DEGRADED, "degraded", 0, 5)),
        (
            [a_result(failed=1, on_fail="degrade_consumer")],
            {},
            ("DEGRADE_CONSUMER", DEGRADED, "degraded", 0, 5),
        ),
        ([a_result()], {"replaces_published": True}, ("SUPERSEDE", CERTIFIED, "certified", 0, 0)),
        ([a_result(failed=1, on_fail="quarantine_batch")], {}, ("QUARANTINE_BATCH", NOT, None, 3, 3)),
        ([a_result(failed=1, on_fail="block_publication")], {}, ("BLOCK_PUBLICATION", NOT, None, 3, 3)),
        ([a_result(failed=1, on_fail="fail_closed")], {}, ("FAIL_CLOSED", NOT, "locked", 4, 4)),
        ([a_result(failed=1)], {"mode": "annotate"}, ("WARN", DEGRADED, "uncertified", 0, 5)),
    ],
)
def test_action_table(results: list[CheckResult], context: dict[str, Any], expected: tuple[Any, ...]) -> None:
    assert outcome(decided(*results, **context)) == expected


def test_the_order_of_actions_is_complete() -> None:
    assert set(ACTIONS) == set(GateAction)
    assert len(ACTIONS) == len(GateAction)


class TestPublication:
    def test_the_worse_of_partial_and_degraded(self) -> None:
        both = decided(a_result("a", failed=5), a_result("b", failed=1, on_fail="warn"))
        assert (both.action, both.publication) == ("QUARANTINE_RECORDS", DEGRADED)

    def test_superseding_with_rejects_is_not_a_plain_supersede(self) -> None:
        assert decided(a_result(failed=1), replaces_published=True).action == "QUARANTINE_RECORDS"

    def test_a_recycled_batch_knows_no_rates(self) -> None:
        still_bad = decided(a_result(failed=100), recycled=True)
        assert (still_bad.action, still_bad.publication) == ("QUARANTINE_RECORDS", CERTIFIED)
        assert asset_state_after(still_bad) is None
        warned = decided(a_result(failed=1, on_fail="warn"), recycled=True)
        assert asset_state_after(warned) == "degraded"


class TestFail:
    def test_one_failing_row_counts_whatever_the_thresholds_say(self) -> None:
        decision = decided(a_result(failed=1, warn_above="50%", block_above="90%"))
        assert decision.action == "QUARANTINE_RECORDS"

    def test_counts_are_believed_over_the_status(self) -> None:
        assert decided(a_result(failed=1, status="PASS", on_fail="warn")).action == "WARN"
        assert decided(a_result(errored=1, status="PASS")).action == "BLOCK_PUBLICATION"

    def test_observe_counts_only(self) -> None:
        decision = decided(
            a_result(failed=40, on_fail="observe", severity="CRITICAL", warn_above=1, block_above=2),
            rows_failing=0,
        )
        assert (decision.action, decision.publication) == ("PASS", CERTIFIED)
        assert (decision.reason_code, decision.max_severity) == ("FAILURES_OBSERVED", Severity.CRITICAL)

    @pytest.mark.parametrize("dimension", ["PRIVACY", "SECURITY"])
    @pytest.mark.parametrize("tier", ["exploratory", "standard", "regulatory"])
    @pytest.mark.parametrize("mode", ["quarantine", "annotate"])
    @pytest.mark.parametrize(
        "keys",
        [
            {"failed": 1},
            {"failed": 1, "on_fail": "observe"},
            {"failed": 1, "severity": "INFO", "on_fail": "warn"},
            {"status": "ERROR", "optional": True},
            {"errored": 1, "on_error": "warn"},
            {"status": "SKIPPED"},
        ],
    )
    def test_privacy_and_security_close(self, dimension: str, tier: str, mode: str, keys: dict[str, Any]) -> None:
        decision = decided(a_result(dimension=dimension, **keys), tier=tier, mode=mode)
        assert outcome(decision) == ("FAIL_CLOSED", NOT, "locked", 4, 4)
        assert decision.reason_code == f"{dimension}_{'FAILED' if keys.get('failed') else 'ERROR'}"

    @pytest.mark.parametrize("on_fail", ["warn", "quarantine_records", "block_publication"])
    def test_critical_blocks(self, on_fail: str) -> None:
        decision = decided(a_result(failed=1, severity="CRITICAL", on_fail=on_fail))
        assert (decision.action, decision.reason_code) == ("BLOCK_PUBLICATION", "CRITICAL_FAILED")

    def test_critical_may_ask_for_more(self) -> None:
        assert decided(a_result(failed=1, severity="CRITICAL", on_fail="fail_closed")).action == "FAIL_CLOSED"

    @pytest.mark.parametrize("keys", [{"kind": "dataset"}, {"kind": "schema"}, {"failed": 0}])
    def test_no_record_to_quarantine_means_all_of_them(self, keys: dict[str, Any]) -> None:
        decision = decided(a_result(**{"failed": 3, "status": "FAIL"} | keys), rows_quarantined=0)
        assert decision.action == "QUARANTINE_BATCH"


class TestThresholds:
    @pytest.mark.parametrize(
        ("limits", "action", "publication"),
        [
            ({"block_above": "5%"}, "QUARANTINE_RECORDS", PARTIAL),
            ({"block_above": "4.9%"}, "BLOCK_PUBLICATION", NOT),
            ({"block_above": 5}, "QUARANTINE_RECORDS", PARTIAL),
            ({"block_above": 4}, "BLOCK_PUBLICATION", NOT),
            ({"warn_above": "5%"}, "QUARANTINE_RECORDS", PARTIAL),
            ({"warn_above": "4%"}, "QUARANTINE_RECORDS", DEGRADED),
        ],
    )
    def test_of_a_rule(self, limits: dict[str, Any], action: str, publication: str) -> None:
        decision = decided(a_result(failed=5, **limits))
        assert (decision.action, decision.publication) == (action, publication)

    def test_are_shares_of_the_rows_checked_and_not_of_the_batch(self) -> None:
        assert decided(a_result(failed=5, checked=10, block_above="49%")).action == "BLOCK_PUBLICATION"

    @pytest.mark.parametrize(("failing", "action"), [(50, "QUARANTINE_RECORDS"), (51, "QUARANTINE_BATCH")])
    def test_of_the_suite(self, failing: int, action: str) -> None:
        assert decided(a_result(failed=failing)).action == action

    def test_all_rows_bad(self) -> None:
        assert decided(a_result(failed=100)).reason_code == "REJECT_RATE"
        allowed = decided(a_result(failed=100), quarantine_batch_above="100%")
        assert (allowed.action, allowed.publication) == ("QUARANTINE_RECORDS", PARTIAL)


class TestError:
    @pytest.mark.parametrize(
        ("tier", "keys", "action"),
        [
            ("regulatory", {}, "BLOCK_PUBLICATION"),
            ("standard", {}, "BLOCK_PUBLICATION"),
            ("exploratory", {}, "WARN"),
            ("regulatory", {"optional": True}, "BLOCK_PUBLICATION"),
            ("standard", {"optional": True}, "WARN"),
            ("exploratory", {"optional": True}, "WARN"),
            ("regulatory", {"on_error": "warn"}, "BLOCK_PUBLICATION"),
            ("standard", {"on_error": "warn"}, "WARN"),
            ("regulatory", {"on_error": "quarantine_records", "errored": 2}, "BLOCK_PUBLICATION"),
            ("standard", {"on_error": "quarantine_records", "errored": 2}, "QUARANTINE_RECORDS"),
            ("exploratory", {"on_error": "quarantine_records", "errored": 2}, "QUARANTINE_RECORDS"),
            # On most rows it is asked about: the rule is broken, not the rows.
            ("standard", {"on_error": "quarantine_records", "errored": 50}, "QUARANTINE_RECORDS"),
            ("standard", {"on_error": "quarantine_records", "errored": 51}, "BLOCK_PUBLICATION"),
            ("exploratory", {"on_error": "quarantine_records", "errored": 9, "checked": 12}, "BLOCK_PUBLICATION"),
            # nothing was evaluated, so no row was kept out
            ("standard", {"on_error": "quarantine_records"}, "BLOCK_PUBLICATION"),
            ("exploratory", {"on_error": "quarantine_records"}, "BLOCK_PUBLICATION"),
            (
                "standard",
                {"on_error": "quarantine_records", "kind": "dataset", "errored": 1},
                "BLOCK_PUBLICATION",
            ),
            *((tier, {"on_error": "fail_closed"}, "FAIL_CLOSED") for tier in ("exploratory", "regulatory")),
            ("exploratory", {"on_error": "fail_closed", "optional": True}, "FAIL_CLOSED"),
        ],
    )
    def test_by_tier_and_by_what_the_rule_asks(self, tier: str, keys: dict[str, Any], action: str) -> None:
        decision = decided(a_result(**{"status": "ERROR"} | keys), tier=tier)
        assert (decision.action, decision.reason_code) == (action, "CHECK_ERROR")
        assert decision.publication is not None

    def test_rows_that_were_not_kept_out_hold_the_batch(self) -> None:
        broken = a_result(errored=40, on_error="quarantine_records")
        assert decided(broken, rows_quarantined=39, rows_failing=0).action == "BLOCK_PUBLICATION"
        assert decided(broken, rows_quarantined=40, rows_failing=0).action == "QUARANTINE_RECORDS"

    def test_of_an_observed_rule_is_an_error_all_the_same(self) -> None:
        assert decided(a_result(status="ERROR", on_fail="observe")).action == "BLOCK_PUBLICATION"

    def test_rows_set_aside_make_it_more_than_a_warning(self) -> None:
        decision = decided(a_result(errored=3), tier="exploratory", rows_quarantined=3)
        assert (decision.action, decision.publication) == ("QUARANTINE_RECORDS", DEGRADED)

    def test_failed_and_broken_at_once(self) -> None:
        decision = decided(a_result(failed=1, errored=1, on_fail="warn"))
        assert decision.action == "BLOCK_PUBLICATION"
        assert {reason.split(" on ")[0] for reason in decision.reasons} >= {
            "BLOCK_PUBLICATION: amount_in_range could not be evaluated",
            "WARN: amount_in_range failed",
        }

    @pytest.mark.parametrize("tier", ["exploratory", "standard", "regulatory"])
    def test_an_expected_check_without_a_result(self, tier: str) -> None:
        context = a_context(tier=tier, expected=(("there", None), ("gone", "iban")))
        decision = decide(BUILT_IN, [a_result("there")], context)
        assert (decision.action, decision.reason_code) == ("BLOCK_PUBLICATION", "CHECK_MISSING")
        added = decision.results[-1]
        assert (added.rule_id, added.column, added.status) == ("gone", "iban", "ERROR")
        assert (added.reason_code, added.owner) == ("CHECK_MISSING", "payments-data")

    def test_no_result_at_all(self) -> None:
        assert decide(BUILT_IN, [], a_context(expected=(("a", None),))).action == "BLOCK_PUBLICATION"

    def test_a_missing_column_of_a_privacy_rule_closes(self) -> None:
        seen = a_result("no_pan", column="a", dimension="PRIVACY", optional=True)
        decision = decide(BUILT_IN, [seen], a_context(expected=(("no_pan", "a"), ("no_pan", "b"))))
        assert (decision.action, decision.reason_code) == ("FAIL_CLOSED", "PRIVACY_ERROR")

    def test_skipped_is_no_pass_where_the_check_was_expected(self) -> None:
        skipped = a_result(status="SKIPPED")
        assert decided(skipped).reason_code == "CHECK_SKIPPED"
        assert decided(skipped).action == "BLOCK_PUBLICATION"
        assert decided(skipped, expected=()).action == "PASS"


class TestSafety:
    CASES = (
        ({"records_independent": False}, "QUARANTINE_BATCH", "RECORDS_DEPENDENT"),
        ({"null_keys": 1}, "QUARANTINE_BATCH", "KEY_NULL"),
        ({"duplicate_keys": 2}, "QUARANTINE_BATCH", "KEY_NOT_UNIQUE"),
        ({"partial_allowed": False}, "BLOCK_PUBLICATION", "PARTIAL_NOT_ALLOWED"),
        ({"feeds_aggregates": True}, "BLOCK_PUBLICATION", "AGGREGATES_FED"),
        ({"missing_references": ("ref.accounts",)}, "BLOCK_PUBLICATION", "REFERENCE_MISSING"),
    )

    @pytest.mark.parametrize(("context", "action", "code"), CASES)
    def test_turns_a_quarantine_into_a_held_batch(self, context: dict[str, Any], action: str, code: str) -> None:
        decision = decided(a_result(failed=1), **context)
        assert (decision.action, decision.reason_code) == (action, code)
        assert decision.held_by == (f"lz.gate.{code.lower()}",)

    @pytest.mark.parametrize(("context", "action", "code"), CASES)
    def test_holds_for_rows_no_rule_rejected(self, context: dict[str, Any], action: str, code: str) -> None:
        assert decided(a_result(), rows_quarantined=1, **context).action == action

    @pytest.mark.parametrize(("context", "action", "code"), CASES)
    def test_asks_for_nothing_where_no_row_is_set_aside(self, context: dict[str, Any], action: str, code: str) -> None:
        assert decided(a_result(), **context).action == "PASS"
        assert decided(a_result(failed=1, on_fail="warn"), **context).action == "WARN"
        assert decided(a_result(failed=1), mode="annotate", **context).action == "WARN"

    def test_zero_and_unknown_keys_are_no_fault(self) -> None:
        assert decided(a_result(failed=1), null_keys=0, duplicate_keys=0).action == "QUARANTINE_RECORDS"

    def test_rows_set_aside_without_a_rule(self) -> None:
        decision = decided(a_result(), rows_quarantined=2)
        assert (decision.action, decision.publication) == ("QUARANTINE_RECORDS", PARTIAL)

    @pytest.mark.parametrize("mode", ["quarantine", "annotate"])
    def test_an_incompatible_schema_blocks_even_a_clean_batch(self, mode: str) -> None:
        decision = decided(a_result(), schema_incompatible="amount: string instead of decimal(18,2)", mode=mode)
        assert (decision.action, decision.reason_code) == ("BLOCK_PUBLICATION", "SCHEMA_INCOMPATIBLE")
        assert decision.held_by == ()


class TestAnnotateMode:
    def test_a_clean_batch_is_published_as_certified(self) -> None:
        clean = decided(a_result(), mode="annotate")
        assert (clean.action, clean.publication) == ("PASS", CERTIFIED)
        assert asset_state_after(clean) == "uncertified"  # earlier batches left their faulty rows there
        assert asset_state_after(decided(a_result(), mode="annotate", write="replace")) == "certified"

    def test_a_flood_of_bad_rows_is_published(self) -> None:
        assert outcome(decided(a_result(failed=100), mode="annotate"))[:3] == (
            "WARN",
            DEGRADED,
            "uncertified",
        )

    @pytest.mark.parametrize(
        ("keys", "action"),
        [
            ({"on_fail": "block_publication"}, "BLOCK_PUBLICATION"),
            ({"on_fail": "quarantine_batch"}, "QUARANTINE_BATCH"),
            ({"severity": "CRITICAL"}, "BLOCK_PUBLICATION"),
            ({"block_above": 1}, "BLOCK_PUBLICATION"),
        ],
    )
    def test_what_holds_a_batch_holds_it(self, keys: dict[str, Any], action: str) -> None:
        assert decided(a_result(failed=2, **keys), mode="annotate").action == action


class TestApprovals:
    @pytest.mark.parametrize(
        ("keys", "action"),
        [
            ({"failed": 1}, "QUARANTINE_RECORDS"),
            ({"failed": 1, "on_fail": "warn"}, "WARN"),
            ({"failed": 1, "on_fail": "observe"}, "WARN"),  # tolerated, but never unseen
            ({"failed": 1, "on_fail": "block_publication"}, "BLOCK_PUBLICATION"),
            ({"failed": 1, "severity": "CRITICAL"}, "BLOCK_PUBLICATION"),
            ({"failed": 1, "on_fail": "fail_closed"}, "FAIL_CLOSED"),
            ({"status": "ERROR"}, "BLOCK_PUBLICATION"),
            ({"status": "ERROR", "optional": True}, "WARN"),
        ],
    )
    def test_an_exception_softens_to_what_it_would_otherwise_be(self, keys: dict[str, Any], action: str) -> None:
        private = a_result("no_pan", dimension="PRIVACY", **keys)
        decision = decided(private, approvals=(an_approval("no_pan"),))
        assert decision.action == action
        assert decision.publication in (DEGRADED, NOT)
        assert any("exception by maria: ticket 17" in reason for reason in decision.reasons)
        assert decision.approvals

    @pytest.mark.parametrize(
        "approval", [an_approval("other"), an_approval(), an_approval("no_pan", batch_id="batch-2")]
    )
    def test_an_approval_of_something_else_changes_nothing(self, approval: Any) -> None:
        private = a_result("no_pan", dimension="PRIVACY", failed=1)
        decision = decided(private, approvals=(approval,))
        assert decision.action == "FAIL_CLOSED"
        assert not any("maria" in reason for reason in decision.reasons)

    def test_an_exception_is_not_a_release(self) -> None:
        assert decided(a_result("r", failed=1, severity="CRITICAL"), approvals=(an_approval("r"),)).held_by == ("r",)

    @pytest.mark.parametrize(
        ("keys", "context", "action"),
        [
            ({"failed": 1, "severity": "CRITICAL"}, {}, "QUARANTINE_RECORDS"),
            ({"failed": 1, "severity": "CRITICAL", "on_fail": "warn"}, {}, "WARN"),
            ({"failed": 1, "dimension": "PRIVACY"}, {}, "QUARANTINE_RECORDS"),
            ({"failed": 1, "on_fail": "fail_closed"}, {}, "QUARANTINE_RECORDS"),
            ({"status": "FAIL", "kind": "dataset", "on_fail": "block_publication"}, {}, "WARN"),
            ({"status": "ERROR"}, {}, "WARN"),
            ({"failed": 60}, {}, "QUARANTINE_RECORDS"),
            (
                {"failed": 9, "block_above": 1},
                {"partial_allowed": False, "null_keys": 1},
                "QUARANTINE_RECORDS",
            ),
        ],
    )
    def test_a_release_names_everything_that_holds(
        self, keys: dict[str, Any], context: dict[str, Any], action: str
    ) -> None:
        bad = a_result("r", **keys)
        held = decided(bad, **context)
        assert not held.publishes
        approval = an_approval(*held.held_by, batch_id="batch-1")
        released = decided(bad, approvals=(approval,), **context)
        assert (released.action, released.publication) == (action, DEGRADED)
        assert (released.reason_code, released.approvals) == ("RELEASED", (approval,))
        assert "maria" in released.explanation
        assert released.max_severity is bad.severity
        assert asset_state_after(released) == "degraded"
        for left_out in held.held_by:
            rest = an_approval(*(set(held.held_by) - {left_out}), batch_id="batch-1")
            assert not decided(bad, approvals=(rest,), **context).publishes

    def test_nobody_releases_another_schema(self) -> None:
        bad = a_result("r", failed=1, severity="CRITICAL")
        approval = an_approval("r", "lz.gate.schema_incompatible", batch_id="batch-1")
        decision = decided(bad, approvals=(approval,), schema_incompatible="no column amount")
        assert (decision.action, decision.reason_code) == ("BLOCK_PUBLICATION", "SCHEMA_INCOMPATIBLE")


class TestExplanation:
    def test_the_weightiest_reason_comes_first(self) -> None:
        decision = decided(
            a_result("low", failed=1, on_fail="warn"),
            a_result("worst", failed=2, severity="CRITICAL"),
            a_result("middle", failed=1),
        )
        assert [reason.split(":")[0] for reason in decision.reasons] == [
            "BLOCK_PUBLICATION",
            "QUARANTINE_RECORDS",
            "WARN",
        ]
        assert decision.explanation.startswith("worst failed on 2 of 100 rows, severity CRITICAL:")
        ranks = [rank(GateAction(reason.split(":")[0])) for reason in decision.reasons]
        assert ranks == sorted(ranks, reverse=True)

    def test_max_severity_is_that_of_what_is_bad(self) -> None:
        decision = decided(a_result("a", severity="CRITICAL"), a_result("b", failed=1, severity="LOW"))
        assert decision.max_severity is Severity.LOW
        assert decided(a_result()).max_severity is None


class TestDecisionId:
    """A decision is named by all it was made from, and by nothing else."""

    BEFORE = decided(a_result()).decision_id

    @pytest.mark.parametrize(
        "keys",
        [
            {"status": "SKIPPED"},
            {"checked": 99},
            {"failed": 1, "status": "PASS"},
            {"errored": 1, "status": "PASS"},
            {"severity": "LOW"},
            {"dimension": "FRESHNESS"},
            {"kind": "dataset"},
            {"column": "amount"},
            {"on_fail": "warn"},
            {"on_error": "warn"},
            {"optional": True},
            {"warn_above": 1},
            {"block_above": 1},
            {"reason_code": "CHECK_MISSING"},
            {"rule_fingerprint": "0" * 64},
        ],
    )
    def test_changes_with_what_a_result_says(self, keys: dict[str, Any]) -> None:
        context = a_context(a_result())
        assert decide(BUILT_IN, [a_result(**keys)], context).decision_id != self.BEFORE

    @pytest.mark.parametrize(
        "keys",
        [
            {"tier": "regulatory"},
            {"mode": "annotate"},
            {"rows": 99},
            {"rows_quarantined": 1},
            {"certify_below": "2%"},
            {"expected": ()},
            {"inputs": ()},
            {"rule_set_fingerprint": "0" * 64},
        ],
    )
    def test_changes_with_the_batch(self, keys: dict[str, Any]) -> None:
        assert decided(a_result(), **keys).decision_id != self.BEFORE

    def test_changes_with_approvals_and_policy(self) -> None:
        assert decided(a_result(), approvals=(an_approval("x"),)).decision_id != self.BEFORE
        other = Policy(name=BUILT_IN.name, rows=BUILT_IN.rows[1:])
        assert decide(other, [a_result()], a_context(a_result())).decision_id != self.BEFORE

    def test_stays_when_the_same_is_measured_again(self) -> None:
        later = AT + timedelta(hours=1)
        again = a_result(evaluated_at=later, message="m", measurements={"seconds": 1}, tool_version="0.2.0")
        assert decided(again).decision_id == self.BEFORE
