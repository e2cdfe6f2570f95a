"""A held batch keeps its records in flight, until somebody releases or discards it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import lazaretto as lz
from lazaretto.model.lifecycle import IllegalStep, Step
from lazaretto.pipeline.ends import NotReleasable
from lazaretto.pipeline.forward import finish_open
from lazaretto.pipeline.held import discard, release
from lazaretto.pipeline.person import Person
from lazaretto.pipeline.reevaluate import reevaluate
from lazaretto.pipeline.review import act
from lazaretto.quarantine.transitions import Deed
from world import SUITE, World, row

BOSS = Person("boss")


def statuses(world: World) -> list[tuple[int, str, int]]:
    return sorted((json.loads(r.payload.toJson())["id"], r.status, r.attempt) for r in world.quarantined())


@pytest.mark.timeout(600)
def test_a_held_batch_keeps_its_records_until_it_is_released_or_discarded(world: World) -> None:
    world.add(row(1), row(2, amount="-1"), row(3, amount="-1"))
    world.run()
    world.write_suite(SUITE.replace("owner: sales", "owner: sales\nfeeds_aggregates: true").replace("1.0.0", "2.0.0"))

    def held() -> lz.RunResult:
        with world.bench() as bench:
            ids = {json.loads(r.payload.toJson())["id"]: r.record_id for r in world.quarantined()}
            rows: Any = [(ids[2], 1), (ids[3], -5)]
            chosen = world.spark.createDataFrame(rows, "record_id string, amount int")
            text = "to_variant_object(named_struct('amount', amount))"
            act(bench, chosen.selectExpr("record_id", f"{text} AS correction"), Deed(Step.CORRECT, "ann"))
        [result] = lz.recycle(world.suite(), world.spark)
        assert (result.counts.held, result.exit_code) == (2, 3)
        assert [status for _, status, _ in statuses(world)] == ["RESUBMITTED", "RESUBMITTED"]
        return result

    first = held()
    [nothing] = lz.recycle(world.suite(), world.spark)
    assert nothing.outcome == "nothing_new"
    assert not finish_open(world.spark, world.project()).told()
    with world.bench() as bench:
        chosen = world.spark.createDataFrame([(r.record_id,) for r in world.quarantined()], "record_id string")
        with pytest.raises(IllegalStep, match="it is in flight"):
            act(bench, chosen, Deed(Step.REJECT, "ann"))
        with pytest.raises(NotReleasable, match="of corrected records"):
            reevaluate(bench, first.batch_id or "", world.suite(), BOSS, "again")
        world.proved()
        discard(bench, first.batch_id or "", BOSS, "not like this")
    assert statuses(world) == [(2, "QUARANTINED", 1), (3, "QUARANTINED", 1)]
    assert "discarded by boss: not like this" in world.quarantined()[0].history[-1].why
    world.proved()

    second = held()
    # Edited while it waits: the one that gets through stays through, the other's edit counts for the next attempt.
    world.sql("UPDATE {} SET status = 'CORRECTED', correction = parse_json('{{\"amount\": 9}}')", "quarantine.records")
    with world.bench() as bench:
        release(bench, second.batch_id or "", BOSS, "fine")
    assert world.ids() == [1, 2]
    assert statuses(world) == [(2, "RECOVERED", 2), (3, "CORRECTED", 2)]
    [third] = lz.recycle(world.suite(), world.spark)
    assert third.counts.accepted == 1
    assert sorted((r.id, str(r.amount)) for r in world.rows()) == [(1, "5.00"), (2, "1.00"), (3, "9.00")]
    late = next(r for r in world.quarantined() if r.status == "RECOVERED" and r.attempt == 2)
    assert "an edit came while the record was in flight" in late.history[-1].why
    world.proved()
