"""Steps of records: all or none, one commit, evidence once, and never on what has changed meanwhile."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest

from lazaretto.model.lifecycle import IllegalStep, Step
from lazaretto.pipeline.failpoints import FailpointReached
from lazaretto.pipeline.review import act, finish_deeds, named
from lazaretto.quarantine.transitions import Deed, RecordChanged, RecordClaimed, RecordsRefused, RecordUnknown
from world import World, row


def test_a_record_is_reviewed_step_by_step(world: World, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world.add(*(row(n, amount="-1") for n in range(1, 5)), row(9))
    world.run()
    table = spark.read.format("delta").load(world.path("quarantine.records"))
    ids = sorted(r.record_id for r in table.collect())
    commits = world.commits("quarantine.records")

    with world.bench() as bench:
        # Many at once are one commit; a beginning of an id will do.
        done = act(bench, named(bench, [i[:20] for i in ids]), Deed(Step.CLAIM, "ann", "my turn"))
        assert (done.count, world.commits("quarantine.records")) == (4, commits + 1)
        assert {r.status for r in world.quarantined()} == {"UNDER_REVIEW"}

        # Somebody else waits until the claim is over; and one illegal record refuses all.
        with pytest.raises(RecordClaimed, match="under review by ann until"):
            act(bench, named(bench, ids), Deed(Step.REJECT, "bob"))
        past = Deed(Step.CLAIM, "ann", claim_for=timedelta(seconds=-1))
        act(bench, named(bench, ids[:1]), past)
        act(bench, named(bench, ids[:1]), Deed(Step.REJECT, "bob", "a test row", reason_code="TEST"))
        with pytest.raises(IllegalStep, match="is REJECTED and cannot be released: possible from there is archive"):
            act(bench, named(bench, ids), Deed(Step.RELEASE, "ann"))
        with pytest.raises(RecordUnknown, match="no record has an id that begins with 'zz'"):
            act(bench, named(bench, ["zz"]), Deed(Step.CLAIM, "ann"))
        with pytest.raises(RecordsRefused, match="1 records are asked for more than once"):
            act(bench, named(bench, ids[1:2]).union(named(bench, ids[1:2])), Deed(Step.RELEASE, "ann"))

        # What changed since it was read is not acted on.
        seen = table.selectExpr("record_id", "_metadata.row_commit_version AS seen").where(f"record_id = '{ids[1]}'")
        seen = spark.createDataFrame(seen.collect(), seen.schema)
        act(bench, seen, Deed(Step.RELEASE, "ann"))
        with pytest.raises(RecordChanged, match="changed since it was read"):
            act(bench, seen, Deed(Step.CLAIM, "bob"))

        # Two corrections: the second is laid over the first, the payload stays.
        for text in ('{"amount": 1.5, "name": "a"}', '{"name": "b"}'):
            given = named(bench, ids[1:2]).selectExpr("record_id", f"parse_json('{text}') AS correction")
            act(bench, given, Deed(Step.CORRECT, "bob", "typed"))
        record = next(r for r in world.quarantined() if r.record_id == ids[1])
        assert json.loads(record.correction.toJson()) == {"amount": 1.5, "name": "b"}
        assert json.loads(record.payload.toJson())["amount"] == -1
        steps = [(e.step, e.came_from, e.went_to, e.by) for e in record.history]
        assert steps == [
            ("claim", "QUARANTINED", "UNDER_REVIEW", "ann"),
            ("release", "UNDER_REVIEW", "QUARANTINED", "ann"),
            ("correct", "QUARANTINED", "CORRECTED", "bob"),
            ("correct", "CORRECTED", "CORRECTED", "bob"),
        ]
        assert world.commits("quarantine.records") == commits + 6

        # Cut short before the commit: nothing happened, and it is said. After it: the evidence comes later.
        for point, told in (("before", "was never done"), ("after", "wrote the evidence")):
            monkeypatch.setenv("LAZARETTO_FAILPOINT", f"{point}_records_commit:raise")
            with pytest.raises(FailpointReached):
                act(bench, named(bench, ids[2:3]), Deed(Step.RELEASE, "ann"))
            monkeypatch.delenv("LAZARETTO_FAILPOINT")
            [sentence] = finish_deeds(bench)
            assert re.search(told, sentence)
            assert finish_deeds(bench) == []
        assert not bench.files.list(bench.places.begun)
        deeds = [e for e in bench.store.evidence("silver.orders") if e.kind == "records"]
        assert [e.payload["action"] for e in deeds] == [
            "records:claim",
            "records:claim",
            "records:reject",
            "records:release",
            "records:correct",
            "records:correct",
            "records:release",
        ]
        assert deeds[0].payload["details"]["count"] == 4
        assert deeds[0].payload["details"]["ids"] == ids
        assert deeds[2].payload["details"]["reason_code"] == "TEST"
        events = bench.store.events("silver.orders")
        assert [e.actor for e in events if e.action == "records:reject"] == ["bob"]
    world.proved()
