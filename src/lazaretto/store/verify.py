"""Prove an asset's evidence: the chain is whole, and the tables say what the chain attests.

Findings about the chain come first and in its order, so the first one names the first broken link. A flaw is
named once: the records after it are judged by what they themselves claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, Table, select

from lazaretto.store import verify_suites
from lazaretto.store.canonical import digest
from lazaretto.store.chain import GENESIS, hash_of
from lazaretto.store.errors import StoreError
from lazaretto.store.ledger import Ledger, split_asset
from lazaretto.store.projection import approval_columns, check_columns, gate_columns
from lazaretto.store.records import ChainHead, EvidenceKind, Finding, Flaw
from lazaretto.store.tables import (
    approval,
    asset_state,
    evidence,
    evidence_head,
    quality_check_result,
    quality_gate_result,
)

_STATE_COLUMNS = ("state", "delta_version", "supersedes", "last_attempt_refused")
_BROKEN = (StoreError, KeyError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What reading a tampered record may end in."""


def verify(ledger: Ledger, asset: str, known_heads: Sequence[ChainHead] = ()) -> tuple[Finding, ...]:
    """All that does not add up; empty if everything does. `known_heads` are those noted outside the store."""
    with ledger.database.read() as connection:
        rows = _rows(connection, evidence, ledger.environment, asset)
        rows.sort(key=lambda row: (not isinstance(row["sequence"], int), row["sequence"]))
        heads = _rows(connection, evidence_head, ledger.environment, asset)
        findings = [*_chain(asset, rows), *_heads(asset, rows, heads, known_heads)]
        altered = {finding.sequence for finding in findings}
        # What a record attests is evidence only if the record is: the others are named already.
        sound = [row for row in rows if row["sequence"] not in altered]
        findings += _decisions(connection, ledger.environment, asset, sound, rows, whole=not findings)
        findings += verify_suites.contradictions(connection, ledger.environment, asset, sound)
        findings += _states(connection, ledger.environment, asset, sound, rows)
        findings += _approvals(connection, ledger.environment, asset, sound, rows)
    return tuple(findings)


def _rows(connection: Connection, table: Table, environment: str, asset: str) -> list[RowMapping]:
    query = select(table).where(table.c.environment == environment, table.c.asset == asset)
    return list(connection.execute(query).mappings())


def _chain(asset: str, rows: Sequence[RowMapping]) -> Iterator[Finding]:
    written_as = _order_of_writing(rows)
    expected: int = 1
    previous: str | None = GENESIS  # None: unknown, because what should stand there does not
    for row in rows:
        sequence = row["sequence"]
        if not isinstance(sequence, int):
            yield Finding(asset, Flaw.ALTERED, None, f"a record has the position {sequence!r}")
            continue
        if sequence > expected:
            last = sequence - 1
            missing = f"record {last} was" if last == expected else f"records {expected} to {last} were"
            yield Finding(asset, Flaw.REMOVED, expected, f"{missing} removed")
            previous = None
        intact = _hash(row) == row["hash"]
        if not intact:
            yield _broken(asset, row, written_as.get(row["hash"]))
        elif previous not in (None, row["previous_hash"]):
            problem = f"record {sequence - 1} is not the one that stood there when {sequence} was written"
            yield Finding(asset, Flaw.REWRITTEN, sequence, problem)
        expected, previous = sequence + 1, row["hash"] if intact else None


def _broken(asset: str, row: RowMapping, origin: int | None) -> Finding:
    """Tell a record that was moved (intact, had it stayed where it was written) from one that was altered."""
    if origin is not None and _hash({**row, "sequence": origin}) == row["hash"]:
        problem = f"the record at position {row['sequence']} was written as number {origin}"
        return Finding(asset, Flaw.REORDERED, row["sequence"], problem)
    problem = f"the {row['kind']} record {row['record_key']} was altered after it was written"
    return Finding(asset, Flaw.ALTERED, row["sequence"], problem)


def _hash(row: Mapping[Any, Any]) -> str | None:
    try:
        return hash_of(row)
    except _BROKEN:
        return None


def _order_of_writing(rows: Sequence[RowMapping]) -> dict[str, int]:
    """Hash → position, as far as the records themselves lead from the first one on."""
    after = {row["previous_hash"]: row["hash"] for row in rows}
    order: dict[str, int] = {}
    here = GENESIS
    while (here := after.get(here, "")) and here not in order:
        order[here] = len(order) + 1
    return order


def _heads(
    asset: str, rows: Sequence[RowMapping], heads: Sequence[RowMapping], known: Sequence[ChainHead]
) -> Iterator[Finding]:
    hashes = {row["sequence"]: row["hash"] for row in rows}
    last = max((sequence for sequence in hashes if isinstance(sequence, int)), default=0)
    if not heads and rows:
        yield Finding(asset, Flaw.REMOVED, None, "the note of the chain's last record was removed")
    noted = [("the store", head["sequence"], head["hash"]) for head in heads]
    noted += [("the lake", head.sequence, head.hash) for head in known if head.asset == asset]
    for where, sequence, expected in noted:
        if sequence not in hashes:
            problem = f"the chain ends at {last}, but {where} knows of record {sequence}"
            yield Finding(asset, Flaw.REMOVED, last + 1, problem)
        elif hashes[sequence] != expected:
            yield Finding(asset, Flaw.REWRITTEN, sequence, f"record {sequence} is not the one that {where} knows of")
        elif where == "the store" and sequence < last:
            yield Finding(asset, Flaw.CONTRADICTED, None, f"the store takes record {sequence} for the last, not {last}")


