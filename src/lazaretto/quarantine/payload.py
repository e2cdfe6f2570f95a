"""What of a rejected row is kept: SQL text that makes a payload (VARIANT) of a row, and a row of a payload.

=========  ===============================  ====================  ===========================================
policy     kept                             in the typed views    to send it back
=========  ===============================  ====================  ===========================================
inline     the row, exact types             as it was             as it is
masked     the row without named columns    NULL or `[masked]`    the correction gives the masked columns
encrypted  the row, by AES-GCM              NULL                  with the key, see `opened`
reference  position and hash                NULL                  read again from the source, checked by hash
=========  ===============================  ====================  ===========================================

What is not kept must not be told elsewhere either: `failures_sql` and `rescued_sql` hide it there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lazaretto.checks import sql
from lazaretto.model.errors import LazarettoError
from lazaretto.model.words import Word
from lazaretto.quarantine.fields import JSON, VARIANT, Field, Form, ddl, fields_of
from lazaretto.quarantine.shape import FAILURE_NAMES

MASK = "[masked]"
ENCRYPTED_FIELD = "lz_encrypted"
"""The one field of an encrypted payload."""

Columns = str | Mapping[str, Any] | Iterable[tuple[str, Form]]
"""A row's columns: a Spark schema in JSON form, or pairs of name and type."""

_MAP = "map<string, variant>"


class PayloadPolicy(Word):
    """How much of a rejected row is kept."""

    INLINE = "inline"
    MASKED = "masked"
    ENCRYPTED = "encrypted"
    REFERENCE = "reference"


class PayloadError(LazarettoError):
    """A payload policy that cannot be applied to these rows."""


def payload_sql(
    columns: Columns,
    policy: str = PayloadPolicy.INLINE,
    masked: Iterable[str] = (),
    key: str | None = None,
    *,
    rescued: str | None = None,
) -> str:
    """SQL of the payload of the current row.

    Args:
        columns: name and type of the source's columns, as `fields_of` takes them.
        policy: what of them is kept.
        masked: columns whose values are not kept, for `masked`.
        key: SQL of the 16, 24 or 32 byte key, for `encrypted` (see `key_sql`).
        rescued: name of the column of rescued data: merged into the payload instead of being a field of it.
    """
    row = _without(columns, rescued)
    policy = PayloadPolicy(policy)
    if policy is PayloadPolicy.REFERENCE:
        return "cast(NULL as variant)"
    if policy is PayloadPolicy.ENCRYPTED:
        if key is None:
            raise PayloadError("the payload policy `encrypted` needs a key")
        cipher = f"aes_encrypt({_document(row, rescued)}, {key}, 'GCM')"
        return f"to_variant_object(named_struct('{ENCRYPTED_FIELD}', {cipher}))"
    hidden = _hidden(row, masked) if policy is PayloadPolicy.MASKED else frozenset()
    return _inline(row, sql.identifier, sql.identifier(rescued) if rescued else None, hidden)


def hash_sql(columns: Columns, *, rescued: str | None = None) -> str:
    """SQL of the SHA-256 of the current row, rescued data included, whatever of it is kept."""
    return f"sha2({_document(_without(columns, rescued), rescued)}, 256)"


def opened(columns: Columns, payload: str, key: str, *, rescued: str | None = None) -> str:
    """SQL of the payload as `inline` would have kept it, given an encrypted one and the key."""
    row = _without(columns, rescued)
    form: Form = {"type": "struct", "fields": [{"name": f.name, "type": f.form} for f in row]}
    shape = f"lz_row {ddl(JSON.stored(form))}, lz_rescued string"
    cipher = f"variant_get({payload}, '$.{ENCRYPTED_FIELD}', 'binary')"
    document = f"from_json(cast(aes_decrypt({cipher}, {key}, 'GCM') as string), {sql.text(shape)})"

    def value(name: str) -> str:
        field = next(f for f in row if f.name == name)
        return JSON.read(field.form, f"lz_d.lz_row.{sql.identifier(name)}")

    inside = _inline(row, value, "lz_d.lz_rescued", frozenset())
    # A lambda over one element is SQL's `let`: the text is decrypted once, not once for each column.
    return f"transform(array({document}), lz_d -> {inside})[0]"


def decoded(columns: Columns, payload: str, *, strict: bool = False) -> list[tuple[str, str]]:
    """Name and SQL of every column, exactly as it was, out of an inline payload.

    A value that does not fit its type (masked, rescued or corrected) is NULL, or an error if `strict`.
    """
    get = "variant_get" if strict else "try_variant_get"
    found = []
    for field in fields_of(columns):
        # By way of a struct of one field, because a path cannot spell every name ("it's 5\" wide").
        name = sql.identifier(field.name)
        shape = sql.text(f"struct<{name}: {ddl(VARIANT.stored(field.form))}>")
        found.append((field.name, VARIANT.read(field.form, f"{get}({payload}, '$', {shape}).{name}")))
    return found


