"""Bring back evidence from copies that were kept elsewhere: the chain record for record, and the tables behind it.

A record is its own proof (its hash covers all of it), so copies are not believed, they are checked. What the chain
attests but does not contain (the content of a decision) comes from a copy whose hash the chain knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from lazaretto.model.words import AssetState
from lazaretto.store import chain, states
from lazaretto.store.canonical import digest
from lazaretto.store.errors import RecordConflict
from lazaretto.store.ledger import Ledger
from lazaretto.store.projection import approval_columns, check_columns, gate_columns
from lazaretto.store.records import EvidenceKind, EvidenceRecord
from lazaretto.store.tables import (
    approval,
    evidence,
    evidence_head,
    quality_check_result,
    quality_gate_result,
)


@dataclass(frozen=True)
class Restored:
    """What came back, and what did not."""

    records: int
    without_content: tuple[str, ...]
    """Decisions of which only the attested outline is known."""


def restore(ledger: Ledger, asset: str, copies: Sequence[EvidenceRecord], decisions: Mapping[str, Any]) -> Restored:
    """Append the copies that the store lacks. RecordConflict where store and copies say different things."""
    ordered = sorted(copies, key=lambda record: record.sequence)
    _see_that_they_are_sound(ledger.environment, asset, ordered)

    def work(connection: Connection) -> Restored:
        environment = ledger.environment
        chain.lock(connection, environment, asset)
        query = select(evidence.c.sequence, evidence.c.hash).filter_by(environment=environment, asset=asset)
        known: dict[int, str] = {row.sequence: row.hash for row in connection.execute(query)}
        for copy in ordered:
            if copy.sequence in known and known[copy.sequence] != copy.hash:
                raise RecordConflict(
                    f"Record {copy.sequence} of {asset} is not the one the lake knows of: the store was rewritten, "
                    "or begun anew before it was restored. Move it away and rebuild it from the lake."
                )
        missing = [copy for copy in ordered if copy.sequence > max(known, default=0)]
        without = [
            key for copy in missing if (key := _bring_back(connection, environment, copy, decisions)) is not None
        ]
        if missing:
            top = {"sequence": missing[-1].sequence, "hash": missing[-1].hash}
            connection.execute(delete(evidence_head).filter_by(environment=environment, asset=asset))
            connection.execute(insert(evidence_head).values(environment=environment, asset=asset, **top))
        return Restored(len(missing), tuple(without))

    return ledger.database.write(work)


def _see_that_they_are_sound(environment: str, asset: str, copies: Sequence[EvidenceRecord]) -> None:
    previous = chain.GENESIS
    for position, copy in enumerate(copies, start=1):
        row = {**vars(copy), "environment": environment}
        if copy.sequence != position or copy.previous_hash != previous or chain.hash_of(row) != copy.hash:
            raise RecordConflict(f"The copy of record {position} of {asset} in the lake is missing or was altered.")
        previous = copy.hash


def _bring_back(
    connection: Connection, environment: str, copy: EvidenceRecord, decisions: Mapping[str, Any]
) -> str | None:
    """Insert a record and what it stands for; the id of a decision whose content is lost."""
    connection.execute(insert(evidence).values({**vars(copy), "environment": environment}))
    payload = copy.payload
    match copy.kind:
        case EvidenceKind.DECISION:
            return _decision(connection, environment, copy, decisions.get(copy.record_key))
        case EvidenceKind.CONFIRMATION:
            version = payload["published_version"]
            if version is not None:
                this = quality_gate_result.c.gate_result_id == copy.record_key
                connection.execute(update(quality_gate_result).where(this).values(asset_version=str(version)))
            decided = chain.find(connection, environment, EvidenceKind.DECISION, copy.record_key)
            _state(connection, environment, copy, decided.payload["reason_code"] if decided else "")
        case EvidenceKind.TRANSITION:
            _state(connection, environment, copy, payload["reason"])
        case EvidenceKind.APPROVAL:
            row = {
                "approval_id": copy.record_key,
                "environment": environment,
                "asset": copy.asset,
                "recorded_at": copy.recorded_at,
            }
            connection.execute(insert(approval).values(approval_columns(payload) | row))
    return None


def _decision(connection: Connection, environment: str, copy: EvidenceRecord, content: Any) -> str | None:
    if content is None or digest(content) != copy.payload["decision_sha256"]:
        return copy.record_key
    at = datetime.fromisoformat(copy.payload["decided_at"])
    row = gate_columns(content) | {"environment": environment, "evaluated_at": at, "payload": content}
    connection.execute(insert(quality_gate_result).values(row))
    if rows := check_columns(content):
        connection.execute(insert(quality_check_result), rows)
    return None


def _state(connection: Connection, environment: str, copy: EvidenceRecord, reason: str) -> None:
    entry = dict(copy.payload["asset_state"])
    states.add(
        connection,
        environment,
        copy.asset,
        copy.sequence,
        **(entry | {"state": AssetState(entry["state"])}),
        decision_id=copy.payload.get("decision_id"),
        batch_id=copy.batch_id,
        reason=reason,
        at=copy.recorded_at,
    )
