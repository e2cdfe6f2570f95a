"""File drops: a good file is a batch; a bad one is held whole and its rows never mix in."""

from __future__ import annotations

from typing import Any

import pytest

import lazaretto as lz
from lazaretto.model.words import GateAction
from lazaretto.pipeline.failpoints import FailpointReached
from lazaretto.pipeline.sources import SourceError
from world import SUITE, World

LANDING = """{format: landing, path: drop, schema: 'id BIGINT, amount DECIMAL(10,2), name STRING, code STRING',
  landing: {settle: 0s, trailer: 'T;(?P<rows>\\d+)', separator: ';', files: 'in*'}}"""


def text(*ids: int, declared: int | None = None, amount: str = "5") -> str:
    lines = [f"{number};{amount if number % 10 else '-1'};x;7" for number in ids]
    return "\n".join([*lines, f"T;{len(ids) if declared is None else declared}"]) + "\n"


def go(world: World, **options: Any) -> lz.StreamResult:
    return lz.stream(world.suite(), world.spark, once=True, **options)


def test_files_are_taken_once_and_bad_ones_are_held_whole(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write_suite(SUITE.replace("{format: delta, table: bronze.orders}", LANDING))
    drop = world.root / "drop"
    drop.mkdir()
    (drop / "in1.csv").write_text(text(1, 2, 10))
    (drop / "other.csv").write_text("not asked for")
    told: list[Any] = []
    first = go(world, on_batch=told.append)
    assert (first.batches, first.counts.accepted, first.counts.quarantined, first.exit_code) == (1, 2, 1, 0)
    assert told[0].lag == "0 files"
    (drop / "in2 [x].csv").write_text(text(3, 4, declared=3))
    (drop / "in3.csv").write_bytes(text(5).encode().replace(b"x", b"\xe4"))
    (drop / "in4.csv").write_text(text(1, 2, 10))
    (drop / "in5.csv").write_text(text(6) + text(6).replace("6;5", "no number;5").replace("T;1", "T;3"))
    refused = go(world)
    assert (refused.batches, refused.refused, refused.exit_code) == (4, 3, 3)
    assert refused.counts.model_dump() == {
        "input": 3 + 1 + 4 + 3,
        "accepted": 1,
        "quarantined": 2,
        "dead_lettered": 0,
        "held": 8,
    }
    assert world.ids() == [1, 2, 6]
    with world.store() as store:
        decisions = [store.decision(d.decision_id) for d in store.decisions("silver.orders")]
    refusals = [d for d in decisions if d.action is GateAction.QUARANTINE_BATCH]
    reasons = " ".join(r.message for d in refusals for r in d.results if r.rule_id == "lz.file")
    assert "declares 3 rows, and 2 were read" in reasons
    assert "not UTF-8" in reasons
    assert "came before, as in1.csv" in reasons
    # A held file is looked at once more, by the settings of today; a twin stays a twin.
    world.write_suite(SUITE.replace("{format: delta, table: bronze.orders}", LANDING.replace("(?P<rows>\\d+)", "\\d+")))
    (drop / "in3.csv").write_bytes(b"")
    again = world.judge_again("in2 [x].csv")
    assert (again.counts.accepted, world.ids()) == (2, [1, 2, 3, 4, 6])
    twin = world.judge_again("in4.csv").decision
    assert twin is not None
    assert [r.message for r in twin.results if r.rule_id == "lz.file"] == ["the same content came before, as in1.csv"]
    with pytest.raises(SourceError, match=r"in3.csv is gone or was changed"):
        world.judge_again("in3.csv")
    assert (world.ids(), set(world.waiting())) == ([1, 2, 3, 4, 6], {"in3.csv", "in4.csv"})
    (drop / "in3.csv").unlink()
    # Struck after its commit, a file is finished by the next start and not taken again.
    (drop / "in6.csv").write_text(text(7, 20))
    with monkeypatch.context() as patch:
        patch.setenv("LAZARETTO_FAILPOINT", "after_commit:raise")
        with pytest.raises(FailpointReached):
            go(world)
    assert go(world).batches == 0
    assert world.ids() == [1, 2, 3, 4, 6, 7]
    assert not world.open_seals()
    world.proved()
