"""The command ends when it is told to, and never in the middle of a batch."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from typing import Any

import pytest
from typer.testing import CliRunner

from lazaretto.cli import app
from lazaretto.pipeline.failpoints import REACHED
from lazaretto.pipeline.stream import api
from world import SUITE, World, row


def test_a_signal_ends_a_stream_after_the_batch_under_way(world: World) -> None:
    for each in (1, 2, 3):
        world.add(row(each), row(10 * each, amount="-1"))
    command = ["stream", "orders", "--every", "1s", "--limit", "1", "--project", str(world.root)]
    process = subprocess.Popen(
        [sys.executable, "-m", "lazaretto.cli", *command],
        env=os.environ | {"LAZARETTO_FAILPOINT": "after_seal:stop:2"},  # in the midst of the second batch
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if REACHED in line:
            break
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    os.kill(process.pid, signal.SIGTERM)
    os.kill(process.pid, signal.SIGCONT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, said + err
    assert "orders batch 1: 2 rows," in said
    assert "orders: stopping after the batch that is under way" in err
    assert out.startswith("Stopped as asked, after the batch that was under way.\n2 batches, 0 refused;"), out
    world.nothing_lost_or_doubled([1, 2, 10, 20])
    world.proved()


def test_the_command_tells_each_batch_and_ends_when_it_is_told_to_or_has_all(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (1, 2, 3):
        world.add(row(each), row(10 * each, amount="-1"))
    note = api._Tally.note

    def interrupted(self: Any, result: Any, offset: str) -> None:
        note(self, result, offset)
        if self.batches == 2:
            os.kill(os.getpid(), signal.SIGINT)

    command = ["stream", "orders", "--project", str(world.root)]
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    with monkeypatch.context() as patch:
        patch.setattr(api._Tally, "note", interrupted)
        done = CliRunner().invoke(app, [*command, "--every", "1s", "--limit", "1"])
    assert {number: signal.getsignal(number) for number in handlers} == handlers
    assert done.exit_code == 0, done.output
    # All three versions are the table as the stream found it: one lag until it has them.
    batch = r"orders batch {0}: 2 rows, [\d,]+ rows/s, lag 1 versions, QUARANTINE_RECORDS, quarantine \+{0}"
    told = done.stderr.splitlines()
    assert re.fullmatch(batch.format(1), told[0]), told
    assert re.fullmatch(batch.format(2), told[1]), told
    assert told[2] == "orders: stopping after the batch that is under way"
    assert done.stdout.startswith("Stopped as asked, after the batch that was under way.\n2 batches, 0 refused;")
    rest = CliRunner().invoke(app, [*command, "--once", "--output", "json"])
    document = json.loads(rest.stdout)
    assert (rest.exit_code, document["ended"], document["batches"]) == (0, "caught_up", 1)
    assert document["counts"] == {"input": 2, "accepted": 1, "quarantined": 1, "dead_lettered": 0, "held": 0}
    world.write_suite(SUITE.replace("min: 0}", "min: 0, block_above: 10%}").replace("1.0.0", "1.1.0"))
    world.add(row(4, amount="-1"))
    refused = CliRunner().invoke(app, [*command, "--once"])
    assert refused.exit_code == 3, refused.output
    assert "1 batches, 1 refused" in refused.stdout
    assert "BLOCK_PUBLICATION" in refused.stderr
    world.nothing_lost_or_doubled([1, 2, 3, 10, 20, 30])
    world.proved()
