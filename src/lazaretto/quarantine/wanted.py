# ruff: noqa: S608 - SQL is what is made here; names and literals go through checks.sql
"""Which records are meant: the filters that all commands on the quarantine share, as SQL text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lazaretto.checks import sql
from lazaretto.model.errors import LazarettoError
from lazaretto.model.expression import columns_of, problems_of
from lazaretto.model.words import Place, RecordStatus, Severity, Word
from lazaretto.quarantine.fields import fields_of
from lazaretto.quarantine.payload import decoded, overlaid

ROW = "row"
"""By this name a condition finds the columns of the rejected row, typed: `row.amount < 0`."""


class FilterError(LazarettoError):
    """A filter that cannot be applied; the message says why."""


@dataclass(frozen=True)
class Wanted:
    """Records that somebody wants to see or act on. Nothing given: all."""

    datasets: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    severities: tuple[Severity, ...] = ()
    statuses: tuple[RecordStatus, ...] = ()
    places: tuple[Place, ...] = ()
    keys: tuple[str, ...] = ()
    """Keys by which people know the rows."""
    runs: tuple[str, ...] = ()
    since: datetime | None = None
    """Quarantined at this moment or later."""
    until: datetime | None = None
    """Quarantined before this moment."""
    texts: tuple[tuple[str, str], ...] = ()
    """(field, text): the field contains the text, in whatever case."""
    where: str | None = None
    """Any condition on the columns of a record; with one dataset also on `row.NAME`."""

    def __post_init__(self) -> None:
        """Take words in any case; refuse conditions that could run code."""
        words: dict[str, type[Word]] = {"severities": Severity, "statuses": RecordStatus, "places": Place}
        for name, word in words.items():
            object.__setattr__(self, name, tuple(word(value) for value in getattr(self, name)))
        if self.where and (problems := problems_of(self.where)):
            raise FilterError(f"the condition is refused: {problems[0].message}")
        if self.asks_for_row and len(self.datasets) != 1:
            raise FilterError("`row.NAME` needs to know the columns: name exactly one dataset with --dataset")

    @property
    def asks_for_row(self) -> bool:
        """Whether the condition looks into the rows."""
        return any(path[0].casefold() == ROW for path in columns_of(self.where or ""))

    @property
    def looks_inside(self) -> bool:
        """Whether the answer tells something of the rows' values, and not only of the records."""
        return bool(self.fields or self.keys) or self.asks_for_anything

    @property
    def fields(self) -> tuple[str, ...]:
        """Columns of the rows that the filter looks at."""
        paths = columns_of(self.where or "")
        inside = [path[1] for path in paths if path[0].casefold() == ROW and len(path) > 1]
        return (*(name for name, _ in self.texts), *inside)

    @property
    def asks_for_anything(self) -> bool:
        """Whether the condition looks at more of the rows' values than it names."""
        paths = columns_of(self.where or "")
        return any(
            (path[0].casefold() not in _HARMLESS and path[0].casefold() != ROW) or path == (ROW,) for path in paths
        )

    @property
    def empty(self) -> bool:
        """Whether everything is meant."""
        return self == Wanted()

    def condition(self) -> str:
        """The filter as SQL, `where` apart."""
        lists: dict[str, Iterable[Any]] = {
            "asset": self.datasets,
            "source_system": self.systems,
            "entity": self.entities,
            "severity": self.severities,
            "status": self.statuses,
            "place": self.places,
            "record_key": self.keys,
            "run_id": self.runs,
        }
        parts = [f"{name} IN ({sql.literals(values, 'string')})" for name, values in lists.items() if values]
        if self.rules:
            parts.append(f"exists(failures, f -> f.rule_id IN ({sql.literals(self.rules, 'string')}))")
        # The day is the partition: without it every file would be opened.
        if self.since is not None:
            parts += [f"quarantined_date >= DATE'{_day(self.since)}'", f"quarantined_at >= {_moment(self.since)}"]
        if self.until is not None:
            parts += [f"quarantined_date <= DATE'{_day(self.until)}'", f"quarantined_at < {_moment(self.until)}"]
        parts += [_contains(name, text) for name, text in self.texts]
        return sql.conjunction(parts) if parts else "true"

    def select(self, source: str, columns: str, schemas: Iterable[str] = ()) -> str:
        """SQL of the wanted records of `source`; `schemas` of their rows are needed where the condition asks for them.

        A row is asked for as it came and as it was corrected: either may be meant.
        """
        found = f"SELECT * FROM {source} WHERE {self.condition()}"
        if not self.where:
            return f"SELECT {columns} FROM ({found})"
        if not self.asks_for_row:
            return f"SELECT {columns} FROM ({found}) WHERE ({self.where})"
        fields = {f.name: f for text in schemas for f in fields_of(text)}.values()
        if not fields:
            return f"SELECT {columns} FROM ({found}) WHERE false"

        def row(payload: str) -> str:
            values = ", ".join(f"{sql.text(name)}, {value}" for name, value in decoded(list(fields), payload))
            return f"SELECT *, named_struct({values}) AS {ROW} FROM ({found})"

        corrected = overlaid("payload", "correction")
        either = [f"SELECT record_id FROM ({row(p)}) WHERE ({self.where})" for p in ("payload", corrected)]
        return f"SELECT {columns} FROM ({found}) WHERE record_id IN ({' UNION ALL '.join(either)})"

    def to_dict(self) -> dict[str, Any]:
        """What was given, ready for JSON; `of_dict` is the way back."""
        given = {name: value for name, value in vars(self).items() if value}
        return {
            name: value.isoformat() if isinstance(value, datetime) else value if isinstance(value, str) else list(value)
            for name, value in given.items()
        }

    @classmethod
    def of_dict(cls, given: dict[str, Any]) -> Wanted:
        """From what `to_dict` gave."""
        read: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in given.items()}
        read |= {name: datetime.fromisoformat(read[name]) for name in ("since", "until") if name in read}
        read |= {"texts": tuple((name, text) for name, text in read.get("texts", ()))}
        return cls(**read)

    def without_values(self) -> dict[str, Any]:
        """The filter as it may be put on record: what could hold personal data is left out."""
        told = self.to_dict()
        if self.texts:
            told["texts"] = [name for name, _ in self.texts]
        return told | {name: "[not recorded]" for name in ("where", "keys") if told.get(name)}


