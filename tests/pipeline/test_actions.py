"""Every row of the action table, on real Delta, with what a reader may read afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lazaretto as lz
from lazaretto.config.project import load_project
from lazaretto.model.words import AssetState, GateAction, Publication
from lazaretto.pipeline import held
from lazaretto.pipeline.person import FourEyes, Person
from lazaretto.pipeline.trust import NotCertified
from lazaretto.pipeline.unlock import NotLocked, unlock_asset
from world import SCHEMA, World, row

HEAD = "suite: s_{name}\nversion: 1.0.0\nasset: silver.{name}\nowner: o\n{more}\nrules:\n{rules}"
RANGE = "  - {id: amount_positive, check: range, column: amount, min: 0"
GOOD = [row(1), row(2), row(3), row(4)]
ONE_BAD = [row(1), row(2), row(3), row(4, amount="-1")]
MOST_BAD = [row(1), *(row(n, amount="-1") for n in (2, 3, 4))]
BLANK = [row(1), row(2, name=" ")]
MAIL = [row(1), row(2, name="a@example.com")]
NAME = "  - {id: name_given, check: not_empty, column: name, on_fail: "
NO_MAIL = "  - {id: no_mail, check: no_pii, column: name, detectors: [email], runbook: x}"

CASES: dict[str, tuple[str, str, list[Any], str, str | None, str, int, int]] = {
    # more, rules, rows → action, publication, state, exit, exit with --strict
    "pass": ("", RANGE + "}", GOOD, "PASS", "PUBLISHED_CERTIFIED", "certified", 0, 0),
    "certified": (
        "certify_below: 50%", RANGE + "}", ONE_BAD, "QUARANTINE_RECORDS", "PUBLISHED_CERTIFIED", "certified", 0, 0,
    ),
    "partial": ("", RANGE + "}", ONE_BAD, "QUARANTINE_RECORDS", "PUBLISHED_PARTIAL", "partial", 0, 5),
    "warn": ("", NAME + "warn}", BLANK, "WARN", "PUBLISHED_DEGRADED", "degraded", 0, 5),
    "degrade": (
        "", NAME + "degrade_consumer}", BLANK, "DEGRADE_CONSUMER", "PUBLISHED_DEGRADED", "degraded", 0, 5,
    ),
    "supersede": ("write: replace", RANGE + "}", GOOD, "SUPERSEDE", "PUBLISHED_CERTIFIED", "certified", 0, 0),
    "flood": ("", RANGE + "}", MOST_BAD, "QUARANTINE_BATCH", "NOT_PUBLISHED", "uncertified", 3, 3),
    "block": ("", RANGE + ", block_above: 10%}", ONE_BAD, "BLOCK_PUBLICATION", "NOT_PUBLISHED", "uncertified", 3, 3),
    "closed": ("", NO_MAIL, MAIL, "FAIL_CLOSED", "NOT_PUBLISHED", "locked", 4, 4),
    "annotate": ("mode: annotate", RANGE + "}", ONE_BAD, "WARN", "PUBLISHED_DEGRADED", "uncertified", 0, 5),
}  # fmt: skip


def suite_of(world: World, name: str) -> lz.Suite:
    more, rules, *_ = CASES[name]
    file = world.root / "suites" / f"{name}.yml"
    file.write_text(HEAD.format(name=name, more=more, rules=rules))
    return lz.load_suite(file)


def run_case(world: World, name: str, **options: Any) -> lz.RunResult:
    frame = world.spark.createDataFrame(CASES[name][2], SCHEMA).coalesce(1)
    return lz.run(suite_of(world, name), world.spark, df=frame, **options)


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_every_row_of_the_action_table(world: World, database: str, request: pytest.FixtureRequest) -> None:
    if database == "postgres":
        url = request.getfixturevalue("postgres")()
        (world.root / "lazaretto.yml").write_text(f"project: test\nlake: ./lake\nstore: {url}\n")
    for name, (_, _, rows, action, publication, state, _, strict) in CASES.items():
        asset = f"silver.{name}"
        if name == "supersede":  # something has to be there first
            run_case(world, name, run_id="first")
        result = run_case(world, name, run_id="now", strict=True)
        assert (result.action, result.publication) == (GateAction(action), Publication(str(publication))), name
        assert result.exit_code == strict, name
        assert result.counts.balanced
        with world.store() as store:
            standing = store.asset_state(asset)
            assert standing is not None
            assert (standing.state, standing.version) == (AssetState(state), result.published_version), name
            assert standing.last_attempt_refused is (result.published_version is None)
            (latest, *_) = store.runs(limit=1)
            assert (latest.asset, latest.state, latest.detail) == (asset, "finished", action)
            phases = {phase.name: phase for phase in store.phases(latest.key)}
            assert {"source", "stage", "seal", "measure", "publish", "confirm"} <= set(phases)
            assert all(phase.ended_at and phase.seconds is not None for phase in phases.values())
        held_rows = len(rows) if publication == "NOT_PUBLISHED" else 0
        assert result.counts.held == held_rows, name
        _reader(world, asset, AssetState(state), result)
    with world.store() as store:
        assert store.last_version("silver.supersede", [AssetState.SUPERSEDED]) == 1
    for name in ("partial", "block", "annotate"):
        world.proved(f"silver.{name}")


def _reader(world: World, asset: str, state: AssetState, result: lz.RunResult) -> None:
    """A reader gets exactly what they accept."""
    project = load_project(world.root)
    if state is AssetState.CERTIFIED:
        assert lz.require_certified(world.spark, asset, project=project).count() == result.counts.accepted
        return
    with pytest.raises(NotCertified, match=asset):
        lz.require_certified(world.spark, asset, project=project)
    if result.published_version is not None:
        frame = lz.require_certified(world.spark, asset, accept=("certified", state.value), project=project)
        assert frame.count() == result.counts.accepted


def test_held_and_locked_on_postgres(spark: Any, tmp_path: Path, postgres: Callable[[], str]) -> None:
    world = World.create(spark, tmp_path)
    (tmp_path / "lazaretto.yml").write_text(f"project: test\nlake: ./lake\nstore: {postgres()}\n")
    assert run_case(world, "partial", run_id="r").publication is Publication.PUBLISHED_PARTIAL
    blocked, closed = run_case(world, "block", run_id="r"), run_case(world, "closed", run_id="r")
    with world.bench() as bench:
        ended = held.release(bench, str(blocked.batch_id), Person("bob"), "seen", requested_by="ann")
        assert ended.decision is not None
        assert ended.decision.publication is Publication.PUBLISHED_DEGRADED
        path = world.path("silver.closed")
        with pytest.raises(FourEyes):
            unlock_asset(bench, "silver.closed", path, Person("ann"), "looked", requested_by="ann")
        assert run_case(world, "closed", run_id="more").outcome == "locked"
        state = unlock_asset(bench, "silver.closed", path, Person("bob"), "looked", requested_by="ann")
        assert state is AssetState.UNCERTIFIED
        with pytest.raises(NotLocked):
            unlock_asset(bench, "silver.closed", path, Person("bob"), "looked", requested_by="ann")
        held.discard(bench, str(closed.batch_id), Person("bob"), "not ours", requested_by="ann")
        assert [event.action for event in bench.store.events("silver.closed")] == ["state:uncertified"] * 2
    for name in ("partial", "block", "closed"):
        world.proved(f"silver.{name}")
