"""`verify` names whatever was tampered with; `settle` and `rebuild-store` bring back what was left out or lost."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lazaretto as lz
from lazaretto.cli import app
from lazaretto.config.project import load_project
from lazaretto.model.words import AssetState
from lazaretto.pipeline.assets import assets
from lazaretto.pipeline.settle import settle
from lazaretto.pipeline.trust import NotCertified
from world import SUITE, World, row

ASSET = "silver.orders"


def problems(world: World) -> str:
    return "\n".join(f"{finding.kind}: {finding.problem}" for finding in world.verify().findings)


@contextmanager
def store_of(world: World) -> Iterator[sqlite3.Connection]:
    """The store's database behind its back; afterwards it is as it was before."""
    file, copy = world.root / ".lazaretto" / "control.db", world.root / "copy.db"
    shutil.copy(file, copy)
    connection = sqlite3.connect(file)
    with connection:
        yield connection
    connection.close()
    shutil.copy(copy, file)


def settled(world: World) -> list[str]:
    with world.bench() as bench:
        done = settle(bench, assets(bench, load_project(world.root), None))
        return [line for each in done for line in each.left]


def test_tampering_is_named(world: World) -> None:
    world.add(row(1), row(2), row(3, amount="-1"), row(4, amount="-1"))
    first = world.run()
    old = world.root / "old.db"
    shutil.copy(world.root / ".lazaretto" / "control.db", old)
    world.write_suite(SUITE.replace("min: 0}", "min: 0, block_above: 10%}").replace("1.0.0", "1.0.1"))
    world.add(row(5, amount="-1"), row(6))
    second = world.run()
    proof = world.verify()
    assert proof.holds, problems(world)
    assert (proof.batches, proof.totals.input, proof.totals.accepted) == (2, 6, 2)
    assert (proof.totals.quarantined, proof.totals.held, proof.records) == (2, 2, 4)

    for column, value in (  # tests/store/test_verify.py has them all
        ("payload", '{"action": "PASS"}'), ("recorded_at", "2020-01-01T00:00:00.000000Z"),
    ):  # fmt: skip
        with store_of(world) as database:
            database.execute(f"UPDATE evidence SET {column} = ? WHERE sequence = 2", (value,))
            database.commit()
            assert "evidence: silver.orders #2" in problems(world), column
    with store_of(world) as database:
        database.execute("DELETE FROM evidence WHERE sequence = 3")
        database.commit()
        assert "record 3 was removed" in problems(world)
    with store_of(world) as database:
        database.execute("UPDATE asset_state SET state = 'certified'")
        database.commit()
        assert "asset state" in problems(world)
    with store_of(world):
        shutil.copy(old, world.root / ".lazaretto" / "control.db")
        found = problems(world)
        assert "the store is older than the lake" in found
        assert "which is not on record" in found
        assert not settled(world)  # and the lake brings it back, record for record
        world.proved()

    stray = Path(world.path(ASSET)) / "part-of-mine.parquet"
    stray.write_bytes(b"PAR1")
    assert "foreign: the file part-of-mine.parquet is in the table's folder and in no commit" in problems(world)
    stray.unlink()
    folder = next((world.root / "lake/quarantine/held").rglob("*.parquet"))
    content = folder.read_bytes()
    folder.unlink()
    assert f"a file of held batch {str(second.batch_id)[:12]} is gone" in problems(world)
    folder.write_bytes(content)
    world.proved()

    project = load_project(world.root)
    partial = ("certified", "partial")
    assert lz.require_certified(world.spark, ASSET, partial, project=project).count() == 2
    world.sql("DELETE FROM {} WHERE place = 'inbox' AND record_key = '3'", "quarantine.records")
    assert f"batch {str(first.batch_id)[:12]}: 2 rows were quarantined, quarantine.records has 1" in problems(world)
    world.sql("INSERT INTO {} VALUES (9, 1, 'x', '1')", ASSET)  # a file added by a stranger's commit
    assert "is not ours and changed rows: WRITE (1 files added, 0 removed)" in problems(world)
    # Who reads what was certified reads the version before; what comes after contains the stranger's row.
    assert lz.require_certified(world.spark, ASSET, partial, project=project).count() == 2
    world.write_suite(SUITE.replace("1.0.0", "1.0.2"))
    world.add(row(7))
    third = world.run()
    assert third.foreign_changes
    with world.store() as store:
        standing = store.asset_state(ASSET)
        assert standing is not None
        assert standing.state is AssetState.UNCERTIFIED
    assert lz.require_certified(world.spark, ASSET, partial, project=project).count() == 2
    with pytest.raises(NotCertified, match="by others"):
        lz.require_certified(world.spark, ASSET, project=project)


def test_a_crash_before_the_confirmation_is_settled_and_a_lost_store_rebuilt(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.add(row(1), row(2, amount="-1"))
    world.run(run_id="whole")
    world.add(row(3))
    world.crash(monkeypatch, "after_commit")
    assert "sealed and not finished: lazaretto settle" in problems(world)
    with world.store() as store:
        assert [record.state.value for record in store.runs()] == ["failed", "finished"]
        assert store.runs()[0].detail == "FailpointReached"
        before = store.evidence(ASSET)
        decided = [store.decision(d.decision_id) for d in store.decisions(ASSET)]
    assert len(before) == 3
    for file in (world.root / ".lazaretto").glob("control.db*"):
        file.unlink()
    assert settled(world) == []
    with world.store() as store:
        assert store.evidence(ASSET)[:3] == before
        assert len(store.evidence(ASSET)) == 4
        assert [store.decision(d.decision_id) for d in store.decisions(ASSET)] == decided
        assert not store.unconfirmed()
    world.proved()
    world.nothing_lost_or_doubled([1, 2, 3])


def test_the_commands(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = CliRunner()
    monkeypatch.setattr(type(world.spark), "stop", lambda self: None)  # the tests' session is not the command's to end
    world.write_suite(SUITE.replace("min: 0}", "min: 0, block_above: 10%}"))
    world.add(row(1), row(2, amount="-1"))
    batch = str(world.run().batch_id)
    here = ["--project", str(world.root)]
    listed = runner.invoke(app, ["held", "list", *here])
    assert batch[:12] in listed.output
    assert "2 rows  waiting" in listed.output
    shown = runner.invoke(app, ["held", "show", batch[:6], *here])
    assert "amount_positive" in shown.output
    refused = runner.invoke(app, ["held", "release", batch, "--reason", "mine", *here])
    assert "cannot approve it as well" in str(refused.exception)
    released = runner.invoke(app, ["held", "release", batch, "--reason", "ok", "--requested-by", "ann", *here])
    assert "1 rows published as version" in released.output, released.exception
    proved = runner.invoke(app, ["verify", "--output", "json", *here])
    assert proved.exit_code == 0, proved.output
    assert '"holds": true' in proved.output
    world.sql("DELETE FROM {} WHERE id = 1", ASSET)
    named = runner.invoke(app, ["verify", ASSET, *here])
    assert named.exit_code == 1
    assert "DOES NOT ADD UP" in named.output
    assert "DELETE" in named.output
    for file in (world.root / ".lazaretto").glob("control.db*"):
        file.unlink()
    rebuilt = runner.invoke(app, ["rebuild-store", *here])
    assert "5 evidence records restored" in rebuilt.output, rebuilt.output
    assert "cannot come back" in rebuilt.output
    assert "nothing to settle" in runner.invoke(app, ["settle", *here]).output