_HARMLESS = frozenset(
    (
        *("record_id", "place", "asset", "source_table", "source_system", "entity", "severity", "status", "attempt"),
        *("run_id", "batch_id", "suite", "suite_version", "rule_set_fingerprint", "quarantined_at", "quarantined_date"),
        *("updated_at", "updated_by", "reject_reason_code", "corrected_at", "archived_at", "archived_status"),
        "payload_policy",
    )
)
"""Columns of a record that tell nothing of the row's values."""


def _contains(name: str, text: str) -> str:
    """The field, as it came or as it was corrected, contains the text."""
    found = [f"coalesce(contains(lower({value_of(p, name)}), lower({sql.text(text)})), false)" for p in _ROWS]
    return f"({' OR '.join(found)})"


_ROWS = ("payload", "correction")


def value_of(payload: str, name: str) -> str:
    """SQL of a field as text: the one of exactly this name, else, for `a.b`, field b of field a."""
    paths = [[name]] + ([name.split(".")] if "." in name else [])
    return f"coalesce({', '.join(_as_text(payload, path) for path in paths)})"


def _as_text(payload: str, path: list[str]) -> str:
    # By way of a struct, because a path cannot spell every name.
    shape = "variant"
    for part in reversed(path):
        shape = f"struct<{sql.identifier(part)}: {shape}>"
    member = "".join(f".{sql.identifier(part)}" for part in path)
    variant = f"try_variant_get({payload}, '$', {sql.text(shape)}){member}"
    return f"coalesce(try_variant_get({variant}, '$', 'string'), to_json({variant}))"


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()


def _moment(moment: datetime) -> str:
    """Of the epoch, so that the session's time zone does not matter."""
    whole = moment.astimezone(UTC)
    return f"timestamp_micros({int(whole.timestamp()) * 1_000_000 + whole.microsecond}L)"
