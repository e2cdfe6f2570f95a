"""A stream: how the suite wants its micro-batches, and what came of a whole run of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lazaretto.model.results import Counts
from lazaretto.model.run import RunResult
from lazaretto.model.units import DurationField, SizeField
from lazaretto.model.values import ThresholdField


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Window(_Frozen):
    """A rule about the last batches of a stream, measured from what was decided about them."""

    id: str = Field(min_length=1)
    """Name of the window."""
    measure: Literal["error_rate", "poison_rate", "duplicate_rate", "late_events", "volume", "lag", "watermark_delay"]
    """error_rate: rows with any failure; poison_rate: rows that could not be parsed; duplicate_rate: rows that fail
    `unique` rules; late_events: rows whose `event_time` is older than the watermark, by more than `lateness`; volume:
    rows; lag: what waits in the source (messages, versions, files); watermark_delay: how far the newest event is behind
    the clock."""
    over: int = Field(default=10, gt=0)
    """The last so many batches."""
    within: DurationField | None = None
    """The batches of the last so many minutes, instead."""
    above: ThresholdField | None = None
    """More than this is too much: `5%`, or a number of rows; a number for lag."""
    below: int | None = Field(default=None, ge=0)
    """Fewer rows than this are too few (volume)."""
    behind: DurationField | None = None
    """More than this is too far behind (watermark_delay)."""
    action: Literal["degrade", "hold", "pause", "stop"] = "degrade"
    """degrade: mark the asset; hold: hold each batch that comes meanwhile; pause: stop taking batches for a while, then
    try one (circuit breaker); stop."""

    @model_validator(mode="after")
    def _has_a_limit(self) -> Self:
        needed = {"volume": "below", "watermark_delay": "behind"}.get(self.measure, "above")
        given = [name for name in ("above", "below", "behind") if getattr(self, name) is not None]
        if given != [needed]:
            raise ValueError(f"a window of {self.measure} needs `{needed}`, and nothing else to compare with")
        if self.measure == "lag" and self.above is not None and self.above.is_rate:
            raise ValueError("`above` of lag is a number: messages, versions or files")
        return self


class StreamSettings(_Frozen):
    """How `lazaretto stream` takes the source of a suite."""

    every: DurationField = timedelta(0)
    """Time between the beginnings of two micro-batches; 0s: one after the other."""
    limit: int | None = Field(default=None, gt=0)
    """At most so many messages (Kafka) or files (elsewhere) in a micro-batch."""
    limit_bytes: SizeField | None = Field(default=None, gt=0)
    """At most about so many bytes in a micro-batch (Delta)."""
    on_block: Literal["continue", "stop"] = "continue"
    """After a micro-batch that the gate refused: continue with the next one, or stop."""
    windows: tuple[Window, ...] = ()
    """Rules about the last batches: error rate, poison rate, duplicate rate, late events, volume, lag, watermark
    delay."""
    lateness: DurationField = timedelta(0)
    """An event is late if it is older than the newest one of earlier batches by more than this."""
    recover_after: int = Field(default=3, ge=1)
    """The asset's state gets better only after so many good micro-batches in a row; worse at once."""
    compact_every: int = Field(default=100, ge=0)
    """After so many micro-batches the small files of target and quarantine are put together; 0: never."""
    retries: int = Field(default=5, ge=0)
    """So often in a row a micro-batch is tried again when disk, broker or store fail, with growing pauses."""


Ended = Literal["caught_up", "asked", "blocked", "window", "locked"]
"""--once took all there was; a signal or a program asked; `on_block: stop`; a window asked for it; FAIL_CLOSED."""


def measures(settings: StreamSettings) -> frozenset[str]:
    """What the windows look at."""
    return frozenset(window.measure for window in settings.windows)


OF_EVENT_TIME = frozenset({"late_events", "watermark_delay"})


class StreamResult(_Frozen):
    """What became of the micro-batches of one run of a stream."""

    suite: str
    asset: str
    checkpoint: str
    ended: Ended
    batches: int = 0
    """Micro-batches with rows."""
    refused: int = 0
    """Those of them that were held."""
    counts: Counts = Counts()
    last: RunResult | None = Field(default=None, repr=False)
    message: str = ""
    exit_code: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return self.model_dump(mode="json", exclude={"last"}) | {"last": self.last.to_dict() if self.last else None}

    def __repr__(self) -> str:
        counts = self.counts
        return (
            f"StreamResult({self.asset}: {self.ended}, {self.batches} batches, {counts.input:,} in = "
            f"{counts.accepted:,} accepted + {counts.quarantined:,} quarantined + {counts.held:,} held)"
        )

    __str__ = __repr__
