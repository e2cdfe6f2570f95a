"""Decisions and confirmations: stored once, given back equal, and never contradicted."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from lazaretto.model.results import Counts, GateDecision
from lazaretto.model.words import GateAction, Publication, Severity
from lazaretto.store import RecordConflict, RecordMissing, Store, StoreError, open_store

Make = Callable[..., GateDecision]
COUNTS = Counts(input=1000, accepted=993, quarantined=7)
HELD = {"action": "BLOCK_PUBLICATION", "publication": "NOT_PUBLISHED"}


def test_a_decision_comes_back_equal(store: Store, make_decision: Make) -> None:
    decision = make_decision()
    store.record_decision(decision)
    assert store.decision("d1") == decision


def test_an_all_clear_has_no_severity(store: Store, make_decision: Make) -> None:
    decision = make_decision(max_severity=None, results=(), action="PASS")
    store.record_decision(decision)
    assert store.decision("d1") == decision
    assert store.decisions()[0].max_severity is None


def test_the_same_again_is_a_no_op(store: Store, make_decision: Make) -> None:
    first = store.record_decision(make_decision())
    assert store.record_decision(make_decision()) == first
    assert len(store.evidence("silver.transactions")) == 1
    assert store.verify_chain("silver.transactions") == ()


def test_a_later_attempt_at_the_same_verdict_is_the_same(store: Store, make_decision: Make) -> None:
    decision = make_decision()
    first = store.record_decision(decision)
    later = [result.model_copy(update={"evaluated_at": datetime.now(UTC)}) for result in decision.results]
    assert store.record_decision(make_decision(run_id="run 2", results=tuple(later))) == first
    assert store.decision("d1") == decision


@pytest.mark.parametrize("change", [HELD, {"policy": "mine 9999"}, {"rule_set_fingerprint": "b" * 64}, {"results": ()}])
def test_another_verdict_under_the_same_id_is_refused(
    store: Store, make_decision: Make, change: dict[str, str]
) -> None:
    store.record_decision(make_decision())
    with pytest.raises(RecordConflict, match="a new verdict needs a new id"):
        store.record_decision(make_decision(**change))


def test_confirmation_is_idempotent_and_is_not_contradicted(store: Store, make_decision: Make) -> None:
    store.record_decision(make_decision())
    first = store.record_confirmation("batch-d1", "d1", published_version=5, counts=COUNTS)
    assert store.record_confirmation("batch-d1", "d1", published_version=5, counts=COUNTS) == first
    with pytest.raises(RecordConflict, match="another outcome"):
        store.record_confirmation("batch-d1", "d1", published_version=6, counts=COUNTS)
    with pytest.raises(RecordConflict, match="another outcome"):
        store.record_confirmation("batch-d1", "d1", published_version=5, counts=Counts())
    assert [record.kind for record in store.evidence("silver.transactions")] == ["decision", "confirmation"]


def test_confirmation_must_fit_its_decision(store: Store, make_decision: Make) -> None:
    with pytest.raises(RecordMissing, match="no decision d1"):
        store.record_confirmation("batch-d1", "d1", published_version=5, counts=COUNTS)
    store.record_decision(make_decision())
    with pytest.raises(RecordConflict, match="batch-d1, not batch-d2"):
        store.record_confirmation("batch-d2", "d1", published_version=5, counts=COUNTS)
    with pytest.raises(StoreError, match="does not fit"):
        store.record_confirmation("batch-d1", "d1", published_version=None, counts=COUNTS)
    store.record_decision(make_decision("d2", **HELD))
    with pytest.raises(StoreError, match="does not fit"):
        store.record_confirmation("batch-d2", "d2", published_version=5, counts=COUNTS)


def test_lists(store: Store, make_decision: Make) -> None:
    noon = datetime(2026, 11, 18, 12, tzinfo=UTC)
    for number in range(3):
        store.record_decision(make_decision(f"d{number}"), decided_at=noon + timedelta(minutes=number))
    store.record_decision(make_decision("other", asset="gold.cases", **HELD), decided_at=noon)
    store.record_confirmation("batch-d1", "d1", published_version=7, counts=COUNTS)

    latest, middle, _ = store.decisions("silver.transactions")
    assert (latest.decision_id, latest.decided_at, latest.confirmed) == (
        "d2",
        noon + timedelta(minutes=2),
        False,
    )
    assert (middle.decision_id, middle.published_version, middle.confirmed) == ("d1", 7, True)
    assert (latest.action, latest.publication) == (
        GateAction.QUARANTINE_RECORDS,
        Publication.PUBLISHED_CERTIFIED,
    )
    assert (latest.max_severity, latest.run_id, latest.asset) == (
        Severity.HIGH,
        "run 1: a/b",
        "silver.transactions",
    )
    assert len(store.decisions()) == 4
    assert [row.decision_id for row in store.decisions(limit=1)] == ["d2"]
    assert [row.decision_id for row in store.decisions(before=noon + timedelta(minutes=1), limit=None)] == [
        "d0",
        "other",
    ]
    assert [row.decision_id for row in store.unconfirmed()] == ["d0", "other", "d2"]
    assert [row.decision_id for row in store.unconfirmed("silver.transactions")] == ["d0", "d2"]


def test_what_is_not_on_record(store: Store) -> None:
    assert store.decisions("no.such") == ()
    with pytest.raises(RecordMissing, match="no decision nope"):
        store.decision("nope")


def test_an_environment_keeps_to_itself(url: str, make_decision: Make) -> None:
    with open_store(url, environment="dev") as dev, open_store(url, environment="prod") as prod:
        dev.record_decision(make_decision())
        assert prod.decisions() == ()
        assert prod.chain_heads() == ()
        with pytest.raises(RecordMissing):
            prod.decision("d1")


def test_check_results_are_rows_with_their_column(
    store: Store, make_decision: Make, tamper: Callable[..., int]
) -> None:
    whole = make_decision().results[0].model_copy(update={"column": None, "rule_id": "whole", "check": "row_count"})
    store.record_decision(make_decision(results=(*make_decision().results, whole)))
    where = "WHERE gate_result_id = 'd1' AND observed_value > 0.0069 AND checked_count = 1000"
    for column in ("amount", "fee", ""):
        touched = f"UPDATE quality_check_result SET status = status {where} AND column_name = '{column}'"
        assert tamper(touched) == 1


def test_a_list_of_many_is_quick(store: Store, make_decision: Make) -> None:
    """Lists do not open the payloads."""
    for number in range(30):
        store.record_decision(make_decision(f"d{number}"))
    began = time.monotonic()
    assert len(store.decisions(limit=None)) == 30
    assert time.monotonic() - began < 1


def test_the_last_decision_of_each_asset(store: Store, make_decision: Callable[..., GateDecision]) -> None:
    for number, (name, asset) in enumerate((("c", "a.b"), ("b", "a.b"), ("a", "a.b"), ("d", "other"), ("e", "a.b"))):
        at = datetime(2026, 11, 18, tzinfo=UTC) + timedelta(hours=[2, 3, 1, 0, 3][number])
        store.record_decision(make_decision(name, asset=asset), decided_at=at)
    latest = store.latest_decisions()
    assert {asset: one.decision_id for asset, one in latest.items()} == {"a.b": "b", "other": "d"}
    assert all(store.decisions(asset, limit=1) == (one,) for asset, one in latest.items())
