"""Column names as users write them → SQL.

`amount`, `order id`, `a.b` (a column of that very name, or field b of column a), `address.city`,
`items.each.price` (the price of every element). A part in backticks is taken as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from lazaretto.checks.sql import identifier, text
from lazaretto.model.schema import Column, TableSchema, match

EACH = "each"

_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")


class MissingColumn(LookupError):
    """The table has no such column."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name = name
        self.known = known
        super().__init__(f"there is no column {name!r}")


class EntersArray(MissingColumn):
    """The name goes on behind an array without `each`, which means something in SQL only: `items.price`."""

    def __init__(self, name: str, known: tuple[str, ...], path: Path) -> None:
        super().__init__(name, known)
        self.path = path


@dataclass(frozen=True)
class Path:
    """Where a value is: SQL up to the first array that is walked through, then the way inside its elements."""

    sql: str
    type: str | None
    inner: Path | None = None
    """Set where `sql` is an array whose every element is meant; its own `sql` starts at `variable`."""
    variable: str = ""

    @property
    def leaf_type(self) -> str | None:
        """Type of the value finally inspected."""
        return self.inner.leaf_type if self.inner else self.type

    def holds(self, condition: Callable[[str], str]) -> str:
        """SQL: the condition (made from the SQL of a value) holds, for every element where arrays are walked."""
        if self.inner is None:
            return condition(self.sql)
        return f"forall({self.sql}, {self.variable} -> {self.inner.holds(condition)})"


def parts_of(name: str) -> tuple[str, ...]:
    """Cut a written name at its dots, except inside backticks."""
    return tuple((quoted or "").replace("``", "`") or plain for quoted, plain in _PART.findall(name))


def named_in_sql(parts: tuple[str, ...], schema: TableSchema | None) -> Path:
    """Find what an expression calls `a.b.c`; where the way leads into an array, the array: Spark knows the rest."""
    try:
        return resolve(".".join(identifier(part) for part in parts), schema)
    except EntersArray as array:
        return array.path


def resolve(name: str, schema: TableSchema | None) -> Path:
    """Find a column by the name written; without a schema, dots separate fields."""
    parts = parts_of(name)
    if schema is None:
        return _unchecked(parts)
    if whole := match(schema.columns, name):
        return Path(identifier(whole.name), whole.type)
    # The longest beginning that is a column's own name wins: `a.b.c` is field c of a column "a.b", if there is one.
    for length in range(len(parts), 0, -1):
        if column := match(schema.columns, ".".join(parts[:length])):
            return _walk(identifier(column.name), column, parts[length:], name, schema)
    raise MissingColumn(name, schema.names)


def _walk(sql: str, column: Column, rest: tuple[str, ...], name: str, schema: TableSchema, depth: int = 0) -> Path:
    if not rest:
        return Path(sql, column.type)
    part, after = rest[0], rest[1:]
    if column.fields:
        if child := match(column.fields, part):
            return _walk(f"{sql}.{identifier(child.name)}", child, after, name, schema, depth)
    elif column.type.startswith("array") and column.element is not None:
        if part == EACH:
            variable = f"lz_each{depth}"
            inner = _walk(variable, column.element, after, name, schema, depth + 1)
            return Path(sql, column.type, inner, variable)
        if match(column.element.fields, part):
            raise EntersArray(name, schema.names, Path(sql, column.type))
    elif column.type.startswith("map") and column.element is not None:
        return _walk(f"{sql}[{text(part)}]", column.element, after, name, schema, depth)
    raise MissingColumn(name, tuple(field.name for field in column.fields) or schema.names)


def _unchecked(parts: tuple[str, ...], start: str = "", depth: int = 0) -> Path:
    sql = start
    for position, part in enumerate(parts):
        if part == EACH and sql:
            variable = f"lz_each{depth}"
            return Path(sql, None, _unchecked(parts[position + 1 :], variable, depth + 1), variable)
        sql = f"{sql}.{identifier(part)}" if sql else identifier(part)
    return Path(sql, None)
