"""Columns of a row by their exact types, and how types that a format cannot hold are written and read back.

Types come best in the JSON form of a Spark schema (`frame.schema.jsonValue()`): only there can a nested
field be called anything at all. Plain type names (`struct<a:int>`) are understood too, if no nested name has
`<`, `>`, `,` or `(` in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from lazaretto.checks import sql

Form = str | Mapping[str, Any]
"""A type: its name, or the JSON form of a struct, array, map or user-defined type."""

_NAMES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}


class Field(NamedTuple):
    """A column of the original row: its name and type."""

    name: str
    form: Form


def fields_of(schema: str | Mapping[str, Any] | Iterable[tuple[str, Form]]) -> tuple[Field, ...]:
    """The columns of a row: a Spark schema in JSON form (as text or parsed), or pairs of name and type."""
    form = json.loads(schema) if isinstance(schema, str) else schema
    if isinstance(form, Mapping):
        return tuple(Field(field["name"], form_of(field["type"])) for field in form["fields"])
    return tuple(Field(name, form_of(kind)) for name, kind in form)


def form_of(form: Form) -> Form:
    """The JSON form of a type, given that or its name."""
    if not isinstance(form, str) or not form.endswith(">"):
        return form
    outer, _, inside = form.removesuffix(">").partition("<")
    parts = [part.strip() for part in _split(inside, ",")]
    match outer.strip():
        case "array":
            return {"type": "array", "elementType": form_of(parts[0])}
        case "map":
            return {"type": "map", "keyType": form_of(parts[0]), "valueType": form_of(parts[1])}
        case "struct":
            fields = []
            for part in parts:
                *name, kind = _split(part, ":")  # a type has no colon outside brackets, a name may have some
                fields.append({"name": _unquoted(":".join(name).strip()), "type": form_of(kind.strip())})
            return {"type": "struct", "fields": fields}
        case _:
            raise ValueError(f"{form} is not a type")


def _split(text: str, sign: str) -> list[str]:
    """The parts between the signs that stand outside brackets."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "<(") - (character in ">)")
        if character == sign and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    rest = text[start:]
    return [*parts, rest] if rest.strip() or parts else []


def _unquoted(name: str) -> str:
    if len(name) > 1 and name[0] == name[-1] == "`":
        return name[1:-1].replace("``", "`")
    return name


def ddl(form: Form) -> str:
    """The type as SQL writes it, every nested name quoted."""
    if isinstance(form, str):
        return _NAMES.get(form, form)
    match form["type"]:
        case "struct":
            inside = ", ".join(f"{sql.identifier(f['name'])}: {ddl(f['type'])}" for f in form["fields"])
            return f"struct<{inside}>"
        case "array":
            return f"array<{ddl(form['elementType'])}>"
        case "map":
            return f"map<{ddl(form['keyType'])}, {ddl(form['valueType'])}>"
        case _:
            return ddl(form["sqlType"])  # a user-defined type


class Leaf(NamedTuple):
    """How values of a simple type are written: as which type, and the SQL to and fro ({} is the value)."""

    type: str
    write: str
    read: str


class Codec:
    """Writes values of any type in a format that holds only some, and reads them back, all in SQL text."""

    def __init__(self, leaf: Callable[[str], Leaf | None]) -> None:
        self._leaf = leaf

    def stored(self, form: Form) -> Form:
        """The type in which the format holds values of this type; the same if nothing needs to change."""
        if isinstance(form, str):
            leaf = self._leaf(form)
            return leaf.type if leaf else form
        match form["type"]:
            case "struct":
                return {
                    "type": "struct",
                    "fields": [{"name": f["name"], "type": self.stored(f["type"])} for f in form["fields"]],
                }
            case "array":
                return {"type": "array", "elementType": self.stored(form["elementType"])}
            case "map" if form["keyType"] == "string":
                return {"type": "map", "keyType": "string", "valueType": self.stored(form["valueType"])}
            case "map":  # keys of a document are strings: any others become a list of entries
                entry = [
                    {"name": "key", "type": self.stored(form["keyType"])},
                    {"name": "value", "type": self.stored(form["valueType"])},
                ]
                return {"type": "array", "elementType": {"type": "struct", "fields": entry}}
            case _:
                return self.stored(form["sqlType"])

    def write(self, form: Form, value: str) -> str:
        """SQL of the value in the stored type."""
        return self._convert(form, value, 0, writing=True)

    def read(self, form: Form, value: str) -> str:
        """SQL of the original value, given that of the stored one."""
        return self._convert(form, value, 0, writing=False)

    def _convert(self, form: Form, value: str, depth: int, *, writing: bool) -> str:
        if ddl(self.stored(form)) == ddl(form):
            return value
        if isinstance(form, str):
            leaf = self._leaf(form)
            if leaf is None:  # pragma: no cover - then nothing would have changed
                return value
            return (leaf.write if writing else leaf.read).replace("{}", value)
        x = f"lz_x{depth}"  # lambdas nest: each level has its own variable

        def inner(part: Form, text: str) -> str:
            return self._convert(part, text, depth + 1, writing=writing)

        match form["type"]:
            case "struct":
                parts = ", ".join(
                    f"{sql.text(part['name'])}, {inner(part['type'], _member(value, part['name']))}"
                    for part in form["fields"]
                )
                return f"if({value} IS NULL, NULL, named_struct({parts}))"
            case "array":
                return f"transform({value}, {x} -> {inner(form['elementType'], x)})"
            case "map" if form["keyType"] == "string":
                return f"transform_values({value}, (lz_k{depth}, {x}) -> {inner(form['valueType'], x)})"
            case "map":
                key, val = inner(form["keyType"], f"{x}.key"), inner(form["valueType"], f"{x}.value")
                entry = f"{x} -> named_struct('key', {key}, 'value', {val})"
                if writing:
                    return f"transform(map_entries({value}), {entry})"
                return f"map_from_entries(transform({value}, {entry}))"
            case _:
                return inner(form["sqlType"], value)


def _member(value: str, name: str) -> str:
    return f"{value}.{sql.identifier(name)}"


def _by_text(name: str) -> Leaf | None:
    if name.startswith(("interval", "time(")) or name == "time":
        return Leaf("string", "cast({} as string)", f"cast({{}} as {name})")
    return Leaf("string", "cast({} as string)", "NULL") if name == "void" else None


def _json_leaf(name: str) -> Leaf | None:
    match name.partition("(")[0]:
        case "float" | "double" | "decimal" | "timestamp_ntz":  # JSON numbers would lose NaN, -0.0 and digits
            return Leaf("string", "cast({} as string)", f"cast({{}} as {name})")
        case "binary":
            return Leaf("string", "base64({})", "unbase64({})")
        case "date":
            return Leaf("int", "unix_date({})", "date_from_unix_date({})")
        case "timestamp":  # as text it would depend on the session's time zone
            return Leaf("bigint", "unix_micros({})", "timestamp_micros({})")
        case "variant":  # the one type that does not come back exactly: a date inside becomes text
            return Leaf("string", "to_json({})", "parse_json({})")
        case _:
            return _by_text(name)


VARIANT = Codec(_by_text)
"""VARIANT holds everything but intervals, times of day, maps whose keys are not strings, and void."""

JSON = Codec(_json_leaf)
"""JSON text, for what has to become bytes (encryption, hashes): every type but VARIANT comes back exactly."""
