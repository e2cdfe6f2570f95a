# ruff: noqa: S608 - SQL is what is made here; names and literals go through checks.sql
"""UPDATE, DELETE and INSERT on the views, translated to the table behind them.

Spark cannot write through a view, and the names and words of the views are not the table's. So a change
becomes a MERGE whose source is a query on the view itself: conditions and values are evaluated there, just as
typed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lazaretto.checks import sql
from lazaretto.model.words import Place, RecordStatus
from lazaretto.quarantine.append import utc_date
from lazaretto.quarantine.shape import COLUMNS, FAILURE_NAMES, FAILURES
from lazaretto.quarantine.statement import SqlError, Token, tokens_of
from lazaretto.quarantine.views import (
    DATASET_PREFIX,
    DEAD_LETTER,
    INBOX,
    OUTBOX,
    RECORDS,
    UNIVERSAL,
    UNIVERSAL_COLUMNS,
)

_TABLE_COLUMNS = {column.name: column.type for column in COLUMNS}
_WRITABLE = (UNIVERSAL, INBOX, DEAD_LETTER, RECORDS)

# What a person may change of a record, by the names of the view. The original payload is never changed: what
# is written over it is a correction.
_SETTABLE_IN_TABLE = {
    "status": "status",
    "payload": "correction",
    "correction": "correction",
    "reject_reason_code": "reject_reason_code",
}
_SETTABLE = {
    UNIVERSAL: {"_dlq_status": "status", "_row_data": "correction"},
    INBOX: _SETTABLE_IN_TABLE,
    DEAD_LETTER: _SETTABLE_IN_TABLE,
    RECORDS: _SETTABLE_IN_TABLE,
}

_WORDS = {"FIXED": RecordStatus.CORRECTED.value} | {status.value: status.value for status in RecordStatus}


@dataclass(frozen=True)
class _Target:
    view: str
    alias: str
    next: int
    """Position of the first token after it."""


def translate(text: str, records_path: str, user: str) -> str | None:
    """The statement for the table, or None if it changes none of the views. Names are resolved already."""
    tokens = tokens_of(text)
    into = [token.word for token in tokens[:3]]
    if into[0] == "UPDATE":
        return _changing(_update, text, tokens, 1, records_path, user)
    if into[:2] == ["DELETE", "FROM"]:
        return _changing(_delete, text, tokens, 2, records_path, user)
    if into[0] == "INSERT" and into[1:2] in (["INTO"], ["OVERWRITE"]):
        start = 3 if into[2:] == ["TABLE"] else 2
        if into[1] == "OVERWRITE" and _is_ours(tokens, start):
            raise SqlError("the quarantine is not overwritten: use INSERT INTO, or DELETE first")
        return _changing(_insert, text, tokens, start, records_path, user)
    if into[0] in ("MERGE", "TRUNCATE") and any(_is_ours(tokens, at) for at in (1, 2)):
        raise SqlError(f"{into[0]} is not translated to the quarantine's table: use UPDATE, DELETE or INSERT")
    return None


def _is_ours(tokens: list[Token], at: int) -> bool:
    if at >= len(tokens):
        return False
    name = tokens[at].text.casefold()
    return name in _WRITABLE or name == OUTBOX or name.startswith(DATASET_PREFIX)


def _changing(
    translation: Callable[[str, list[Token], _Target, str, str], str],
    text: str,
    tokens: list[Token],
    at: int,
    records_path: str,
    user: str,
) -> str | None:
    if not _is_ours(tokens, at):
        return None
    view = tokens[at].text.casefold()
    if view == OUTBOX:
        raise SqlError(f"{OUTBOX} is a ledger: nothing in it is changed by hand")
    if view not in _WRITABLE:
        raise SqlError(f"{view} is for reading; change its records through {UNIVERSAL} or {INBOX}")
    at += 1
    alias = ""
    if at < len(tokens) and tokens[at].word == "AS":
        at += 1
    if at < len(tokens) and tokens[at].is_name and tokens[at].word not in _AFTER_TARGET:
        alias = sql.identifier(tokens[at].text)
        at += 1
    return translation(text, tokens, _Target(view, alias, at), f"delta.{sql.identifier(records_path)}", user)


_AFTER_TARGET = ("SET", "WHERE", "VALUES", "SELECT", "WITH", "TABLE", "FROM", "BY", "PARTITION", "REPLACE")


def _update(text: str, tokens: list[Token], target: _Target, table: str, user: str) -> str:
    if target.next >= len(tokens) or tokens[target.next].word != "SET":
        raise SqlError(f"expected SET after UPDATE {target.view}")
    where = _top(tokens, "WHERE", target.next)
    values: dict[str, str] = {}
    computed: list[str] = []
    for part in _parts(tokens[target.next + 1 : where]):
        column, value = _assignment(text, part, target.view)
        name = f"lz_{len(computed)}"
        computed.append(f"({value}) AS {name}")
        values[column] = _stored(column, f"lz_s.{name}")
    values |= {"updated_at": "current_timestamp()", "updated_by": sql.text(user)}
    if "correction" in values:
        values["corrected_at"] = "current_timestamp()"
    assignments = ", ".join(f"lz_t.{column} = {value}" for column, value in values.items())
    source = _chosen(text, tokens, target, where, computed)
    return f"{_merge(table, source)} WHEN MATCHED THEN UPDATE SET {assignments}"


def _delete(text: str, tokens: list[Token], target: _Target, table: str, user: str) -> str:
    where = _top(tokens, "WHERE", target.next)
    if where > target.next:
        raise SqlError(f"expected WHERE after DELETE FROM {target.view}")
    return f"{_merge(table, _chosen(text, tokens, target, where, []))} WHEN MATCHED THEN DELETE"


def _insert(text: str, tokens: list[Token], target: _Target, table: str, user: str) -> str:
    at = target.next
    known = UNIVERSAL_COLUMNS if target.view == UNIVERSAL else _TABLE_COLUMNS
    columns = list(known)
    if at < len(tokens) and tokens[at].text == "(" and not _is_query(tokens, at + 1):
        end = next(i for i, t in enumerate(tokens) if i > at and t.text == ")" and t.depth == tokens[at].depth)
        columns = [token.text.casefold() for token in tokens[at + 1 : end] if token.text != ","]
        at = end + 1
    if unknown := [name for name in columns if name not in known]:
        raise SqlError(f"{target.view} has no column {unknown[0]}; it has {', '.join(known)}")
    if at >= len(tokens):
        raise SqlError(f"expected VALUES or a query after INSERT INTO {target.view}")
    given = text[tokens[at].start : tokens[-1].end]
    listed = ", ".join(sql.identifier(name) for name in columns)
    values = _inserted(target.view, set(columns), user)
    selected = ", ".join(f"cast({value} as {_TABLE_COLUMNS[name]}) AS {name}" for name, value in values.items())
    source = f"SELECT {selected} FROM ({given}) AS lz_new({listed})"
    names = ", ".join(_TABLE_COLUMNS)
    stored = ", ".join(f"lz_s.{name}" for name in _TABLE_COLUMNS)
    # A record that is there already stays as it is: the same row sent twice is one record.
    return (
        f"MERGE INTO {table} AS lz_t USING ({source}) AS lz_s ON lz_t.record_id = lz_s.record_id "
        f"WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({stored})"
    )


def _inserted(view: str, given: set[str], user: str) -> dict[str, str]:
    """SQL of every column of a new record, from the columns that were given."""
    source = {
        "_dlq_sk": "record_id",
        "_dlq_source_table": "asset",
        "_dlq_status": "status",
        "_dlq_timestamp": "quarantined_at",
        "_dlq_failed_rules": "failures",
        "_dlq_rescued_data": "rescued_data",
        "_row_data": "payload",
    }
    by_column = {source.get(name, name): f"lz_new.{sql.identifier(name)}" for name in given}
    for needed in ("asset", "payload"):
        if needed not in by_column:
            shown = next((name for name, column in source.items() if column == needed), needed)
            raise SqlError(f"a new record needs {shown if view == UNIVERSAL else needed}")
    if view == UNIVERSAL and "failures" in by_column:
        known = {"rule_id": "f.name", "expression": "f.rule", "warning": "false"}
        fields = ", ".join(f"'{name}', {known.get(name, 'NULL')}" for name in FAILURE_NAMES)
        rules = f"cast({by_column['failures']} as array<struct<name:string,rule:string>>)"
        by_column["failures"] = f"transform({rules}, f -> named_struct({fields}))"
    if "status" in by_column:
        by_column["status"] = f"coalesce({_stored('status', by_column['status'])}, '{RecordStatus.QUARANTINED}')"
    at = f"coalesce({by_column.get('quarantined_at', 'NULL')}, current_timestamp())"
    payload = by_column["payload"]
    defaults = {
        "record_id": "sha2(uuid(), 256)",
        "place": f"'{Place.DEAD_LETTER if view == DEAD_LETTER else Place.INBOX}'",
        "source_position": "'by hand'",
        "payload_hash": f"sha2(to_json({payload}), 256)",
        "payload_policy": "'inline'",
        "failures": f"cast(array() as {FAILURES})",
        "severity": "'MEDIUM'",
        "status": f"'{RecordStatus.QUARANTINED}'",
        "attempt": "0",
        "updated_at": "current_timestamp()",
        "updated_by": sql.text(user),
    }
    values = {name: by_column.get(name, defaults.get(name, "NULL")) for name in _TABLE_COLUMNS}
    return values | {"quarantined_at": at, "quarantined_date": utc_date(at), "payload": _object(payload)}


def _chosen(text: str, tokens: list[Token], target: _Target, where: int, computed: list[str]) -> str:
    """The records of the view that a condition names, with values computed from them."""
    key = "_dlq_sk" if target.view == UNIVERSAL else "record_id"
    condition = f" WHERE {text[tokens[where + 1].start : tokens[-1].end]}" if where + 1 < len(tokens) else ""
    alias = f" AS {target.alias}" if target.alias else ""
    columns = ", ".join([f"{target.alias or target.view}.{key} AS lz_id", *computed])
    return f"SELECT {columns} FROM {target.view}{alias}{condition}"


def _merge(table: str, source: str) -> str:
    return f"MERGE INTO {table} AS lz_t USING ({source}) AS lz_s ON lz_t.record_id = lz_s.lz_id"


def _assignment(text: str, part: list[Token], view: str) -> tuple[str, str]:
    equals = next((i for i, token in enumerate(part) if token.text == "=" and not token.is_string), 0)
    if equals == 0 or equals + 1 >= len(part):
        raise SqlError(f"expected column = value after UPDATE {view} SET")
    name = part[equals - 1].text.casefold()
    column = _SETTABLE[view].get(name)
    if column is None:
        raise SqlError(f"{name} of {view} cannot be set; what can is {', '.join(_SETTABLE[view])}")
    value = part[equals + 1 :]
    if column == "status" and len(value) == 1 and value[0].is_string and value[0].word not in _WORDS:
        raise SqlError(f"there is no status {value[0].text!r}; {_known_words()}")
    return column, text[value[0].start : value[-1].end]


def _stored(column: str, value: str) -> str:
    """A value as the table keeps it, given it in the view's words."""
    if column == "correction":
        return _object(value)
    if column != "status":
        return value
    cases = " ".join(f"WHEN '{word}' THEN '{status}'" for word, status in _WORDS.items())
    refused = f"raise_error(concat('there is no status ', {value}, '; ', {sql.text(_known_words())}))"
    return f"CASE upper({value}) {cases} ELSE if({value} IS NULL, NULL, {refused}) END"


def _object(value: str) -> str:
    """A row's fields, refused if they are no object: text that looks like one is of no use."""
    variant = f"cast({value} as variant)"
    refused = sql.text("a row is an object: write parse_json('{…}')")
    return (
        f"CASE WHEN {value} IS NULL THEN NULL "
        f"WHEN schema_of_variant({variant}) LIKE 'OBJECT%' THEN {variant} "
        f"ELSE raise_error({refused}) END"
    )


def _known_words() -> str:
    return "known are " + ", ".join(["quarantined", "fixed", *(status.value for status in RecordStatus)])


def _top(tokens: list[Token], word: str, start: int) -> int:
    """Position of a keyword outside brackets, or after the last token."""
    found = (i for i, t in enumerate(tokens) if i >= start and t.word == word and t.depth == 0 and t.is_name)
    return next(found, len(tokens))


def _parts(tokens: list[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.text == "," and token.depth == 0 and not token.is_string:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _is_query(tokens: list[Token], at: int) -> bool:
    return at < len(tokens) and tokens[at].word in ("SELECT", "VALUES", "WITH", "(")
