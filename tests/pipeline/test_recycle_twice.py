"""Never twice: the same row again is a new record, a replay is none."""

from __future__ import annotations

import json

import pytest

import lazaretto as lz
from lazaretto.model.lifecycle import Step
from lazaretto.pipeline.review import act
from lazaretto.quarantine.transitions import Deed
from lazaretto.quarantine.views import register_views
from world import SUITE, World, row

ALL_BAD = SUITE.replace("quarantine_batch_above: 90%", "quarantine_batch_above: 100%")
"""A batch of bad rows only is quarantined row by row."""


def corrected(world: World, amount: int = 1) -> None:
    """All that is in the quarantine, corrected to this amount."""
    found = [(r.record_id,) for r in world.quarantined() if r.status == "QUARANTINED"]
    chosen = world.spark.createDataFrame(found, "record_id string")
    with world.bench() as bench:
        text = f"to_variant_object(named_struct('amount', {amount}))"
        act(bench, chosen.selectExpr("record_id", f"{text} AS correction"), Deed(Step.CORRECT, "ann"))


def statuses(world: World) -> list[tuple[int, str, int]]:
    return sorted((json.loads(r.payload.toJson())["id"], r.status, r.attempt) for r in world.quarantined())


def test_the_same_bad_row_again_is_a_new_record_and_a_replay_is_none(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write_suite(ALL_BAD)
    world.add(row(1, amount="-1"))
    world.run(run_id="one")
    corrected(world)
    lz.recycle(world.suite(), world.spark)
    world.add(row(1, amount="-1"))  # the source sends it again
    world.crash(monkeypatch, "after_commit")
    world.run()  # the batch is replayed
    world.run()
    assert statuses(world) == [(1, "QUARANTINED", 0), (1, "RECOVERED", 1)]
    assert len({r.record_id for r in world.quarantined()}) == 2
    world.write_suite(
        SUITE.replace("owner: sales", "owner: sales\nrecycle: {at_start: true}").replace("1.0.0", "2.0.0")
    )
    corrected(world, 2)
    world.add(row(3))
    result = world.run()
    assert len(result.recycled) == 1
    assert sorted((r.id, str(r.amount)) for r in world.rows()) == [(1, "1.00"), (1, "2.00"), (3, "5.00")]
    assert not world.run().recycled
    names = register_views(world.spark, world.path("quarantine.records"), outbox_path=world.path("quarantine.outbox"))
    assert "universal_dlq_outbox" in names
    sent = world.spark.sql(
        "SELECT _dlq_sk, _row_data:amount::int AS amount FROM universal_dlq_outbox ORDER BY 2"
    ).collect()
    assert [r.amount for r in sent] == [1, 2]
    world.proved()
