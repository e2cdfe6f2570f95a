"""Decisions and their confirmations: the two evidence records of every batch."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, func, insert, select, update

from lazaretto.gate.outcome import asset_state_after
from lazaretto.model.results import Counts, GateDecision
from lazaretto.model.words import AssetState, GateAction, Publication, Severity
from lazaretto.store import chain, states, suites
from lazaretto.store.canonical import digest
from lazaretto.store.errors import RecordConflict, RecordMissing, StoreError
from lazaretto.store.ledger import Ledger, join_asset, split_asset
from lazaretto.store.payload import decode, encode, from_decision, to_decision
from lazaretto.store.projection import check_columns, gate_columns, verdict
from lazaretto.store.records import AssetStanding, DecisionSummary, EvidenceKind
from lazaretto.store.tables import evidence, quality_check_result, quality_gate_result
from lazaretto.store.types import spell

_COLUMNS = [column for column in quality_gate_result.columns if column.name != "payload"]


def record(
    ledger: Ledger, decision: GateDecision, *, decided_at: datetime | None, details: Mapping[str, Any] | None
) -> str:
    """Store a decision before it takes effect; return the hash of its evidence record.

    The same decision again changes nothing and gives the same hash. Another verdict under its id is refused:
    what was done and what is on record would differ.
    """
    payload = from_decision(decision)
    environment, asset = ledger.environment, decision.scope.asset
    at = decided_at or ledger.clock()
    attested = encode(
        {
            "decision_id": decision.decision_id,
            "run_id": decision.scope.run_id,
            "suite": decision.suite,
            "suite_version": decision.suite_version,
            "rule_set_fingerprint": decision.rule_set_fingerprint,
            "policy": decision.policy,
            "action": decision.action.value,
            "publication": decision.publication.value,
            "reason_code": decision.reason_code,
            "decision_sha256": digest(payload),
            "decided_at": spell(at),
            "details": dict(details or {}),
        }
    )

    def work(connection: Connection) -> str:
        chain.lock(connection, environment, asset)
        known = chain.find(connection, environment, EvidenceKind.DECISION, decision.decision_id)
        if known is not None:
            _refuse_another_verdict(connection, environment, payload)
            return known.hash
        suite = suites.row_of(connection, environment, decision.suite, decision.suite_version)
        row = gate_columns(payload) | {"environment": environment, "evaluated_at": at, "payload": payload}
        connection.execute(insert(quality_gate_result).values(row))
        if rows := check_columns(payload):
            connection.execute(insert(quality_check_result), rows)
        return chain.append(
            connection,
            environment,
            asset,
            EvidenceKind.DECISION,
            decision.decision_id,
            attested | ({} if suite is None else {"suite_sha256": suites.attested(suite)}),
            at=ledger.clock(),
            batch_id=decision.scope.batch_id,
        ).hash

    return ledger.database.write(work)


def confirm(
    ledger: Ledger,
    batch_id: str,
    decision_id: str,
    *,
    published_version: int | None,
    counts: Counts,
    commit_version: int | None,
    details: Mapping[str, Any] | None,
) -> str:
    """Store what came of a decision, and the asset's state after it; return the evidence record's hash."""
    facts = {
        "decision_id": decision_id,
        "published_version": published_version,
        "commit_version": published_version if commit_version is None else commit_version,
        "counts": counts.model_dump(),
    }
    environment = ledger.environment

    def work(connection: Connection) -> str:
        decision = _load(connection, environment, decision_id)
        if decision.scope.batch_id != batch_id:
            raise RecordConflict(
                f"The decision {decision_id} is about the batch {decision.scope.batch_id}, not {batch_id}."
            )
        if decision.publishes != (published_version is not None):
            raise StoreError(
                f"The decision {decision_id} says {decision.publication}; "
                f"the published version {published_version} does not fit that."
            )
        asset = decision.scope.asset
        chain.lock(connection, environment, asset)
        known = chain.find(connection, environment, EvidenceKind.CONFIRMATION, decision_id)
        if known is not None:
            if any(known.payload.get(name) != value for name, value in encode(facts).items()):
                raise RecordConflict(f"The decision {decision_id} was confirmed before with another outcome.")
            return known.hash
        before = states.latest(connection, environment, asset)
        entry = states.after(decision, published_version, before, _asked_lately(connection, ledger, decision, before))
        at = ledger.clock()
        attested = encode(facts | {"asset_state": entry, "details": dict(details or {})})
        head = chain.append(
            connection,
            environment,
            asset,
            EvidenceKind.CONFIRMATION,
            decision_id,
            attested,
            at=at,
            batch_id=batch_id,
        )
        states.add(
            connection,
            environment,
            asset,
            head.sequence,
            **entry,
            decision_id=decision_id,
            batch_id=batch_id,
            reason=decision.reason_code,
            at=at,
        )
        if published_version is not None:
            this = quality_gate_result.c.gate_result_id == decision_id
            connection.execute(update(quality_gate_result).where(this).values(asset_version=str(published_version)))
        return head.hash

    return ledger.database.write(work)


def _asked_lately(
    connection: Connection, ledger: Ledger, decision: GateDecision, before: AssetStanding | None
) -> list[AssetState]:
    """The states that the last batches before this one asked for, where it takes several to change back."""
    wanted, environment = decision.context.recover_after - 1, ledger.environment
    if wanted < 1 or before is None or before.state in (AssetState.CERTIFIED, AssetState.LOCKED):
        return []
    asked: list[AssetState] = []
    for entry in states.entries(connection, environment, decision.scope.asset):
        if len(asked) == wanted:
            break
        if entry.state is AssetState.LOCKED or entry.version is None:  # says nothing of what is published
            continue
        earlier = _loaded(connection, environment, entry.decision_id)
        if earlier is not None and earlier.context.recycled:
            continue  # a few recovered rows are no good batch
        # A refused batch, and whatever else was noted of the asset, is no good one either: the state as it stood.
        asked.append((earlier and asset_state_after(earlier)) or entry.state)
    return asked


def _loaded(connection: Connection, environment: str, decision_id: str | None) -> GateDecision | None:
    try:
        return None if decision_id is None else _load(connection, environment, decision_id)
    except RecordMissing:  # only its outline was brought back from the lake
        return None


def load(ledger: Ledger, decision_id: str) -> GateDecision:
    """The decision, equal to the one that was stored."""
    with ledger.database.read() as connection:
        return _load(connection, ledger.environment, decision_id)


def listing(
    ledger: Ledger, asset: str | None, *, limit: int | None, before: datetime | None, since: datetime | None = None
) -> tuple[DecisionSummary, ...]:
    """Decisions, the latest first."""
    query = _summaries(ledger.environment, asset)
    if before is not None:
        query = query.where(quality_gate_result.c.evaluated_at < before)
    if since is not None:
        query = query.where(quality_gate_result.c.evaluated_at >= since)
    query = query.order_by(quality_gate_result.c.evaluated_at.desc(), quality_gate_result.c.gate_result_id).limit(limit)
    with ledger.database.read() as connection:
        return tuple(map(_summary, connection.execute(query)))


def latest(ledger: Ledger) -> dict[str, DecisionSummary]:
    """The last decision about each asset; one query, however many assets there are."""
    gate = quality_gate_result
    asset = (gate.c.asset_namespace, gate.c.asset_name)
    last = select(*asset, func.max(gate.c.evaluated_at).label("at")).where(gate.c.environment == ledger.environment)
    newest = last.group_by(*asset).subquery()
    query = _summaries(ledger.environment, None).join(
        newest,
        and_(
            newest.c.asset_namespace == gate.c.asset_namespace,
            newest.c.asset_name == gate.c.asset_name,
            newest.c.at == gate.c.evaluated_at,
        ),
    )
    with ledger.database.read() as connection:
        # Of two at the same moment, the one that `listing` puts first.
        found = [_summary(row) for row in connection.execute(query.order_by(gate.c.gate_result_id.desc()))]
    return {one.asset: one for one in found}


def named(ledger: Ledger, prefix: str) -> DecisionSummary:
    """The one decision whose id begins with `prefix`."""
    key = quality_gate_result.c.gate_result_id
    query = _summaries(ledger.environment, None).where(key >= prefix, key < prefix + "\U0010ffff").limit(2)
    with ledger.database.read() as connection:
        found = [_summary(row) for row in connection.execute(query)]
    if len(found) == 1:
        return found[0]
    if found:
        raise RecordMissing(f"More than one decision begins with {prefix}: give more of its id.")
    raise RecordMissing(
        f"There is no decision {prefix} on record in {ledger.environment}; lazaretto decisions list shows them."
    )


def details_of(ledger: Ledger, decision_id: str) -> Mapping[str, Any]:
    """What was attested besides the decision."""
    with ledger.database.read() as connection:
        found = chain.find(connection, ledger.environment, EvidenceKind.DECISION, decision_id)
    details = decode(found.payload).get("details", {}) if found is not None else {}
    return details if isinstance(details, dict) else {}


def unconfirmed(ledger: Ledger, asset: str | None) -> tuple[DecisionSummary, ...]:
    """Decisions of which is not known what came of them, the oldest first: the order to settle them in."""
    query = _summaries(ledger.environment, asset).where(evidence.c.hash.is_(None))
    query = query.order_by(quality_gate_result.c.evaluated_at, quality_gate_result.c.gate_result_id)
    with ledger.database.read() as connection:
        return tuple(map(_summary, connection.execute(query)))


def _load(connection: Connection, environment: str, decision_id: str) -> GateDecision:
    query = select(quality_gate_result.c.payload).filter_by(gate_result_id=decision_id, environment=environment)
    row = connection.execute(query).first()
    if row is None:
        raise RecordMissing(f"There is no decision {decision_id} on record in {environment}.")
    return to_decision(row.payload, decision_id)


def _refuse_another_verdict(connection: Connection, environment: str, payload: Mapping[str, Any]) -> None:
    decision_id = payload["decision_id"]
    stored = _load(connection, environment, decision_id)
    if verdict(from_decision(stored)) != verdict(payload):
        raise RecordConflict(
            f"The decision {decision_id} is on record as {stored.action} ({stored.reason_code}) with other "
            f"results, rules or policy; now it says {payload['action']} ({payload['reason_code']}): "
            "a new verdict needs a new id."
        )


def _summaries(environment: str, asset: str | None) -> Select[Any]:
    gate = quality_gate_result
    confirmed = and_(
        evidence.c.environment == gate.c.environment,
        evidence.c.kind == EvidenceKind.CONFIRMATION.value,
        evidence.c.record_key == gate.c.gate_result_id,
    )
    query = select(*_COLUMNS, evidence.c.hash.label("confirmation")).outerjoin_from(gate, evidence, confirmed)
    query = query.where(gate.c.environment == environment)
    if asset is not None:
        namespace, name = split_asset(asset)
        query = query.where(gate.c.asset_namespace == namespace, gate.c.asset_name == name)
    return query


def _summary(row: Row[Any]) -> DecisionSummary:
    try:
        return DecisionSummary(
            decision_id=row.gate_result_id,
            asset=join_asset(row.asset_namespace, row.asset_name),
            run_id=row.run_id,
            batch_id=row.batch_id,
            suite=row.suite_id,
            suite_version=row.suite_version,
            rule_set_fingerprint=row.rule_set_fingerprint,
            action=GateAction(row.decision),
            publication=Publication(row.publication),
            max_severity=None if row.max_severity is None else Severity(row.max_severity),
            reason_code=row.reason_code,
            policy=row.policy,
            decided_at=row.evaluated_at,
            published_version=None if row.asset_version is None else int(row.asset_version),
            confirmed=row.confirmation is not None,
        )
    except ValueError as error:
        raise StoreError(
            f"The stored decision {row.gate_result_id} was altered ({error}); run: lazaretto verify."
        ) from error
