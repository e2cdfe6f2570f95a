"""Records put away and brought back, held by law, and erased: none is ever in two places or in none."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lazaretto.cli import app
from lazaretto.config.project import Retention, load_project
from lazaretto.pipeline import chores, holds
from lazaretto.pipeline.api import register_views
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.failpoints import FailpointReached
from lazaretto.pipeline.looking import tables_of
from lazaretto.pipeline.person import Person
from lazaretto.pipeline.retention import NotArchived, finish, plan, restore, retain
from lazaretto.pipeline.upkeep import StillOpen, upkeep
from lazaretto.quarantine.erase import hmac_sql
from lazaretto.quarantine.looking import page
from lazaretto.quarantine.numbers import numbers
from lazaretto.quarantine.shape import STATISTICS
from lazaretto.quarantine.wanted import Wanted
from world import World, row

ANN = Person("ann")
SECRET = "ada.secret@example.org"
OLD = "timestamp_micros(unix_micros(current_timestamp()) - 100L * 86400 * 1000000)"


@pytest.fixture
def world(spark: Any, tmp_path: Path) -> World:
    return World.create(spark, tmp_path)


def ask(world: World, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--project", str(world.root)], env={"COLUMNS": "200"})


def seen(bench: Bench) -> dict[str, str]:
    """Everything that people see: id of the row → status. Fails if a record is seen twice."""
    tables = tables_of(bench.places, bench.files)
    found: dict[str, str] = {}
    for archived in (False, True):
        for record in page(bench.spark, tables, Wanted(), limit=1000, archived=archived).records:
            assert record["record_key"] not in found
            found[record["record_key"]] = record["status"]
    return found


def made_old(world: World, statuses: dict[int, str]) -> None:
    """Rejected rows of a run, as old as can be, in these statuses."""
    world.add(row(1), *(row(n, amount="-1") for n in statuses))
    world.run()
    cases = " ".join(f"WHEN '{n}' THEN '{status}'" for n, status in statuses.items())
    world.sql(
        f"UPDATE {{}} SET status = CASE record_key {cases} END, quarantined_at = {OLD}, "
        f"quarantined_date = cast({OLD} as date)",
        "quarantine.records",
    )


def crashing(monkeypatch: pytest.MonkeyPatch, point: str, work: Any) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("LAZARETTO_FAILPOINT", f"{point}:raise")
        with pytest.raises(FailpointReached):
            work()


def test_a_record_is_in_one_place_whatever_happens(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made_old(world, {2: "REJECTED", 3: "REJECTED", 4: "QUARANTINED", 5: "REJECTED"})
    kept = Retention(closed_after="90d")
    with world.bench() as bench:
        hold = holds.add(bench, Wanted(datasets=("silver.orders",), where="row.id = 5"), "case 7", ANN)
        assert plan(bench, Retention(closed_after="101d")).count == 0
        planned = plan(bench, Retention(closed_after="90d", open_after="90d"))
        assert (planned.moved, planned.held) == ({"silver.orders": {"REJECTED": 2, "QUARANTINED": 1}}, 1)
        wide = holds.add(bench, Wanted(datasets=("silver.orders",)), "case 8", ANN)
        planned = plan(bench, Retention(closed_after="90d", open_after="90d"))
        assert (planned.moved, planned.held) == ({}, 4)
        holds.remove(bench, wide.hold_id, "over", ANN)

    command = [sys.executable, "-m", "lazaretto.cli", "retention", "--project", str(world.root)]
    killed = subprocess.run(
        command,
        env=os.environ | {"LAZARETTO_FAILPOINT": "after_archived:both"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with world.bench() as bench:
        assert len(world.quarantined()) == 4  # copied, and not taken away yet
        after = {"2": "ARCHIVED", "3": "ARCHIVED", "4": "QUARANTINED", "5": "REJECTED"}
        assert seen(bench) == after
        register_views(world.spark, load_project(world.root))
        assert world.spark.sql("SELECT count(*) FROM inbox").first()[0] == 2
        assert any("was begun" in finding.problem for finding in world.verify().findings)
        with pytest.raises(StillOpen, match="a move or erasure"):
            upkeep(bench, load_project(world.root), None)
    listed = ask(world, "quarantine", "list", "--archived", "--output", "json")  # whoever comes next finishes it
    assert "finished `archive` of records, begun by" in listed.stderr
    assert len(json.loads(listed.stdout)["records"]) == 2
    with world.bench() as bench:
        assert len(world.quarantined()) == 2
        assert seen(bench) == after
        assert not chores.open_chores(bench.files, bench.places)
        done = bench.store.evidence("silver.orders")[-1].payload
        assert done["action"] == "records:archive"
        assert done["details"]["before"] == {"REJECTED": 3, "QUARANTINED": 1}
        assert done["details"]["after"] == {"REJECTED": 1, "QUARANTINED": 1}
        assert retain(bench, kept, ANN).count == 0

        two = next(r.record_id for r in world.rows("quarantine.archive") if r.record_key == "2")
        crashing(monkeypatch, "after_brought_back", lambda: restore(bench, [two[:20]], ANN, "reopened"))
        assert len(world.quarantined()) == 3
        assert seen(bench) == after  # until the move is finished, the archive counts
        assert [line.split(",")[0] for line in finish(bench)] == ["finished `restore` of records"]
        assert seen(bench) == after | {"2": "REJECTED"}
        assert (len(world.quarantined()), len(world.rows("quarantine.archive"))) == (3, 1)
        [back] = [r for r in world.quarantined() if r.record_id == two]
        assert [(s.step, s.came_from, s.went_to) for s in back.history] == [
            ("archive", "REJECTED", "ARCHIVED"),
            ("restore", "ARCHIVED", "REJECTED"),
        ]
        with pytest.raises(NotArchived, match="not in the archive"):
            restore(bench, [two], ANN, "again")
        assert retain(bench, kept, ANN).count == 0  # somebody wanted it back: not put away again at once
        holds.remove(bench, hold.hold_id, "over", ANN)
        assert retain(bench, kept, ANN).moved == {"silver.orders": {"REJECTED": 1}}
        assert bench.store.verify_chain("silver.orders") == ()
        found = numbers(world.spark, tables_of(bench.places, bench.files), date(2000, 1, 1))
        assert [(r.ended_as, r.records, r.most_attempts) for r in found.resolutions] == [("REJECTED", 3, 0)]
        assert (sum(f.arrived for f in found.flow), sum(f.drained for f in found.flow)) == (4, 3)
    world.proved()


def test_files_are_not_removed_while_a_batch_is_open(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.add(row(1), row(2, amount="-1"))
    world.crash(monkeypatch, "after_commit")
    with world.bench() as bench, pytest.raises(StillOpen, match="1 sealed batches"):
        upkeep(bench, load_project(world.root), None)
    tidied = ask(world, "vacuum")  # finishes it first
    assert tidied.stdout == "tidied up quarantine.records\n"
    assert world.quarantined_ids() == [2]
    assert ask(world, "retention", "--dry-run").stdout == "no record is old enough\n"


def test_the_keyed_hash_is_the_one_of_the_standard(spark: Any) -> None:
    for key in (b"k", b"0123456789abcdef" * 2):
        [found] = spark.sql(f"SELECT {hmac_sql(key, 'm')} FROM VALUES ('what') AS v(m)").first()
        assert found == hmac.new(key, b"what", hashlib.sha256).hexdigest()


def test_no_value_of_a_row_gets_into_a_log() -> None:
    assert not {"record_key", "event_id", "rescued_data", "payload_hash", "source_position"} & set(
        STATISTICS.split(",")
    )
