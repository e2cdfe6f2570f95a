"""What happened to a record, kept in the record itself: one entry for each step, never removed.

So everything is known of a record wherever it goes (the archive, an export), and an action on a million records needs
no list of them anywhere. The evidence chain attests each action; its entries carry the same id (`deed`).
"""

from __future__ import annotations

from collections.abc import Mapping

from lazaretto.checks import sql
from lazaretto.engine.details import FAILURE_TYPE
from lazaretto.model.words import RecordStatus

MEMBERS = {
    "step": "string",
    "deed": "string",
    "at": "timestamp",
    "by": "string",
    "assurance": "string",
    "means": "string",
    "came_from": "string",
    "went_to": "string",
    "why": "string",
    "reason_code": "string",
    "attempt": "int",
    "correction": "variant",
    "correction_hash": "string",
    "table_version": "bigint",
    "batch_id": "string",
    "run_id": "string",
    "suite_version": "string",
    "version": "bigint",
    "severity": "string",
    "failures": FAILURE_TYPE,
}
"""An entry. `means`: command, automatic, sql or recycle. `table_version`: the commit of an edit by SQL. `version`: of
the asset, where the record was published. `failures` and `severity`: the old ones, where a record failed again."""

ENTRY = f"struct<{','.join(f'{name}:{kind}' for name, kind in MEMBERS.items())}>"
HISTORY = f"array<{ENTRY}>"


def entry(values: Mapping[str, str]) -> str:
    """SQL of an entry, given the SQL of what is known of it."""
    parts = ", ".join(f"'{name}', {values.get(name, f'cast(NULL as {kind})')}" for name, kind in MEMBERS.items())
    return f"cast(named_struct({parts}) as {ENTRY})"


def appended(history: str, *entries: str) -> str:
    """SQL of a history with further entries."""
    return f"concat(coalesce({history}, cast(array() as {HISTORY})), array({', '.join(entries)}))"


def last(history: str, member: str) -> str:
    """SQL of what the last entry says; NULL if there is none."""
    return f"try_element_at({history}, -1).{member}"


def known_status(history: str) -> str:
    """SQL of the last status on record, which plain SQL cannot have changed in passing."""
    return f"coalesce({last(history, 'went_to')}, '{RecordStatus.QUARANTINED}')"


def hash_of(correction: str) -> str:
    """SQL that identifies a correction; NULL for none."""
    return f"CASE WHEN {correction} IS NOT NULL THEN sha2(to_json({correction}), 256) END"


def text(value: str | None) -> str:
    """SQL of a text or NULL."""
    return "cast(NULL as string)" if value is None else sql.text(value)