def overlaid(base: str, over: str) -> str:
    """SQL of an object with another's fields laid over it; just the first where the second is no object."""
    joined = "map_concat(map_filter(lz_p.b, (k, v) -> NOT map_contains_key(lz_p.o, k)), lz_p.o)"
    return _merged(base, f"try_variant_get({over}, '$', '{_MAP}')", joined)


def failures_sql(failures: str, policy: str, masked: Iterable[str] = ()) -> str:
    """SQL of the failures without the values that the policy does not keep."""
    if PayloadPolicy(policy) is PayloadPolicy.INLINE:
        return failures
    hide = "true"
    if PayloadPolicy(policy) is PayloadPolicy.MASKED:
        names = ", ".join(sql.text(_top(name)) for name in masked)
        # A rule on several columns, or on none that it names, may show any of them.
        hide = (
            "f.column_name IS NULL OR size(f.columns) != 1 OR "
            f"array_contains(array({names}), lower(substring_index(f.column_name, '.', 1)))"
        )
    told = "concat(coalesce(concat(f.column_name, ': '), ''), 'expected ', coalesce(f.expected_value, '?'))"
    hidden = {"actual_value": f"if(f.actual_value IS NULL, NULL, '{MASK}')", "message": told}
    parts = ", ".join(f"'{name}', {hidden.get(name, f'f.{name}')}" for name in FAILURE_NAMES)
    return f"transform({failures}, f -> if({hide}, named_struct({parts}), f))"


def rescued_sql(rescued: str | None, policy: str) -> str:
    """SQL of the rescued data to keep beside the payload: raw text, so only where nothing is hidden."""
    if rescued is None or PayloadPolicy(policy) is not PayloadPolicy.INLINE:
        return "cast(NULL as string)"
    return sql.identifier(rescued)


def key_sql(secret: str) -> str:
    """SQL of a 32 byte key made from any secret text."""
    return f"X'{hashlib.sha256(secret.encode()).hexdigest()}'"


def _inline(row: Sequence[Field], value: Callable[[str], str], rescued: str | None, hidden: frozenset[str]) -> str:
    parts = []
    for field in row:
        if field.name.casefold() in hidden:
            kept = f"if({value(field.name)} IS NULL, NULL, '{MASK}')"
        else:
            kept = VARIANT.write(field.form, value(field.name))
        parts.append(f"{sql.text(field.name)}, {kept}")
    plain = f"to_variant_object(named_struct({', '.join(parts)}))"
    if rescued is None:
        return plain
    saved = f"try_variant_get(try_parse_json({rescued}), '$', '{_MAP}')"
    if hidden:
        names = ", ".join(sql.text(name) for name in sorted(hidden))
        saved = f"map_filter({saved}, (k, v) -> NOT array_contains(array({names}), lower(k)))"
    # Rescued data fills what the reader had to leave empty; it never replaces what the reader could read.
    joined = (
        "map_concat(map_filter(lz_p.b, (k, v) -> NOT (map_contains_key(lz_p.o, k) AND is_variant_null(v))), "
        "map_filter(lz_p.o, (k, v) -> "
        "NOT map_contains_key(lz_p.b, k) OR is_variant_null(try_element_at(lz_p.b, k))))"
    )
    return _merged(plain, saved, joined)


def _merged(base: str, over: str, joined: str) -> str:
    """`joined` makes one map of lz_p.b (base) and lz_p.o (over); dear, so only for rows that have both."""
    pair = f"named_struct('b', cast({base} as {_MAP}), 'o', {over})"
    merged = f"transform(array({pair}), lz_p -> to_variant_object({joined}))[0]"
    return f"CASE WHEN {over} IS NULL THEN {base} ELSE {merged} END"


def _document(row: Sequence[Field], rescued: str | None) -> str:
    parts = ", ".join(f"{sql.text(f.name)}, {JSON.write(f.form, sql.identifier(f.name))}" for f in row)
    saved = sql.identifier(rescued) if rescued else "cast(NULL as string)"
    whole = f"named_struct('lz_row', named_struct({parts}), 'lz_rescued', {saved})"
    return f"to_json({whole}, map('ignoreNullFields', 'false'))"


def _without(columns: Columns, rescued: str | None) -> tuple[Field, ...]:
    return tuple(field for field in fields_of(columns) if field.name != rescued)


def _top(name: str) -> str:
    return name.partition(".")[0].casefold()


def _hidden(row: Sequence[Field], masked: Iterable[str]) -> frozenset[str]:
    known = {field.name.casefold() for field in row}
    hidden = set()
    for name in masked:
        found = name.casefold() if name.casefold() in known else _top(name)
        if found not in known:  # a misspelt column would be kept for everyone to read
            raise PayloadError(f"the payload policy masks the column {name}, which the source does not have")
        hidden.add(found)
    if not hidden:
        raise PayloadError("the payload policy `masked` names no columns")
    return frozenset(hidden)
