"""Asset states: an append-only history, each entry brought about by one evidence record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, and_, func, insert, select

from lazaretto.gate.outcome import asset_state_after
from lazaretto.model.results import GateDecision
from lazaretto.model.words import AssetState, GateAction
from lazaretto.store.ledger import Ledger
from lazaretto.store.records import AssetStanding
from lazaretto.store.tables import asset_state

_LATELY = 200
_FROM_BEST_TO_WORST = (AssetState.CERTIFIED, AssetState.PARTIAL, AssetState.DEGRADED, AssetState.UNCERTIFIED)


def after(
    decision: GateDecision,
    published_version: int | None,
    before: AssetStanding | None,
    lately: Iterable[AssetState] = (),
) -> dict[str, Any]:
    """The entry that a confirmed decision brings about: the gate says the state, here it gets its version.

    `lately`: what the batches before it asked for, as many as it takes to believe a better state.
    """
    asked = asset_state_after(decision)
    worth = asked or (before.state if before else AssetState.UNCERTIFIED)
    if asked in _FROM_BEST_TO_WORST:
        known = (state for state in lately if state in _FROM_BEST_TO_WORST)
        worth = max((worth, *known), key=_FROM_BEST_TO_WORST.index)
    replaced = decision.publishes and decision.action is GateAction.SUPERSEDE and before is not None
    return {
        "state": worth,
        # Where nothing was published readers see what they saw before.
        "delta_version": published_version if decision.publishes else before and before.version,
        "supersedes": before.version if replaced and before else None,
        "last_attempt_refused": not decision.publishes,
    }


def add(
    connection: Connection,
    environment: str,
    asset: str,
    sequence: int,
    *,
    state: AssetState,
    delta_version: int | None,
    reason: str,
    at: datetime,
    supersedes: int | None = None,
    last_attempt_refused: bool = False,
    decision_id: str | None = None,
    batch_id: str | None = None,
) -> None:
    """Enter a state, under the number of the evidence record that attests it."""
    connection.execute(
        insert(asset_state).values(
            environment=environment,
            asset=asset,
            sequence=sequence,
            state=state.value,
            delta_version=delta_version,
            supersedes=supersedes,
            last_attempt_refused=last_attempt_refused,
            decision_id=decision_id,
            batch_id=batch_id,
            reason=reason,
            recorded_at=at,
        )
    )


def latest(connection: Connection, environment: str, asset: str) -> AssetStanding | None:
    """The current state; None for an asset nothing is known of."""
    row = connection.execute(_history(environment, asset).limit(1)).mappings().first()
    return None if row is None else _standing(row)


def current(ledger: Ledger, asset: str) -> AssetStanding | None:
    """The current state of an asset."""
    with ledger.database.read() as connection:
        return latest(connection, ledger.environment, asset)


def all_current(ledger: Ledger) -> tuple[AssetStanding, ...]:
    """The current state of every asset, by name."""
    top = (
        select(asset_state.c.asset, func.max(asset_state.c.sequence).label("sequence"))
        .where(asset_state.c.environment == ledger.environment)
        .group_by(asset_state.c.asset)
        .subquery()
    )
    this = and_(asset_state.c.asset == top.c.asset, asset_state.c.sequence == top.c.sequence)
    query = select(asset_state).join(top, this).where(asset_state.c.environment == ledger.environment)
    with ledger.database.read() as connection:
        return tuple(map(_standing, connection.execute(query.order_by(asset_state.c.asset)).mappings()))


def history(ledger: Ledger, asset: str, *, limit: int = 100) -> tuple[AssetStanding, ...]:
    """What an asset's state has been, the latest first."""
    with ledger.database.read() as connection:
        query = _history(ledger.environment, asset).limit(limit)
        return tuple(map(_standing, connection.execute(query).mappings()))


def entries(connection: Connection, environment: str, asset: str) -> Iterator[AssetStanding]:
    """What the state has been lately, the latest first, one by one."""
    yield from map(_standing, connection.execute(_history(environment, asset).limit(_LATELY)).mappings())


def last_version(ledger: Ledger, asset: str, accept: Iterable[AssetState]) -> int | None:
    """The latest Delta version that stands in one of the accepted states today.

    A lock says nothing about what is published: the version before it keeps its state.
    """
    accepted = set(accept)
    return next((version for version, state in worth(ledger, asset).items() if state in accepted), None)


def worth(ledger: Ledger, asset: str) -> dict[int, AssetState]:
    """Each Delta version on record and the state it stands in today, in the order of the last word on them."""
    found: dict[int, AssetState] = {}
    with ledger.database.read() as connection:
        for row in connection.execute(_history(ledger.environment, asset)).mappings():
            entry = _standing(row)
            if entry.version is not None and entry.state is not AssetState.LOCKED:
                found.setdefault(entry.version, entry.state)
            if entry.supersedes is not None:
                found.setdefault(entry.supersedes, AssetState.SUPERSEDED)
    return found


def _history(environment: str, asset: str) -> Select[Any]:
    query = select(asset_state).where(asset_state.c.environment == environment, asset_state.c.asset == asset)
    return query.order_by(asset_state.c.sequence.desc())


def _standing(row: RowMapping) -> AssetStanding:
    return AssetStanding(
        asset=row["asset"],
        sequence=row["sequence"],
        state=AssetState(row["state"]),
        version=row["delta_version"],
        supersedes=row["supersedes"],
        last_attempt_refused=row["last_attempt_refused"],
        decision_id=row["decision_id"],
        batch_id=row["batch_id"],
        reason=row["reason"],
        recorded_at=row["recorded_at"],
    )
