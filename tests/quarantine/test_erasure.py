"""One person's records are erased wherever they are, down to the files, and nobody else's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lazaretto.cli import app
from lazaretto.pipeline import erasure, holds
from lazaretto.pipeline.erasure import NotErased
from lazaretto.pipeline.person import Person
from lazaretto.quarantine.wanted import Wanted
from world import World, row

SECRET, SENT = "ada-7f3c9b61", "lovelace-5d20aa4e"
WHOSE = ("--dataset", "silver.orders", "--where", f"row.name LIKE '{SECRET}%'")


def ask(world: World, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--project", str(world.root)], env={"COLUMNS": "200"})


def files_with(world: World, *texts: str) -> list[str]:
    """Files of the quarantine's tables, logs and change feed included, in which one of the texts can be read."""
    found = []
    for path in Path(world.path("quarantine")).rglob("*"):
        if not path.is_file() or path.suffix == ".crc":
            continue
        raw = path.read_bytes()
        content = repr(world.spark.read.parquet(str(path)).collect()) if path.suffix == ".parquet" else repr(raw)
        if any(text in content for text in texts):
            found.append(str(path.relative_to(world.root)))
    return found


def id_of(world: World, key: str) -> str:
    return str(next(r.record_id for r in world.quarantined() if r.record_key == key))


@pytest.mark.timeout(600)
def test_erased_is_erased_everywhere(spark: Any, tmp_path: Path) -> None:
    """A record that was corrected, sent and came back, one in the archive, and somebody else's; killed half-way."""
    world = World.create(spark, tmp_path)
    world.add(row(1), *(row(n, amount="-1", name=f"{SECRET} {n}") for n in (2, 3)), row(4, amount="-1", name="grace"))
    world.run()
    corrected = ask(world, "quarantine", "correct", id_of(world, "2"), "--set", f"code={SENT}", "--set", "amount=-2")
    assert corrected.exit_code == 0, corrected.stderr
    assert ask(world, "recycle", "silver.orders", "--output", "json").exit_code == 0
    old = "timestamp_micros(unix_micros(current_timestamp()) - 100L * 86400 * 1000000)"
    world.sql(
        f"UPDATE {{}} SET status = 'REJECTED', quarantined_at = {old}, quarantined_date = cast({old} as date) "
        "WHERE record_key = '3'",
        "quarantine.records",
    )
    retired = ask(world, "retention", "--output", "json")
    assert json.loads(retired.stdout)["assets"] == {"silver.orders": {"REJECTED": 1}}, retired.stderr
    places = {path.split("/")[2] for path in files_with(world, SECRET, SENT)}
    assert {"records", "archive", "outbox"} <= places  # or the search finds nothing anyway

    asked = ask(world, "quarantine", "erase", *WHOSE, "--reason", "request 12")
    assert (asked.exit_code, "to confirm: --count 2" in asked.stderr) == (2, True), asked.stderr
    wrong = ask(world, "quarantine", "erase", *WHOSE, "--reason", "request 12", "--count", "3")
    assert (wrong.exit_code, "2 records fit, not 3" in wrong.stderr) == (2, True), wrong.stderr
    command = ["quarantine", "erase", *WHOSE, "--reason", "request 12", "--count", "2", "--project", str(world.root)]
    killed = subprocess.run(
        [sys.executable, "-m", "lazaretto.cli", *command],
        env=os.environ | {"LAZARETTO_FAILPOINT": "after_overwritten:both"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert files_with(world, SECRET, SENT)  # overwritten, and still in old files
    carried_on = ask(world, "quarantine", "list", "--output", "json")  # whoever comes next finishes it
    assert "finished `erase` of records, begun by" in carried_on.stderr, carried_on.stderr

    assert files_with(world, SECRET, SENT) == []
    listed = {r["record_id"]: r for r in json.loads(carried_on.stdout)["records"]}
    assert len(listed) == 2
    erased = next(r for r in world.quarantined() if r.payload_policy == "erased")
    assert (erased.status, erased.reject_reason_code, erased.payload) == ("REJECTED", "ERASED", None)
    assert erased.history[-1].step == "erase"
    [left] = [r for r in world.quarantined() if r.record_key == "4"]
    assert json.loads(left.payload.toJson())["name"] == "grace"
    assert len(world.rows("quarantine.outbox")) == 1  # the ledger keeps its entry
    with world.bench() as bench:
        done = bench.store.evidence("silver.orders")[-1].payload
        assert (done["action"], done["details"]["count"]) == ("records:erase", 2)
        assert SECRET not in json.dumps(done)
        number = done["details"]["deed"]
    assert ask(world, "quarantine", "erase", *WHOSE, "--reason", "again", "--count", "0").exit_code != 0
    assert ask(world, "quarantine", "destroy-key", number).exit_code == 0
    with world.bench() as bench, pytest.raises(NotErased, match="there is no key"):
        erasure.destroy_key(bench, number, Person("ann"))
    world.proved()


def test_what_may_not_be_erased(spark: Any, tmp_path: Path) -> None:
    world = World.create(spark, tmp_path)
    world.add(row(1), row(2, amount="-1"), row(3, amount="-1"))
    world.run()
    ann, ordered = Person("ann"), Wanted(datasets=("silver.orders",))
    with world.bench() as bench:
        with pytest.raises(NotErased, match="needs a filter"):
            erasure.choose(bench, world.project(), Wanted(), ann)
        holds.add(bench, Wanted(datasets=("silver.orders",), keys=("2",)), "case 7", ann)
        with pytest.raises(NotErased, match="1 of 2 records are on legal hold"):
            erasure.choose(bench, world.project(), ordered, ann)
        chosen = erasure.choose(bench, world.project(), Wanted(datasets=("silver.orders",), keys=("3",)), ann)
        with pytest.raises(NotErased, match="a reason is needed"):
            erasure.erase(bench, world.project(), None, ordered, chosen, ann, " ")
    assert len(world.quarantined_ids()) == 2
