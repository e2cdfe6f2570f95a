"""When the events of a batch happened: counted on the way of the one write, for the windows of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from lazaretto.engine.paths import MissingColumn, resolve
from lazaretto.model.results import Flow

if TYPE_CHECKING:
    from lazaretto.engine.judge import Judged

NEWEST, LATE = "newest_event", "late_events"
_BEGIN = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Events:
    """What the events of a batch are compared with."""

    column: str
    newest: datetime | None = None
    """Of the batches before: the watermark. None: nothing is late yet."""
    lateness: timedelta = timedelta(0)

    def metrics(self, judged: Judged) -> dict[str, str]:
        """SQL of what is counted; nothing where the column is missing, for then a rule says so."""
        try:
            at = f"try_cast({resolve(self.column, judged.schema).sql} AS timestamp)"
        except MissingColumn:
            return {}
        # An event that is yet to come is a mistake: it must not make all that follow it late.
        happened = f"CASE WHEN {at} <= {judged.run.now} THEN unix_micros({at}) END"
        if self.newest is None:
            return {NEWEST: f"max({happened})"}
        limit = (self.newest - self.lateness - _BEGIN) // timedelta(microseconds=1)
        return {NEWEST: f"max({happened})", LATE: f"count(CASE WHEN unix_micros({at}) < {limit}L THEN 1 END)"}

    def flow(self, observed: Mapping[str, int], now: datetime) -> Flow:
        """What was found."""
        here = _BEGIN + timedelta(microseconds=observed[NEWEST]) if observed.get(NEWEST) else None
        newest = max((at for at in (here, self.newest) if at is not None), default=None)
        return Flow(
            newest_event=newest,
            watermark_delay=None if newest is None else max(0.0, (now - newest).total_seconds()),
            late=observed.get(LATE, 0),
        )
