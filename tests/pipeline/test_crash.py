"""Kill anything at any moment: nothing is lost, nothing is doubled, nothing uncertified is ever readable.

`make test` kills at a sample of the points; `make crash` (LAZARETTO_CRASH=all) at every point in every way.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lazaretto.pipeline.failpoints import POINTS, REACHED
from lazaretto.spark.lock import AssetBusy, table_lock
from pipeline.reader import reading
from world import SUITE, World, row

ALL = os.environ.get("LAZARETTO_CRASH") == "all"
PUBLISHING = (
    [point for point in POINTS if point != "after_hold_copy"]
    if ALL
    else ["after_stage", "after_seal", "before_commit", "after_commit", "after_quarantine"]
)
KILLS = (
    [(point, how) for point in POINTS for how in ("python", "jvm", "both")]
    if ALL
    else [("after_seal", "both"), ("after_commit", "python"), ("after_quarantine", "jvm")]
)
GOOD, BAD = [1, 2, 3], [4, 5]


def fill(world: World) -> None:
    world.add(*(row(n) for n in GOOD), *(row(n, amount="-1") for n in BAD))


def doomed_run(world: World, point: str, how: str) -> None:
    """A run in its own process that ends at this point."""
    driver = Path(__file__).with_name("driver.py")
    environment = os.environ | {"LAZARETTO_FAILPOINT": f"{point}:{how}"}
    done = subprocess.run(
        [sys.executable, str(driver), str(world.root)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    told = done.stdout + done.stderr
    assert f"{REACHED} {point}" in done.stderr, told
    assert done.returncode != 0 if how == "jvm" else done.returncode == -signal.SIGKILL, told


@pytest.mark.parametrize(("point", "how"), KILLS)
def test_a_kill_at_any_point_loses_and_doubles_nothing(world: World, point: str, how: str) -> None:
    fill(world)
    held = point == "after_hold_copy"
    if held:
        world.write_suite(SUITE.replace("min: 0}", "min: 0, block_above: 1}"))
    readable = ([6], []) if held else ([*GOOD, 6], BAD)
    with reading(world, *readable):
        doomed_run(world, point, how)
        world.add(row(6))
        world.run(run_id="after the crash")
    if held:
        assert len(world.held_folders()) == 1
        assert world.ids() == [6]
        assert not world.open_seals()
    else:
        world.nothing_lost_or_doubled([*GOOD, *BAD, 6])
    with world.store() as store:
        assert not store.unconfirmed()


@pytest.mark.parametrize("point", PUBLISHING)
def test_an_exception_at_any_point_is_mended_by_the_next_run(
    world: World, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(world)
    world.crash(monkeypatch, point)
    # Between crash and restart someone changes the rules: the sealed batch keeps the ones that judged it.
    world.write_suite(SUITE.replace("min: 0", "min: 1000").replace("1.0.0", "2.0.0"))
    world.add(row(6, amount="2000"))
    world.run(run_id="another")
    sealed = point not in ("before_stage", "after_stage")
    if sealed:
        world.nothing_lost_or_doubled([*GOOD, *BAD, 6])
        assert world.ids() == [*GOOD, 6]
        with world.store() as store:
            assert not store.unconfirmed()
    else:
        assert world.ids() + world.quarantined_ids() == [6, *GOOD, *BAD]
        assert not world.open_seals()


def test_the_store_may_be_lost_between_crash_and_restart(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(world)
    world.crash(monkeypatch, "after_commit")
    for file in (world.root / ".lazaretto").glob("control.db*"):
        file.unlink()
    assert world.run().rolled_forward
    world.nothing_lost_or_doubled([*GOOD, *BAD])
    with world.store() as store:
        assert len(store.decisions("silver.orders")) == 1
        assert not store.unconfirmed()


def test_two_processes_at_once_do_not_double(world: World, spark: Any) -> None:
    fill(world)
    with table_lock(spark, world.path("silver.orders")), pytest.raises(AssetBusy, match="another run holds"):
        world.run(wait=0.5)
    driver = str(Path(__file__).with_name("driver.py"))
    with reading(world, GOOD, BAD):
        rivals = [
            subprocess.Popen([sys.executable, driver, str(world.root), name], stdout=subprocess.PIPE, text=True)
            for name in ("one", "two")
        ]
        told = sorted(rival.communicate(timeout=300)[0].strip() for rival in rivals)
    assert told == ["done 5", "nothing_new 0"]  # the other one waited
    world.nothing_lost_or_doubled([*GOOD, *BAD])
    assert world.commits() == 2


def test_a_seal_waits_for_whoever_comes_next_and_a_foreign_vacuum_spares_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(world)
    world.crash(monkeypatch, "after_commit")
    assert len(world.open_seals()) == 1
    world.sql("VACUUM {}")
    world.sql("OPTIMIZE {}")
    world.run()
    world.nothing_lost_or_doubled([*GOOD, *BAD])
