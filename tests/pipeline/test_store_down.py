"""Without its store a run publishes nothing, says so in a sentence, and is finished when the store is back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from lazaretto.store import StoreError, StoreUnreachable
from world import World, row

DEAD = "postgresql+psycopg://u:secret@127.0.0.1:1/none"


def test_a_store_that_is_down_stops_a_run_before_anything_is_read(world: World) -> None:
    (world.root / "lazaretto.yml").write_text(f"project: test\nlake: ./lake\nstore: {DEAD}\n")
    world.add(row(1))
    with pytest.raises(StoreUnreachable, match="cannot be used: connection failed") as error:
        world.run()
    assert "secret" not in str(error.value)
    assert not (world.root / "lake" / "silver").exists()
    assert not (world.root / "lake" / "quarantine").exists()


def test_a_store_that_goes_down_during_a_run(
    spark: Any, tmp_path: Path, postgres: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, url = World.create(spark, tmp_path), postgres()
    (tmp_path / "lazaretto.yml").write_text(f"project: test\nlake: ./lake\nstore: {url}\n")
    world.add(row(1), row(2, amount="-1"))
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    name = engine.url.database
    away = engine.url.set(database="postgres")
    server = sa.create_engine(away, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)

    def reachable(yes: bool) -> None:
        with server.connect() as connection:
            connection.execute(sa.text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {str(yes).lower()}"))
            if not yes:
                end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name"
                connection.execute(sa.text(end), {"name": name})

    from lazaretto.pipeline import finish

    measured = finish.measure

    def measure_and_lose_the_store(*given: Any) -> Any:
        found = measured(*given)
        reachable(False)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(finish, "measure", measure_and_lose_the_store)
        with pytest.raises(StoreError):
            world.run()
    assert world.ids() == []  # staged and sealed, and nobody may read it
    assert world.quarantined() == []
    assert len(world.open_seals()) == 1
    reachable(True)
    assert world.run().rolled_forward
    world.nothing_lost_or_doubled([1, 2])
    world.proved()
    server.dispose()
    engine.dispose()


def test_ten_processes_on_one_postgres(tmp_path: Path, postgres: Callable[[], str]) -> None:
    """The commands of ten people at once, each an approval of its own asset's exception: none lost, none doubled."""
    (tmp_path / "suites").mkdir()
    (tmp_path / "lazaretto.yml").write_text(f"project: test\nlake: ./lake\nstore: {postgres()}\n")
    (tmp_path / "suites" / "s.yml").write_text(
        "suite: s\nversion: 1.0.0\nasset: silver.s\nowner: o\n"
        "rules:\n  - {id: mail, check: no_pii, column: x, detectors: [email], runbook: r}\n"
    )
    call = [sys.executable, "-m", "lazaretto.cli", "exceptions", "add", "silver.s", "--rules", "mail"]
    call += ["--expires", "2099-01-01", "--requested-by", "ann", "--project", str(tmp_path), "--reason"]
    started = [subprocess.Popen([*call, f"number {n}"], stdout=subprocess.PIPE, text=True) for n in range(10)]
    told = [(process.communicate(timeout=120)[0], process.returncode) for process in started]
    assert [code for _, code in told] == [0] * 10, told
    with World(None, tmp_path).store() as store:
        assert sorted(a.approval.reason for a in store.approvals_on_record()) == [f"number {n}" for n in range(10)]
        assert store.verify_chain("silver.s") == ()
