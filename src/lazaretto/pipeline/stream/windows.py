"""Windows over the last batches, from what was decided about them: no row is read again. And a circuit breaker.

closed ──a window asks for a pause──► open ──after a while──► half open: one batch ──good──► closed
                                        ▲                                         └─bad──► open, twice as long
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from lazaretto.model.results import Flow, GateDecision
from lazaretto.model.stream import Window
from lazaretto.model.units import duration_words

_FIRST_PAUSE, _LONGEST_PAUSE = 30.0, 600.0


@dataclass(frozen=True)
class Measured:
    """One batch, as windows see it."""

    at: datetime
    rows: int
    failing: int
    unparseable: int
    duplicates: int
    flow: Flow = field(default_factory=Flow)

    @classmethod
    def of(cls, decision: GateDecision, at: datetime) -> Measured:
        """From what was decided about it."""

        def failed(check: str) -> int:
            return sum(result.failed for result in decision.results if result.check == check)

        context = decision.context
        return cls(
            at, context.rows, context.rows_failing, failed("lz.unparseable"), failed("unique"), context.flow or Flow()
        )


def finding(window: Window, measured: Iterable[Measured]) -> str | None:
    """What a window found, or None if all is well."""
    batches = list(measured)
    if window.within is not None and batches:
        batches = [m for m in batches if m.at >= batches[-1].at - window.within]
    else:
        batches = batches[-window.over :]
    rows = sum(m.rows for m in batches)
    # A window that is not full says nothing of too little, nor of what has to last.
    full = window.within is not None or len(batches) >= window.over
    if window.measure in ("lag", "watermark_delay"):
        return _lasting(window, batches) if full else None
    if window.measure == "volume":
        if window.below is not None and full and rows < window.below:
            return f"{rows:,} rows in {len(batches)} batches, fewer than {window.below:,}"
        return None
    counted = {
        "error_rate": sum(m.failing for m in batches),
        "poison_rate": sum(m.unparseable for m in batches),
        "duplicate_rate": sum(m.duplicates for m in batches),
        "late_events": sum(m.flow.late or 0 for m in batches),
    }[window.measure]
    if window.above is not None and window.above.exceeded_by(counted, rows):
        return f"{counted:,} of {rows:,} rows in {len(batches)} batches, more than {window.above}"
    return None


def _lasting(window: Window, batches: list[Measured]) -> str | None:
    """Lag and delay come and go: too much is what was too much all the while."""
    if window.behind is not None:
        delays = [m.flow.watermark_delay for m in batches if m.flow.watermark_delay is not None]
        least = timedelta(seconds=min(delays, default=0.0))
        if least > window.behind:
            return f"events at least {duration_words(least)} behind the clock in {len(delays)} batches"
        return None
    lags = [m.flow.lag for m in batches if m.flow.lag is not None]
    if window.above is not None and lags and window.above.exceeded_by(min(lags), 0):
        return f"a lag of at least {min(lags):,} in {len(lags)} batches, more than {window.above}"
    return None


@dataclass
class Watch:
    """All windows of a stream, and its circuit breaker."""

    windows: tuple[Window, ...]
    say: Callable[[str], None]
    degrade: Callable[[str], None]
    """Marks the asset degraded, with the reason."""
    note: Callable[[str, str], None]
    """Puts on record what the breaker did, and why."""
    wait: Callable[[threading.Event, float], bool] = threading.Event.wait
    state: Literal["closed", "open", "half_open"] = "closed"
    stopped_by: str | None = None
    """What a window that stops the stream found."""
    _last: deque[Measured] = field(default_factory=lambda: deque(maxlen=1000))
    _pause: float = _FIRST_PAUSE

    def remember(self, measured: Iterable[Measured]) -> None:
        """Batches of earlier runs of the stream, the oldest first."""
        self._last.extend(measured)

    @property
    def newest_event(self) -> datetime | None:
        """The watermark, as far as the batches that are remembered say."""
        return max((m.flow.newest_event for m in self._last if m.flow.newest_event is not None), default=None)

    def holding(self) -> str | None:
        """Why the next batch is to be held, if a window asks for it."""
        found = ((window, finding(window, self._last)) for window in self.windows if window.action == "hold")
        return "; ".join(f"window {window.id}: {why}" for window, why in found if why is not None) or None

    def before_batch(self, stop: threading.Event) -> None:
        """Wait while the breaker is open; the batch after that is the probe."""
        if self.state == "open":
            self.say(f"the source is paused for {self._pause:.0f} s; then one batch is tried")
            if not self.wait(stop, self._pause):
                self._change("half_open", "one batch is tried")

    def after_batch(self, batch: Measured) -> None:
        """Look at all windows, and do what they ask for."""
        probing = self.state == "half_open"
        if probing:
            self._last.clear()  # the probe is judged by itself
        self._last.append(batch)
        found = [(window, why) for window in self.windows if (why := finding(window, self._last)) is not None]
        for window, why in found:
            text = f"window {window.id}: {why}"
            if window.action == "stop":
                self.stopped_by = text
            elif window.action == "degrade":
                self.degrade(text)
                self.say(f"{text}; the asset is marked degraded")
        pausing = next((f"window {w.id}: {why}" for w, why in found if w.action == "pause"), None)
        if pausing is not None:
            self._pause = min(_LONGEST_PAUSE, self._pause * 2) if probing else _FIRST_PAUSE
            self._change("open", pausing)
        elif probing:
            self._pause = _FIRST_PAUSE
            self._change("closed", "the batch that was tried is good")

    def _change(self, state: Literal["closed", "open", "half_open"], why: str) -> None:
        self.state = state
        self.note(state, why)
        self.say(f"circuit breaker {state.replace('_', ' ')}: {why}")
