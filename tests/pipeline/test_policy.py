"""The project's policy and the exceptions on record decide about a real batch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lazaretto.model.results import Approval
from lazaretto.pipeline.replay import replay
from world import SUITE, World, row

POLICY = "rows:\n- {consumers: critical, status: fail, severity: high, action: block_publication}\n- {action: warn}\n"


def test_a_policy_escalates_and_an_exception_in_force_softens(spark: Any, tmp_path: Path) -> None:
    rules = "rules:\n  - {id: private, check: not_null, column: code, dimension: privacy, on_fail: warn}\n"
    suite = SUITE.replace("rules:\n", "consumers: critical\n" + rules).replace(
        "on_fail: warn}", "on_fail: warn, severity: high}"
    )
    world = World.create(spark, tmp_path, suite)
    (tmp_path / "lazaretto.yml").write_text("project: test\nlake: ./lake\npolicy: mine\n")
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "mine.yml").write_text(POLICY)
    world.add(row(1), row(2, name=""))
    held = world.run()
    assert (held.action, held.exit_code) == ("BLOCK_PUBLICATION", 3)  # the rule alone asks for a warning

    now = datetime.now(UTC)
    world.write_suite(suite.replace("version: 1.0.0", "version: 1.0.1").replace("consumers: critical\n", ""))
    with world.store() as store:
        for until, reason in ((now - timedelta(days=1), "expired"), (now + timedelta(days=1), "in force")):
            given = Approval(approver="maria", rules=("private",), reason=reason, expires_at=until)
            store.record_approval(given, "silver.orders", requested_by="ann")
    world.add(row(3, code=None), row(4))  # one of two: below the share that holds a batch
    softened = world.run()
    assert softened.decision is not None
    assert [a.reason for a in softened.decision.approvals] == ["in force"]
    assert (softened.publication, softened.reason_code) == ("PUBLISHED_DEGRADED", "EXCEPTION_GRANTED")
    with world.store() as store:
        decided = [replay(store, one.decision_id) for one in store.decisions()]
    assert [one.differences for one in decided] == [(), ()]
