"""Every command on the quarantine first finishes what crashed runs left open."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from lazaretto.cli.sql import sql_command
from lazaretto.config.project import load_project
from lazaretto.pipeline.forward import finish_open
from lazaretto.quarantine.records import repair
from lazaretto.spark.lock import table_lock
from world import World, row


def test_sql_sees_the_rejects_of_a_run_that_crashed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.add(row(1), row(2, amount="-1"))
    world.crash(monkeypatch, "after_commit")
    (world.root / "suites" / "broken.yml").write_text("suite: [")  # somebody is just editing
    app = typer.Typer()
    app.command()(sql_command)
    arguments = ["SELECT count(*) AS n FROM inbox", "--project", str(world.root), "--output", "json"]
    with table_lock(world.spark, world.path("silver.orders")):  # a run at work finishes its batch itself
        assert finish_open(world.spark, load_project(world.root)).told() == []
    asked = CliRunner().invoke(app, arguments)
    assert json.loads(asked.stdout) == [{"n": 1}]
    assert "which an earlier run had left open: PUBLISHED" in asked.stderr
    world.nothing_lost_or_doubled([1, 2])
    again = CliRunner().invoke(app, arguments)
    assert (json.loads(again.stdout), again.stderr) == ([{"n": 1}], "")


def test_a_repaired_quarantine_gets_the_rejects_that_waited_for_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.add(row(1), row(2, amount="-1"))
    world.run()
    world.add(row(3), row(4, amount="-1"))
    world.crash(monkeypatch, "after_seal")
    records = world.path("quarantine.records")
    shutil.move(records, Path(records).with_name("gone"))
    project = load_project(world.root)
    [problem] = finish_open(world.spark, project).told()
    assert "could not be finished" in problem
    assert "lazaretto quarantine repair" in problem
    assert world.ids() == [1, 3]  # published all the same: only the rejects wait
    repair(world.spark, records)
    assert len(finish_open(world.spark, project).finished) == 1
    assert (world.ids(), world.quarantined_ids()) == ([1, 3], [4])
    assert not world.open_seals()
