"""Legal holds: records that neither retention nor erasure may touch, named by a filter.

Each hold is a file in the lake, because it must hold even if the store is lost.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from lazaretto.model.errors import LazarettoError
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.person import Person
from lazaretto.quarantine.looking import schemas_of
from lazaretto.quarantine.wanted import Wanted


class HoldError(LazarettoError):
    """A hold that cannot be put or lifted; the message says why."""


class Hold(BaseModel):
    """A legal hold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hold_id: str
    filter: dict[str, Any]
    reason: str
    by: str
    assurance: str
    at: datetime

    @property
    def wanted(self) -> Wanted:
        """Which records it holds, those that come later too."""
        return Wanted.of_dict(self.filter)


def add(bench: Bench, wanted: Wanted, reason: str, who: Person) -> Hold:
    """Put a hold on all records that a filter names, now and later."""
    if not reason.strip():
        raise HoldError("a reason is needed: who ordered the hold, in which matter")
    if wanted.empty:
        raise HoldError("a hold needs a filter: say which records; --where true names all of them")
    hold = Hold(
        hold_id=uuid.uuid4().hex[:12],
        filter=wanted.to_dict(),
        reason=reason.strip(),
        by=who.name,
        assurance=who.assurance,
        at=datetime.now(UTC),
    )
    bench.files.put_if_absent(f"{bench.places.holds}/{hold.hold_id}.json", hold.model_dump_json(indent=1))
    _log(bench, hold, "hold put", who, hold.reason)
    return hold


def listing(bench: Bench) -> list[Hold]:
    """The holds in force, the oldest first."""
    names = [name for name in bench.files.list(bench.places.holds) if name.endswith(".json")]
    texts = [bench.files.read_text(f"{bench.places.holds}/{name}") for name in names]
    return sorted((Hold.model_validate_json(text) for text in texts if text), key=lambda hold: hold.at)


def remove(bench: Bench, hold_id: str, reason: str, who: Person) -> Hold:
    """Lift a hold; that it was there stays on record."""
    found = [hold for hold in listing(bench) if hold.hold_id == hold_id]
    if not found:
        raise HoldError(f"there is no hold {hold_id}: `lazaretto quarantine hold list` shows those in force")
    if not reason.strip():
        raise HoldError("a reason is needed: who lifted the hold")
    _log(bench, found[0], "hold lifted", who, reason.strip())
    bench.files.delete(f"{bench.places.holds}/{hold_id}.json")
    return found[0]


def held_ids(bench: Bench, source: str) -> str | None:
    """SQL of the ids of all held records of `source`; None if nothing is held."""
    wanted = [
        hold.wanted.select(source, "record_id", schemas_of(bench.spark, source, hold.wanted)) for hold in listing(bench)
    ]
    # Never a query in parentheses alone: `IN ((SELECT …))` asks for a single value.
    return " UNION ALL ".join(wanted) or None


def _log(bench: Bench, hold: Hold, action: str, who: Person, reason: str) -> None:
    details = {"reason": reason, "filter": hold.wanted.without_values()}
    bench.store.record_event(who.name, action, assurance=who.assurance, subject=hold.hold_id, details=details)
