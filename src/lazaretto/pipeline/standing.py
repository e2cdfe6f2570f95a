"""How everything stands: assets, last decisions, open seals and held batches. Read from store and disk; no Spark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from lazaretto.model.seal import SEAL_FILE, Seal
from lazaretto.pipeline.places import Places
from lazaretto.store import AssetStanding, DecisionSummary, Store


@dataclass(frozen=True)
class Waiting:
    """A sealed batch that is not where it belongs yet, or held."""

    path: str
    asset: str | None
    batch_id: str | None
    sealed_at: datetime | None
    """None, with asset and batch: the seal cannot be read."""
    rows: int | None


@dataclass(frozen=True)
class Standing:
    """An asset: its state, and the last thing decided about it."""

    asset: str
    state: AssetStanding | None
    last: DecisionSummary | None


def standings(store: Store) -> tuple[Standing, ...]:
    """Every asset the store has evidence of, by name."""
    states = {state.asset: state for state in store.asset_states()}
    last = store.latest_decisions()
    names = sorted({head.asset for head in store.chain_heads()} | set(states))
    return tuple(Standing(name, states.get(name), last.get(name)) for name in names)


def open_seals(places: Places) -> tuple[Waiting, ...] | None:
    """Batches sealed and not finished, the oldest first; None where the lake is no local folder."""
    if (lake := _local(places.lake)) is None:
        return None
    ours = Path(places.held)
    found = [*lake.glob(f"*/*/lz-*/{SEAL_FILE}"), *lake.glob(f"*/*/*/lz-*/{SEAL_FILE}")]
    return _read(path for path in found if not path.is_relative_to(ours))


def held_batches(places: Places) -> tuple[Waiting, ...] | None:
    """Batches held, the oldest first; None where the lake is no local folder."""
    if _local(places.lake) is None:
        return None
    return _read(Path(places.held).glob(f"lz-*/{SEAL_FILE}"))


def _local(lake: str) -> Path | None:
    path = lake.removeprefix("file://")
    return None if "://" in path else Path(path)


def _read(paths: Iterable[Path]) -> tuple[Waiting, ...]:
    found = []
    for path in paths:
        try:
            seal = Seal.model_validate_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError:  # finished this very moment
            continue
        except (ValidationError, ValueError):
            found.append(Waiting(str(path.parent), None, None, None, None))
            continue
        waiting = Waiting(str(path.parent), seal.target.asset, seal.batch_id, seal.sealed_at, seal.counts.input)
        found.append(waiting)
    return tuple(sorted(found, key=lambda waiting: str(waiting.sealed_at or "")))
