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
