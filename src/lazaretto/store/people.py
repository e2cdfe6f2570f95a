"""What people did: approvals, changes of an asset's state by hand, and the log of who did what."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, or_, select

from lazaretto.model.results import Approval
from lazaretto.model.words import AssetState
from lazaretto.store import chain, states
from lazaretto.store.ledger import Ledger
from lazaretto.store.payload import decode, encode
from lazaretto.store.projection import approval_columns
from lazaretto.store.records import ApprovalRecord, AuditEvent, EvidenceKind
from lazaretto.store.tables import approval as approval_table
from lazaretto.store.tables import audit_event


def approve(
    ledger: Ledger,
    approval: Approval,
    asset: str,
    *,
    requested_by: str | None,
    decision_id: str | None,
    approval_id: str | None = None,
) -> str:
    """Put an approval on record, as evidence of its asset; return its id. With an id of its own it is put once."""
    approval_id, at = approval_id or uuid.uuid4().hex, ledger.clock()
    attested = {
        "approval_id": approval_id,
        "approval": encode(approval.model_dump(mode="json")),
        "decision_id": decision_id,
        "requested_by": requested_by,
    }
    row = approval_columns(attested) | {
        "approval_id": approval_id,
        "environment": ledger.environment,
        "asset": asset,
        "recorded_at": at,
    }

    def work(connection: Connection) -> str:
        chain.lock(connection, ledger.environment, asset)
        if chain.find(connection, ledger.environment, EvidenceKind.APPROVAL, approval_id) is not None:
            return approval_id
        chain.append(
            connection,
            ledger.environment,
            asset,
            EvidenceKind.APPROVAL,
            approval_id,
            attested,
            at=at,
            batch_id=approval.batch_id,
        )
        connection.execute(insert(approval_table).values(row))
        return approval_id

    return ledger.database.write(work)


def approvals(ledger: Ledger, asset: str, *, batch_id: str | None, at: datetime | None) -> tuple[Approval, ...]:
    """Approvals of an asset in force, oldest first; with `batch_id` those for that batch or for any."""
    table = approval_table
    query = select(table.c.payload).where(
        table.c.environment == ledger.environment,
        table.c.asset == asset,
        or_(table.c.expires_at.is_(None), table.c.expires_at > (at or ledger.clock())),
    )
    if batch_id is not None:
        query = query.where(or_(table.c.batch_id.is_(None), table.c.batch_id == batch_id))
    with ledger.database.read() as connection:
        rows = connection.execute(query.order_by(table.c.recorded_at, table.c.approval_id))
        return tuple(Approval.model_validate(decode(row.payload)) for row in rows)


def on_record(ledger: Ledger, asset: str | None) -> tuple[ApprovalRecord, ...]:
    """All approvals, the latest first, expired ones too."""
    table = approval_table
    query = select(table).where(table.c.environment == ledger.environment)
    if asset is not None:
        query = query.where(table.c.asset == asset)
    with ledger.database.read() as connection:
        rows = connection.execute(query.order_by(table.c.recorded_at.desc(), table.c.approval_id))
        return tuple(
            ApprovalRecord(
                row.approval_id,
                row.asset,
                Approval.model_validate(decode(row.payload)),
                row.requested_by,
                row.recorded_at,
            )
            for row in rows
        )


def transition(
    ledger: Ledger,
    asset: str,
    state: AssetState,
    *,
    version: int | None,
    reason: str,
    actor: str,
    assurance: str,
    details: Mapping[str, Any] | None,
    key: str | None = None,
) -> str:
    """Change an asset's state outside a batch (unlocked by a person, restored by a stranger), as evidence."""
    at, record_key = ledger.clock(), key or uuid.uuid4().hex
    entry = {"state": state, "delta_version": version, "supersedes": None, "last_attempt_refused": False}
    who = {"actor": actor, "assurance": assurance}

    def work(connection: Connection) -> str:
        chain.lock(connection, ledger.environment, asset)
        known = chain.find(connection, ledger.environment, EvidenceKind.TRANSITION, record_key)
        if known is not None:
            return known.hash
        attested = encode(who | {"asset_state": entry, "reason": reason, "details": dict(details or {})})
        head = chain.append(connection, ledger.environment, asset, EvidenceKind.TRANSITION, record_key, attested, at=at)
        states.add(
            connection,
            ledger.environment,
            asset,
            head.sequence,
            state=state,
            delta_version=version,
            reason=reason,
            at=at,
        )
        _log(connection, ledger, at, **who, action=f"state:{state}", asset=asset, subject=None, details=details)
        return head.hash

    return ledger.database.write(work)


def act(
    ledger: Ledger,
    asset: str,
    action: str,
    *,
    key: str,
    reason: str,
    actor: str,
    assurance: str,
    subject: str | None,
    batch_id: str | None,
    details: Mapping[str, Any] | None,
) -> str:
    """Put on record, as evidence of the asset, what was done to its quarantined records; once per key."""
    at, who = ledger.clock(), {"actor": actor, "assurance": assurance}
    attested = encode(who | {"action": action, "reason": reason, "subject": subject, "details": dict(details or {})})

    def work(connection: Connection) -> str:
        chain.lock(connection, ledger.environment, asset)
        known = chain.find(connection, ledger.environment, EvidenceKind.RECORDS, key)
        if known is not None:
            return known.hash
        kind = EvidenceKind.RECORDS
        head = chain.append(connection, ledger.environment, asset, kind, key, attested, at=at, batch_id=batch_id)
        told = {**(details or {}), "reason": reason}
        _log(connection, ledger, at, **who, action=action, asset=asset, subject=subject, details=told)
        return head.hash

    return ledger.database.write(work)


def log(
    ledger: Ledger,
    actor: str,
    action: str,
    *,
    asset: str | None,
    subject: str | None,
    assurance: str,
    details: Mapping[str, Any] | None,
) -> None:
    """Note that somebody did something."""
    at = ledger.clock()
    ledger.database.write(
        lambda connection: _log(
            connection,
            ledger,
            at,
            actor=actor,
            assurance=assurance,
            action=action,
            asset=asset,
            subject=subject,
            details=details,
        )
    )


def events(ledger: Ledger, asset: str | None, *, subject: str | None, limit: int) -> tuple[AuditEvent, ...]:
    """The log, the latest first."""
    query = select(audit_event).where(audit_event.c.environment == ledger.environment)
    if asset is not None:
        query = query.where(audit_event.c.asset == asset)
    if subject is not None:
        query = query.where(audit_event.c.subject == subject)
    with ledger.database.read() as connection:
        rows = connection.execute(query.order_by(audit_event.c.event_id.desc()).limit(limit))
        return tuple(
            AuditEvent(row.at, row.actor, row.assurance, row.action, row.asset, row.subject, decode(row.details))
            for row in rows
        )


def _log(
    connection: Connection, ledger: Ledger, at: datetime, *, details: Mapping[str, Any] | None, **columns: Any
) -> None:
    row = columns | {"environment": ledger.environment, "at": at, "details": encode(dict(details or {}))}
    connection.execute(insert(audit_event).values(row))
