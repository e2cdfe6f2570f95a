"""The shape of a table as far as rules need it: names, types and nesting, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_SCALARS = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}


@dataclass(frozen=True)
class Column:
    """A column or nested field. `fields` are those of a struct; `element` is what an array holds."""

    name: str
    type: str
    fields: tuple[Column, ...] = ()
    element: Column | None = None
    nullable: bool = True


@dataclass(frozen=True)
class TableSchema:
    """The columns of a table, in order."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @classmethod
    def from_json(cls, schema: Mapping[str, Any]) -> TableSchema:
        """Read the JSON form of a Spark schema (`df.schema.jsonValue()`)."""
        return cls(tuple(_column(f["name"], f["type"], f.get("nullable", True)) for f in schema["fields"]))


def match(columns: tuple[Column, ...], name: str) -> Column | None:
    """The column of this name: exactly, else the only one that differs in case."""
    for column in columns:
        if column.name == name:
            return column
    alike = [column for column in columns if column.name.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def _column(name: str, form: Any, nullable: bool = True) -> Column:
    if isinstance(form, str):
        return Column(name, _SCALARS.get(form, form), nullable=nullable)
    if form["type"] == "struct":
        fields = tuple(_column(f["name"], f["type"], f.get("nullable", True)) for f in form["fields"])
        inside = ",".join(f"{field.name}:{field.type}" for field in fields)
        return Column(name, f"struct<{inside}>", fields, nullable=nullable)
    if form["type"] == "array":
        element = _column("element", form["elementType"])
        return Column(name, f"array<{element.type}>", element=element, nullable=nullable)
    if form["type"] == "map":
        key, value = _column("key", form["keyType"]), _column("value", form["valueType"])
        return Column(name, f"map<{key.type},{value.type}>", element=value, nullable=nullable)
    return _column(name, form.get("sqlType", "string"), nullable)  # a user-defined type
