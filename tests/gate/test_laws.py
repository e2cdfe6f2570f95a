"""Laws of `decide`, for whatever is found in whatever batch."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lazaretto.gate import BUILT_IN, Policy, PolicyRow, asset_state_after, decide, exit_code
from lazaretto.gate.message import facts, lines
from lazaretto.gate.order import PUBLICATIONS, holds, rank
from lazaretto.model.results import Approval, CheckResult, GateContext, GateDecision
from lazaretto.model.words import CheckStatus, Dimension, GateAction, Mode, OnError, OnFail, Severity, Tier

from .builders import a_context, a_result, an_approval

RULES = ("a", "b", "c")
COLUMNS = (None, "x", "y")
COUNT = st.integers(0, 100)

ODD_RESULTS: dict[str, tuple[Any, ...]] = {
    "column": ("x", "y"),
    "dimension": tuple(Dimension),
    "severity": tuple(Severity),
    "kind": ("schema", "dataset"),
    "checked": (0, 1, 1000),
    "observed_value": ("1.50", "-3"),
    "optional": (True,),
    "warn_above": ("0%", "33.3%", 1),
    "block_above": ("1%", "100%", 0, 50),
    "measurements": ({"seconds": 1.5, "top": ["a", None]},),
}
ODD_BATCHES: dict[str, tuple[Any, ...]] = {
    "mode": ("annotate",),
    "write": ("replace", "replace_partitions"),
    "quarantine_batch_above": ("0%", "50%"),
    "rows": (0, 1),
    "rows_failing": (1, 51, 100),
    "rows_quarantined": (1, 51, 100),
    "expected": ((("a", None),), (("a", "x"), ("b", None), ("a", "x"))),
    "records_independent": (False,),
    "partial_allowed": (False,),
    "feeds_aggregates": (True,),
    "null_keys": (0, 1),
    "duplicate_keys": (0, 2),
    "missing_references": (("ref.accounts",),),
    "schema_incompatible": ("no column amount",),
    "recycled": (True,),
}


def odd(draw: st.DrawFn, values: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
    """A few things out of the ordinary: with everything odd at once every batch is closed and no law is tried."""
    names = draw(st.lists(st.sampled_from(sorted(values)), unique=True, max_size=3))
    return {name: draw(st.sampled_from(values[name])) for name in names}


@st.composite
def results(draw: st.DrawFn) -> CheckResult:
    """Any result, also those that contradict themselves."""
    return a_result(
        draw(st.sampled_from(RULES)),
        status=draw(st.sampled_from(CheckStatus)),
        failed=draw(st.sampled_from([0, 0, 1, 3, 60])),
        errored=draw(st.sampled_from([0, 0, 0, 2, 70])),
        on_fail=draw(st.sampled_from(OnFail)),
        on_error=draw(st.sampled_from(OnError)),
        **odd(draw, ODD_RESULTS),
    )


@st.composite
def contexts(draw: st.DrawFn) -> GateContext:
    """Any batch, also those that contradict themselves."""
    return a_context(
        tier=draw(st.sampled_from(Tier)),
        certify_below=draw(st.sampled_from(["0%", "1%", "99.99%"])),
        replaces_published=draw(st.booleans()),
        **odd(draw, ODD_BATCHES),
    )


@st.composite
def approvals(draw: st.DrawFn) -> Approval:
    named = draw(st.lists(st.sampled_from((*RULES, "lz.gate.reject_rate", "lz.gate.key_null")), max_size=3))
    return an_approval(*named, batch_id=draw(st.sampled_from([None, "batch-1", "batch-2"])))


POLICIES = st.builds(
    lambda rows: Policy(name="drawn", rows=tuple(rows)),
    st.lists(
        st.builds(
            PolicyRow,
            status=st.none() | st.frozensets(st.sampled_from(CheckStatus)),
            severity=st.none() | st.frozensets(st.sampled_from(Severity)),
            asked=st.none() | st.frozensets(st.sampled_from(GateAction)),
            tier=st.none() | st.frozensets(st.sampled_from(Tier)),
            action=st.sampled_from(GateAction),
        ),
        max_size=4,
    ),
)
SEVERAL = st.lists(results(), max_size=3)
ENDORSED = st.lists(approvals(), max_size=3)
EXCEPTION = st.builds(an_approval, st.sampled_from(RULES))


def law(*strategies: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`given` without a deadline: a busy machine breaks no law."""
    return lambda test: settings(deadline=None, max_examples=300)(given(*strategies)(test))


