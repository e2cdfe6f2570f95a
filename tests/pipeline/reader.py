"""A reader beside the writers: looks at the lake again and again, and remembers everything it should not have seen."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from world import World

_PAUSE = 5.0
_TABLES = ("silver.orders", "quarantine.records")


@dataclass
class Reader:
    """What was seen. Rows are told apart by their id, so tests give each row its own."""

    world: World
    good: frozenset[int]
    bad: frozenset[int]
    looks: int = 0
    seen: list[str] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        """One look at what anyone may read: the target first, then the quarantine."""
        published, quarantined = Counter(self.world.ids()), Counter(self.world.quarantined_ids())
        for what, found, allowed in (("target", published, self.good), ("quarantine", quarantined, self.bad)):
            if strangers := set(found) - allowed:
                self.seen.append(f"rows {sorted(strangers)} in the {what}")
            if doubled := [row for row, times in found.items() if times > 1]:
                self.seen.append(f"rows {doubled} twice in the {what}")
        self.looks += 1

    def _logs(self) -> list[Path]:
        folders = (Path(self.world.path(table)) / "_delta_log" for table in _TABLES)
        return [path for folder in folders for path in folder.glob("*.json")]

    def loop(self) -> None:
        known, at = None, 0.0
        while not self.done.wait(0.1):
            # Where nobody committed anything since the last look, another one would show the same, unless files went.
            if (logs := self._logs()) == known and time.monotonic() - at < _PAUSE:
                continue
            known, at = logs, time.monotonic()
            try:
                self.look()
            except Exception as error:  # a reader that fails has been disturbed: that is a finding too
                self.seen.append(f"{type(error).__name__}: {str(error)[:300]}")


@contextmanager
def reading(world: World, good: list[int], bad: list[int]) -> Iterator[Reader]:
    """Read all the while; afterwards see that only judged rows were readable, each at most once."""
    reader = Reader(world, frozenset(good), frozenset(bad))
    thread = threading.Thread(target=reader.loop, daemon=True)
    thread.start()
    try:
        yield reader
    finally:
        reader.done.set()
        thread.join(60)
    reader.look()
    assert not reader.seen, reader.seen
    assert reader.looks > 1
