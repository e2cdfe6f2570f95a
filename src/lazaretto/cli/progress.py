"""What a long command shows while it works: the phase it is in, on a terminal; nothing elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lazaretto.pipeline.order import Clock

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

_WORDS = {
    "source": "looking for what is new",
    "stage": "inspecting every row",
    "seal": "sealing the batch",
    "measure": "measuring",
    "publish": "publishing",
    "quarantine": "filling the quarantine",
    "hold": "holding the batch",
    "confirm": "confirming",
}


@dataclass
class ShownClock(Clock):
    """A clock that also says what is going on."""

    status: Status | None = None
    suite: str = ""

    @classmethod
    @contextmanager
    def starting(cls, quiet: bool, console: Console | None = None) -> Iterator[ShownClock]:
        """Show progress while inside, on standard error; Rich keeps still where that is no terminal.

        Who prints meanwhile names the console that it prints to: two of them would write over each other.
        """
        from rich.console import Console

        if quiet:
            yield cls()
            return
        with (console or Console(stderr=True)).status("starting Spark") as status:
            yield cls(status=status)

    def begin(self, suite: str) -> None:
        """Another suite, with its own times."""
        self.suite = suite
        self.seconds = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Enclose a phase and show it."""
        if self.status is not None:
            self.status.update(f"{self.suite}: {_WORDS.get(name, name)}")
        with super().phase(name):
            yield