@law(POLICIES | st.just(BUILT_IN), SEVERAL, contexts(), ENDORSED)
def test_total(policy: Policy, found: list[CheckResult], context: GateContext, given_: list[Approval]) -> None:
    """Whatever comes in, a decision comes out that agrees with itself and can be told."""
    decision = decide(policy, found, context, given_)
    assert decision.publishes is not holds(decision.action)
    assert exit_code(decision) in (0, 3, 4)
    assert exit_code(decision, strict=True) in (0, 3, 4, 5)
    assert (asset_state_after(decision) == "locked") is (decision.action is GateAction.FAIL_CLOSED)
    assert lines(decision)
    assert facts(decision)["action"] == decision.action
    assert decision.explanation


@law(POLICIES | st.just(BUILT_IN), SEVERAL, contexts(), ENDORSED)
def test_a_decision_survives_json_and_gives_itself_again(
    policy: Policy, found: list[CheckResult], context: GateContext, given_: list[Approval]
) -> None:
    decision = decide(policy, found, context, given_)
    stored = GateDecision.model_validate_json(decision.model_dump_json())
    assert stored == decision
    assert decide(policy, stored.results, stored.context, stored.approvals) == decision


@law(SEVERAL, contexts(), ENDORSED, st.randoms(use_true_random=False))
def test_order_does_not_matter(
    found: list[CheckResult], context: GateContext, given_: list[Approval], chance: random.Random
) -> None:
    def shuffled(things: Any) -> list[Any]:
        return chance.sample(list(things), len(things))

    first = decide(BUILT_IN, found, context, given_)
    other = context.model_copy(update={"expected": tuple(shuffled(context.expected))})
    second = decide(BUILT_IN, shuffled(found), other, shuffled(given_))
    assert second.decision_id == first.decision_id
    assert (second.action, second.publication) == (first.action, first.publication)
    assert (second.reasons, second.held_by) == (first.reasons, first.held_by)


@law(results(), contexts())
def test_another_run_of_the_same_batch_is_the_same_decision(result: CheckResult, context: GateContext) -> None:
    again = context.model_copy(update={"scope": context.scope.model_copy(update={"run_id": "run-2"})})
    later = result.model_copy(update={"measurements": {"seconds": 2}, "scope": again.scope})
    first, second = decide(BUILT_IN, [result], context), decide(BUILT_IN, [later], again)
    assert first.decision_id == second.decision_id
    elsewhere = context.model_copy(update={"scope": context.scope.model_copy(update={"batch_id": "batch-9"})})
    assert decide(BUILT_IN, [result], elsewhere).decision_id != first.decision_id


# A worse result, a worse batch. ----------------------------------------------------------------------------


def _worse_words(words: Any, now: Any) -> list[Any]:
    ordered = list(words)
    return ordered[ordered.index(now) :]


def worse_results(result: CheckResult) -> list[CheckResult]:
    """The same rule with more wrong (see `gate.order` for what is worse than what)."""
    passed, erred = result.status is CheckStatus.PASS, result.status is CheckStatus.ERROR
    changes: list[dict[str, Any]] = [
        *({"severity": severity} for severity in _worse_words(Severity, result.severity)),
        {"dimension": Dimension.PRIVACY},
        {"dimension": Dimension.SECURITY},
    ]
    if passed:
        changes += [{"status": CheckStatus.FAIL, "failed": more} for more in (result.failed, result.failed + 3)]
        changes += [{"status": CheckStatus.ERROR, "errored": more} for more in (0, result.errored + 3)]
    if result.failed > 0:
        changes += [{"failed": result.failed + more} for more in (1, 50)]
    if result.errored > 0:
        changes += [{"errored": result.errored + 50}]
    if erred:
        changes += [{"errored": 0}]  # not on some rows: not at all
    if result.status is CheckStatus.FAIL:
        changes += [{"errored": result.errored + 1}]
    return [result.model_copy(update=change) for change in changes]


@st.composite
def worse_contexts(draw: st.DrawFn, context: GateContext) -> GateContext:
    more = {
        "tier": draw(st.sampled_from(_worse_words(Tier, context.tier))),
        "rows_failing": context.rows_failing + draw(COUNT),
        "rows_quarantined": context.rows_quarantined + draw(COUNT),
        "null_keys": (context.null_keys or 0) + draw(COUNT),
        "duplicate_keys": (context.duplicate_keys or 0) + draw(COUNT),
        "missing_references": (*context.missing_references, "ref.more"),
        "schema_incompatible": "another type",
        "records_independent": False,
        "partial_allowed": False,
        "feeds_aggregates": True,
        "expected": (*context.expected, ("d", None)),
    }
    chosen = draw(st.sets(st.sampled_from(sorted(more)), min_size=1, max_size=3))
    return context.model_copy(update={key: more[key] for key in chosen})


