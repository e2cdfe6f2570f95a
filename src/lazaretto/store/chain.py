"""Evidence: per asset a chain of records, each holding the hash of the one before it.

A record's hash covers every column of its row, its position included. Whoever alters, removes or moves one
has to rewrite all later ones, and then the head no longer is the one that was noted in the lake.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, insert, select, update

from lazaretto.store.canonical import digest
from lazaretto.store.ledger import Ledger
from lazaretto.store.records import ChainHead, EvidenceKind, EvidenceRecord
from lazaretto.store.tables import evidence, evidence_head
from lazaretto.store.types import spell

GENESIS = "0" * 64
"""What the first record names as the hash before it."""


def lock(connection: Connection, environment: str, asset: str) -> ChainHead | None:
    """The head of an asset's chain, kept from changing until the transaction ends.

    Everything that appends takes this lock first, so what it reads afterwards is the latest. (A first record
    has no row to lock: there the primary key refuses the second of two, and the database layer begins anew.)
    """
    query = select(evidence_head).where(evidence_head.c.environment == environment, evidence_head.c.asset == asset)
    row = connection.execute(query.with_for_update()).mappings().first()
    return None if row is None else ChainHead(asset, row["sequence"], row["hash"])


def append(
    connection: Connection,
    environment: str,
    asset: str,
    kind: EvidenceKind,
    record_key: str,
    payload: Mapping[str, Any],
    *,
    at: datetime,
    batch_id: str | None = None,
) -> ChainHead:
    """Add a record to an asset's chain and return the new head. The payload has gone through `encode`."""
    head = lock(connection, environment, asset)
    row: dict[str, Any] = {
        "environment": environment,
        "asset": asset,
        "sequence": head.sequence + 1 if head else 1,
        "kind": kind.value,
        "record_key": record_key,
        "batch_id": batch_id,
        "recorded_at": at,
        "payload": dict(payload),
        "previous_hash": head.hash if head else GENESIS,
    }
    row["hash"] = hash_of(row)
    connection.execute(insert(evidence).values(row))
    top = {"sequence": row["sequence"], "hash": row["hash"]}
    if head is None:
        connection.execute(insert(evidence_head).values(environment=environment, asset=asset, **top))
    else:
        this = (evidence_head.c.environment == environment) & (evidence_head.c.asset == asset)
        connection.execute(update(evidence_head).where(this).values(top))
    return ChainHead(asset, row["sequence"], row["hash"])


def hash_of(row: Mapping[str, Any]) -> str:
    """The hash of a record: SHA-256 over the canonical JSON of all its columns but the hash itself."""
    columns = {column.name: row[column.name] for column in evidence.columns if column.name != "hash"}
    return digest(columns | {"recorded_at": spell(columns["recorded_at"])})


def find(connection: Connection, environment: str, kind: EvidenceKind, record_key: str) -> EvidenceRecord | None:
    """The record with this key, if it was written."""
    query = select(evidence).where(
        evidence.c.environment == environment,
        evidence.c.kind == kind.value,
        evidence.c.record_key == record_key,
    )
    row = connection.execute(query).mappings().first()
    return None if row is None else _record(row)


def records(ledger: Ledger, asset: str, after: int = 0) -> tuple[EvidenceRecord, ...]:
    """An asset's chain, from the first record on, or from the one after a position."""
    query = select(evidence).where(
        evidence.c.environment == ledger.environment, evidence.c.asset == asset, evidence.c.sequence > after
    )
    with ledger.database.read() as connection:
        rows = connection.execute(query.order_by(evidence.c.sequence)).mappings()
        return tuple(_record(row) for row in rows)


def heads(ledger: Ledger, asset: str | None = None) -> tuple[ChainHead, ...]:
    """The last record of each chain (or of one asset's), to be noted in the lake."""
    query = select(evidence_head).where(evidence_head.c.environment == ledger.environment)
    if asset is not None:
        query = query.where(evidence_head.c.asset == asset)
    with ledger.database.read() as connection:
        rows = connection.execute(query.order_by(evidence_head.c.asset)).mappings()
        return tuple(ChainHead(row["asset"], row["sequence"], row["hash"]) for row in rows)


def _record(row: RowMapping) -> EvidenceRecord:
    return EvidenceRecord(**{name: value for name, value in row.items() if name != "environment"})
