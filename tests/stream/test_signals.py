"""The command ends when it is told to, and never in the middle of a batch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from lazaretto.pipeline.failpoints import REACHED
from world import World, row


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_ends_a_stream_after_the_batch_under_way(world: World, number: signal.Signals) -> None:
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
    os.kill(process.pid, number)
    os.kill(process.pid, signal.SIGCONT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, said + err
    assert "orders batch 1: 2 rows," in said
    assert "orders: stopping after the batch that is under way" in err
    assert out.startswith("Stopped as asked, after the batch that was under way.\n2 batches, 0 refused;"), out
    world.nothing_lost_or_doubled([1, 2, 10, 20])
    world.proved()