def assert_not_milder(before: GateDecision, after: GateDecision) -> None:
    assert rank(after.action) >= rank(before.action), (before.reasons, after.reasons)
    published = PUBLICATIONS.index
    assert published(after.publication) >= published(before.publication), (before.reasons, after.reasons)


@law(results(), st.lists(results(), max_size=1), contexts(), st.lists(EXCEPTION, max_size=1))
def test_a_worse_result_is_never_treated_more_mildly(
    result: CheckResult,
    others: list[CheckResult],
    context: GateContext,
    exceptions: list[Approval],
) -> None:
    before = decide(BUILT_IN, [result, *others], context, exceptions)
    for worse in worse_results(result):
        assert_not_milder(before, decide(BUILT_IN, [worse, *others], context, exceptions))


@law(results(), contexts())
def test_a_rule_that_asks_for_more_never_gets_less(result: CheckResult, context: GateContext) -> None:
    """Of the action, that is: rows kept out may leave a certified rest where rows warned of do not."""
    context = context.model_copy(update={"mode": Mode.QUARANTINE})  # annotate mode keeps no row out
    asked = [result.model_copy(update={"on_fail": on_fail}) for on_fail in OnFail]
    ranks = [rank(decide(BUILT_IN, [rule], context).action) for rule in asked]
    assert ranks == sorted(ranks)


@law(results(), SEVERAL, contexts())
def test_one_more_result_never_helps(result: CheckResult, others: list[CheckResult], context: GateContext) -> None:
    context = context.model_copy(update={"expected": ()})
    assert_not_milder(decide(BUILT_IN, others, context), decide(BUILT_IN, [*others, result], context))


@law(st.data(), SEVERAL, contexts())
def test_a_worse_batch_is_never_treated_more_mildly(
    data: st.DataObject, found: list[CheckResult], context: GateContext
) -> None:
    worse = data.draw(worse_contexts(context))
    # That rows are set aside is good news of rows that could not be judged, so there the two are not compared.
    assume(worse.rows_quarantined == context.rows_quarantined or not any(result.errored for result in found))
    assert_not_milder(decide(BUILT_IN, found, context), decide(BUILT_IN, found, worse))


@law(SEVERAL, contexts(), st.sampled_from([(rule, column) for rule in RULES for column in COLUMNS]))
def test_leaving_out_a_passed_check_never_helps(
    others: list[CheckResult], context: GateContext, pair: tuple[str, str | None]
) -> None:
    others = [other for other in others if (other.rule_id, other.column) != pair]
    context = context.model_copy(update={"expected": (pair,)})
    passed = a_result(pair[0], column=pair[1])
    with_it, without = decide(BUILT_IN, [*others, passed], context), decide(BUILT_IN, others, context)
    assert_not_milder(with_it, without)
    assert holds(without.action)


# Approvals. ------------------------------------------------------------------------------------------------


@law(SEVERAL, contexts(), ENDORSED)
def test_approvals_never_soften_silently(
    found: list[CheckResult], context: GateContext, given_: list[Approval]
) -> None:
    without, with_them = decide(BUILT_IN, found, context), decide(BUILT_IN, found, context, given_)
    assert with_them.approvals == tuple(given_)
    assert rank(with_them.action) <= rank(without.action)
    softened = rank(with_them.action) < rank(without.action)
    if softened:
        assert any("maria" in reason for reason in with_them.reasons)
        assert with_them.publication in ("PUBLISHED_DEGRADED", "NOT_PUBLISHED")
    named = {rule for approval in given_ for rule in approval.rules}
    if not named & set(without.held_by):
        assert with_them.action is without.action


@law(SEVERAL, contexts(), POLICIES)
def test_privacy_and_security_close_under_every_policy(
    found: list[CheckResult], context: GateContext, policy: Policy
) -> None:
    private = [r for r in found if r.dimension in (Dimension.PRIVACY, Dimension.SECURITY)]
    if any(r.failed or r.errored or r.status in (CheckStatus.FAIL, CheckStatus.ERROR) for r in private):
        assert decide(policy, found, context).action is GateAction.FAIL_CLOSED


@law(SEVERAL, contexts())
def test_a_broken_check_is_never_a_pass(found: list[CheckResult], context: GateContext) -> None:
    if any(r.errored or r.status is CheckStatus.ERROR for r in found):
        decision = decide(BUILT_IN, found, context)
        assert rank(decision.action) >= rank(GateAction.WARN)
        assert decision.max_severity is not None
