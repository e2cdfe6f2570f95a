"""Column types that mean the same on SQLite and PostgreSQL, and show a damaged value instead of failing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, String
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

from lazaretto.store.canonical import canonical_json


@dataclass(frozen=True)
class Unreadable:
    """Stands for a stored value that is not what Lazaretto wrote. It equals nothing, so `verify` finds it."""

    text: str

    def __str__(self) -> str:
        return "(unreadable)"


class Payload(TypeDecorator[Any]):
    """JSON: text on SQLite, JSONB on PostgreSQL."""

    impl = JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The dialect of PostgreSQL is imported by who uses it: it would double the time to open a SQLite store."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(JSON())
        from sqlalchemy.dialects.postgresql import JSONB

        return dialect.type_descriptor(JSONB())


class UtcTimestamp(TypeDecorator[datetime]):
    """A moment, in UTC. Text on SQLite, which has no type for it; spelled so that text sorts like time."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """TIMESTAMPTZ, or text."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(String(27))
        return dialect.type_descriptor(DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Refuse a moment without a time zone: it would mean another one on another machine."""
        if value is None:
            return None
        return spell(value) if dialect.name == "sqlite" else in_utc(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Always aware, always UTC."""
        if value is None or isinstance(value, datetime):
            return value if value is None else value.astimezone(UTC)
        try:
            return in_utc(datetime.fromisoformat(value))
        except (TypeError, ValueError):
            return Unreadable(repr(value))


def in_utc(moment: datetime) -> datetime:
    """The same moment in UTC."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone")
    return moment.astimezone(UTC)


def spell(moment: datetime) -> str:
    """One spelling per moment: `2026-11-18T12:00:00.000000Z`."""
    return in_utc(moment).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def write_json(value: Any) -> str:
    """How JSON is written to the database: canonical, so that SQLite holds exactly what was hashed."""
    return canonical_json(value).decode()


def read_json(text: str | bytes) -> Any:
    """How it is read. A key given twice means one thing to one reader and another to the next: unreadable."""
    try:
        return json.loads(text, object_pairs_hook=_no_key_twice)
    except (ValueError, TypeError):
        return Unreadable(repr(text))


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a key is given twice")
    return found
