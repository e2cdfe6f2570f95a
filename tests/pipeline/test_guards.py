"""The guards are needed: with one of them taken away, the same story ends with rows doubled or lost."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from lazaretto.pipeline import batch
from lazaretto.quarantine import append
from lazaretto.spark import publisher
from world import SUITE, World, row

STORIES = {
    # what the guard is: (publisher, where the run ends)
    "the transaction id in the target, files added as they are": ("zero_copy", "after_commit"),
    "the transaction id in the target, rows copied": ("copy", "after_commit"),
    "the transaction id in the quarantine": ("zero_copy", "after_quarantine"),
    "the seal": ("zero_copy", "after_commit"),
}


def take_away(guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(*_: Any) -> str:
        return f"nobody:{uuid.uuid4()}"

    if guard == "the seal":
        monkeypatch.setattr(batch, "roll_forward", lambda *_: [])
    elif guard.endswith("quarantine"):
        monkeypatch.setattr(append, "application_id", forgetful)
    else:
        monkeypatch.setattr(publisher, "batch_app", forgetful)
        monkeypatch.setattr(batch, "batch_app", forgetful)


@pytest.mark.parametrize("guarded", [True, False], ids=["guarded", "unguarded"])
@pytest.mark.parametrize("guard", STORIES)
def test_without_the_guard_rows_are_doubled_or_lost(
    world: World, guard: str, guarded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    how, point = STORIES[guard]
    world.write_suite(SUITE.replace("key: [id]", f"key: [id]\npublish: {how}"))
    world.add(row(1), row(2), row(3, amount="-1"))
    if not guarded:
        take_away(guard, monkeypatch)
    world.crash(monkeypatch, point)
    # Added twice, a file is in the table once; but not if its rows were rewritten in between.
    world.sql("DELETE FROM {} WHERE id = 2")
    world.run()
    if guarded:
        world.nothing_lost_or_doubled([1, 3])
    else:
        with pytest.raises(AssertionError):
            world.nothing_lost_or_doubled([1, 3])
