"""End a recycle at any moment: no record is lost, none is published twice.

`make test` ends at a sample of the points by an exception, `make crash` at all of them.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

import lazaretto as lz
from lazaretto.model.lifecycle import Step
from lazaretto.pipeline.failpoints import FailpointReached
from lazaretto.pipeline.forward import finish_open
from lazaretto.pipeline.review import act
from lazaretto.quarantine.transitions import Deed
from world import SUITE, World, row

ALL_BAD = SUITE.replace("quarantine_batch_above: 90%", "quarantine_batch_above: 100%")
ALL = os.environ.get("LAZARETTO_CRASH") == "all"
POINTS = ["after_send", "after_stage", "after_seal", "after_commit", "before_outcome", "after_outcome", "after_confirm"]
SAMPLE = POINTS if ALL else ["after_send", "before_outcome"]


def corrected(world: World, good: list[int], bad: list[int]) -> None:
    """Rows of these numbers in the quarantine, corrected: the good ones rightly, the others wrongly."""
    world.write_suite(ALL_BAD)
    world.add(*(row(n, amount="-1") for n in (*good, *bad)))
    world.run()
    with world.bench() as bench:
        records = [r for r in world.quarantined() if json.loads(r.payload.toJson())["id"] in (*good, *bad)]
        rows = [(r.record_id, 1 if json.loads(r.payload.toJson())["id"] in good else -2) for r in records]
        given = world.spark.createDataFrame(rows, "record_id string, amount int")
        act(
            bench,
            given.selectExpr("record_id", "to_variant_object(named_struct('amount', amount)) AS correction"),
            Deed(Step.CORRECT, "ann"),
        )


def as_it_should_be(world: World, good: list[int], bad: list[int]) -> None:
    """The good ones are published once and recovered, the bad ones are back with one attempt more."""
    assert Counter(world.ids()) == Counter(good)
    found = {json.loads(r.payload.toJson())["id"]: (r.status, r.attempt) for r in world.quarantined()}
    assert found == dict.fromkeys(good, ("RECOVERED", 1)) | dict.fromkeys(bad, ("QUARANTINED", 1))
    assert not world.open_seals()
    world.proved()


@pytest.mark.parametrize("point", SAMPLE)
def test_an_exception_is_mended_by_whoever_comes_next(
    world: World, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    corrected(world, [1], [2])
    monkeypatch.setenv("LAZARETTO_FAILPOINT", f"{point}:raise")
    with pytest.raises(FailpointReached):
        lz.recycle(world.suite(), world.spark)
    monkeypatch.delenv("LAZARETTO_FAILPOINT")
    assert finish_open(world.spark, world.project()).told()
    as_it_should_be(world, [1], [2])
    assert not [*Path(world.path("quarantine.begun")).iterdir()]
