"""What a caller asks of a run, and the clock it is timed by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter

from lazaretto.model.correction import CorrectionSet
from lazaretto.pipeline.sources import Slice, Taken
from lazaretto.store import Run


@dataclass
class Clock:
    """Times the phases of a run; a run's progress display and its record in the store read it."""

    seconds: dict[str, float] = field(default_factory=dict)
    record: Run | None = None
    """Where the store keeps when each phase began and ended."""

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Enclose a phase."""
        began = perf_counter()
        try:
            with self.record.phase(name) if self.record else nullcontext():
                yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + perf_counter() - began, 3)


@dataclass(frozen=True)
class Order:
    """What the caller asked for."""

    run_id: str
    env: str | None = None
    slice: Slice = field(default_factory=Slice)
    metadata: tuple[tuple[str, str], ...] = ()
    reprocess: bool = False
    strict: bool = False
    wait: float = 600.0
    taken: Taken | None = None
    """What to judge, where that is known already: the source of a held batch that is judged again."""
    despite_lock: bool = False
    """Someone has approved that a locked asset takes this batch."""
    corrections: tuple[CorrectionSet, ...] = ()
    """What to try on the rows that are quarantined, when the run is at its end."""