def _decisions(
    connection: Connection,
    environment: str,
    asset: str,
    sound: Sequence[RowMapping],
    rows: Sequence[RowMapping],
    *,
    whole: bool,
) -> Iterator[Finding]:
    """Decisions in the tables against their evidence."""
    # Only in a whole chain does a missing confirmation mean that nothing was published.
    published: dict[str, Any] = {row["record_key"]: None for row in _of(rows if whole else (), EvidenceKind.DECISION)}
    for row in _of(sound, EvidenceKind.CONFIRMATION):
        published[row["record_key"]] = _attested(row).get("published_version")
    for row in _of(sound, EvidenceKind.DECISION):
        gate = connection.execute(select(quality_gate_result).filter_by(gate_result_id=row["record_key"]))
        if (stored := gate.mappings().first()) is None:
            problem = f"the decision {row['record_key']} was removed"
            yield Finding(asset, Flaw.REMOVED, row["sequence"], problem)
            continue
        if (what := _contradiction(connection, environment, row, stored, published)) is not None:
            problem = f"{what} of the decision {row['record_key']} was altered after it was written"
            yield Finding(asset, Flaw.ALTERED, row["sequence"], problem)
    namespace, name = split_asset(asset)
    ids = select(quality_gate_result.c.gate_result_id).filter_by(
        environment=environment, asset_namespace=namespace, asset_name=name
    )
    attested = {row["record_key"] for row in rows if row["kind"] == EvidenceKind.DECISION}
    for decision_id in sorted(set(connection.execute(ids).scalars()) - attested):
        yield Finding(asset, Flaw.REMOVED, None, f"the decision {decision_id} has no evidence record")


def _contradiction(
    connection: Connection,
    environment: str,
    row: RowMapping,
    stored: RowMapping,
    published: Mapping[str, Any],
) -> str | None:
    """Which part of a stored decision is not what its evidence attests."""
    payload = stored["payload"]
    try:
        if digest(payload) != row["payload"]["decision_sha256"]:
            return "the content"
        columns = gate_columns(payload) | {
            "environment": environment,
            "evaluated_at": datetime.fromisoformat(row["payload"]["decided_at"]),
        }
        if row["record_key"] in published:
            version = published[row["record_key"]]
            columns["asset_version"] = None if version is None else str(version)
        for name, value in columns.items():
            if stored[name] != value:
                return f"the column {name}"
        query = select(quality_check_result).filter_by(gate_result_id=row["record_key"])
        found = [dict(result) for result in connection.execute(query).mappings()]
        if sorted(found, key=repr) != sorted(check_columns(payload), key=repr):
            return "a check result"
    except _BROKEN:
        return "the content"
    return None


def _states(
    connection: Connection,
    environment: str,
    asset: str,
    sound: Sequence[RowMapping],
    rows: Sequence[RowMapping],
) -> Iterator[Finding]:
    """The history of states against the records that brought them about."""
    entries = {entry["sequence"]: entry for entry in _rows(connection, asset_state, environment, asset)}
    reasons = {row["record_key"]: _attested(row).get("reason_code") for row in _of(sound, EvidenceKind.DECISION)}
    for row in sound:
        if row["kind"] not in (EvidenceKind.CONFIRMATION, EvidenceKind.TRANSITION):
            continue
        sequence, attested = row["sequence"], _attested(row)
        entry, expected = entries.get(sequence), attested.get("asset_state")
        if entry is None:
            yield Finding(asset, Flaw.REMOVED, sequence, "the asset state that this record brought about was removed")
        elif {name: entry[name] for name in _STATE_COLUMNS} != expected or (
            (entry["decision_id"], entry["batch_id"], entry["recorded_at"])
            != (attested.get("decision_id"), row["batch_id"], row["recorded_at"])
            or entry["reason"] != attested.get("reason", reasons.get(row["record_key"], entry["reason"]))
        ):
            yield Finding(asset, Flaw.ALTERED, sequence, "the asset state that this record brought about was altered")
    for sequence in sorted(entries.keys() - {row["sequence"] for row in rows}, key=repr):
        yield Finding(asset, Flaw.CONTRADICTED, None, f"an asset state refers to record {sequence}, which is not there")


def _approvals(
    connection: Connection,
    environment: str,
    asset: str,
    sound: Sequence[RowMapping],
    rows: Sequence[RowMapping],
) -> Iterator[Finding]:
    """Approvals against their evidence: one that was slipped in would soften the gate."""
    entries = {entry["approval_id"]: entry for entry in _rows(connection, approval, environment, asset)}
    for row in _of(sound, EvidenceKind.APPROVAL):
        entry = entries.get(row["record_key"])
        if entry is None:
            yield Finding(asset, Flaw.REMOVED, row["sequence"], f"the approval {row['record_key']} was removed")
        elif entry["recorded_at"] != row["recorded_at"] or not _is_as_approved(entry, _attested(row)):
            yield Finding(asset, Flaw.ALTERED, row["sequence"], f"the approval {row['record_key']} was altered")
    attested_ids = {row["record_key"] for row in rows if row["kind"] == EvidenceKind.APPROVAL}
    for approval_id in sorted(entries.keys() - attested_ids):
        yield Finding(asset, Flaw.REMOVED, None, f"the approval {approval_id} has no evidence record")


def _is_as_approved(entry: RowMapping, attested: Mapping[str, Any]) -> bool:
    try:
        return all(entry[name] == value for name, value in approval_columns(attested).items())
    except _BROKEN:
        return False


def _attested(row: RowMapping) -> Mapping[str, Any]:
    """What a record attests; nothing, if somebody put anything else in its place and made the hash fit."""
    payload = row["payload"]
    return payload if isinstance(payload, dict) else {}


def _of(rows: Sequence[RowMapping], kind: EvidenceKind) -> list[RowMapping]:
    return [row for row in rows if row["kind"] == kind]
