"""What every part of the store needs: the database, whose evidence is meant, and the time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from lazaretto.store.database import Database


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Ledger:
    """One environment's books in one database."""

    database: Database
    environment: str
    clock: Callable[[], datetime] = field(default=_now, repr=False)


def split_asset(asset: str) -> tuple[str, str]:
    """`catalog.schema.table` → namespace and name, as the tables have them."""
    namespace, _, name = asset.rpartition(".")
    return namespace, name


def join_asset(namespace: str, name: str) -> str:
    """The other way round."""
    return f"{namespace}.{name}" if namespace else name
