"""The suites on record against the decisions that were made by them: what the rules were is evidence, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, select

from lazaretto.store import suites
from lazaretto.store.errors import StoreError
from lazaretto.store.records import EvidenceKind, Finding, Flaw
from lazaretto.store.tables import audit_event

RESTORED = "restored from the lake"
"""In the audit log: the evidence came back. The text of suites does not; the next run registers it anew."""


def contradictions(
    connection: Connection, environment: str, asset: str, sound: Sequence[RowMapping]
) -> Iterator[Finding]:
    """Suites that are not what the evidence of a decision attests; each is named once."""
    told: set[tuple[Any, Any]] = set()
    restored: bool | None = None
    for row in sound:
        payload = row["payload"]
        if row["kind"] != EvidenceKind.DECISION or not isinstance(payload, dict) or "suite_sha256" not in payload:
            continue
        name = (payload.get("suite"), payload.get("suite_version"))
        if name in told:
            continue
        stored = suites.row_of(connection, environment, *map(str, name))
        if stored is not None and _hash(stored) == payload["suite_sha256"]:
            continue
        if stored is None or _is_later(stored, payload):
            restored = _was_restored(connection, environment, asset) if restored is None else restored
            if restored:
                continue
        told.add(name)
        what = "was removed" if stored is None else "was altered after it was put on record"
        yield Finding(asset, Flaw.ALTERED, row["sequence"], f"the suite {name[0]} {name[1]} {what}")


def _hash(stored: RowMapping) -> str | None:
    try:
        return suites.attested(stored)
    except (StoreError, ValueError, TypeError, AttributeError):
        return None


def _is_later(stored: RowMapping, payload: dict[str, Any]) -> bool:
    """Registered after the decision it is said to have made: as after a restore, or by a forger."""
    try:
        return bool(stored["created_at"] > datetime.fromisoformat(payload["decided_at"]))
    except (KeyError, TypeError, ValueError):
        return False


def _was_restored(connection: Connection, environment: str, asset: str) -> bool:
    found = select(audit_event.c.event_id).filter_by(environment=environment, asset=asset, action=RESTORED)
    return connection.execute(found.limit(1)).first() is not None
