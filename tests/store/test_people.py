"""Approvals and the audit log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from lazaretto.model.results import Approval
from lazaretto.store import Store

ASSET = "silver.transactions"
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


def test_approvals_in_force(store: Store) -> None:
    standing = Approval(approver="ann", reason="known issue", rules=("r1",), assurance="authenticated")
    ending = Approval(approver="bob", reason="until noon", batch_id="b1", expires_at=NOW)
    store.record_approval(standing, ASSET, requested_by="cy")
    store.record_approval(ending, ASSET, decision_id="d1")
    store.record_approval(standing, "gold.cases")
    assert store.approvals(ASSET, at=NOW - timedelta(seconds=1)) == (standing, ending)
    assert store.approvals(ASSET, at=NOW) == (standing,)
    assert store.approvals(ASSET, batch_id="b2", at=NOW - timedelta(seconds=1)) == (standing,)
    assert [record.kind for record in store.evidence(ASSET)] == ["approval", "approval"]


def test_the_log(store: Store) -> None:
    store.record_event("ann", "released", asset=ASSET, subject="b1", details={"why": "seen", "n": 2**60})
    store.record_event("bob", "looked", assurance="authenticated")
    latest, first = store.events()
    assert (latest.actor, latest.assurance, latest.details) == ("bob", "authenticated", {})
    assert first.details == {"why": "seen", "n": 2**60}
    assert store.events(ASSET) == (first,)
    assert store.events(limit=1) == (latest,)
    assert first.at.tzinfo is UTC


def test_what_is_done_to_records_is_evidence_once(store: Store) -> None:
    done = {"reason": "noise", "actor": "ann", "subject": "r1", "batch_id": "b1", "details": {"records": 2}}
    first = store.record_action(ASSET, "rejected", key="k1", **done)
    assert store.record_action(ASSET, "rejected", key="k1", **done) == first
    store.record_action(ASSET, "archived", key="k2", reason="old", actor="bob", assurance="authenticated")
    one, two = store.evidence(ASSET)
    assert (one.kind, one.hash, one.batch_id, two.previous_hash) == ("records", first, "b1", first)
    assert one.payload["details"] == {"records": 2}
    latest, earlier = store.events(ASSET)
    assert (latest.actor, latest.assurance, latest.action) == ("bob", "authenticated", "archived")
    assert store.events(subject="r1") == (earlier,)
    assert earlier.details == {"records": 2, "reason": "noise"}
    assert store.verify_chain(ASSET) == ()
