"""The target's demands on a row, and the row in the target's exact shape.

A zero-copy commit checks nothing: whatever the table declares (types, NOT NULL, CHECK, lengths, generated columns)
has to be asked of every row here, as rules like any other, or nobody ever asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lazaretto.checks import sql
from lazaretto.checks.ddl import fits
from lazaretto.checks.structure import BuiltInCastable, BuiltInTarget
from lazaretto.engine.plan import CORRUPT_RECORD, RAW_VALUE, SCHEMA_ID, Instance, shown_value
from lazaretto.model.fingerprint import rule_fingerprint
from lazaretto.model.rule import Rule
from lazaretto.model.schema import Column, TableSchema, match
from lazaretto.model.suite import Suite
from lazaretto.model.words import OnNewColumn, Severity
from lazaretto.spark.delta_log import CHAR_VARCHAR, GENERATION, ddl, physical_name, physical_type

RESCUED = "_rescued_data"
"""Where readers put what did not fit the declared schema; kept in the quarantine, never in the target."""

NOT_FOR_THE_TARGET = (CORRUPT_RECORD, RESCUED, RAW_VALUE, SCHEMA_ID)


@dataclass(frozen=True)
class TargetColumn:
    """A column of the target: what it is called in files, and the SQL that gives its value."""

    name: str
    physical: str
    type: str
    value: str
    field: Mapping[str, Any]

    @property
    def written(self) -> str:
        """SQL of the value as the files have it: nested fields too have other names there if the table maps columns."""
        form = self.field["type"]
        in_files = physical_type(form)
        # A cast between structs goes by position.
        return self.value if ddl(in_files) == ddl(form) else f"cast({self.value} as {ddl(in_files)})"


@dataclass(frozen=True)
class TargetShape:
    """How source rows become target rows."""

    columns: tuple[TargetColumn, ...]
    demands: tuple[Instance, ...]
    """What the table itself asks of a row."""
    new_columns: tuple[Column, ...] = ()
    """Source columns to add to the target first (`on_new_column: add`)."""
    incompatible: str | None = None
    """Why the source cannot be written to the target at all."""


def shape(
    suite: Suite,
    source: TableSchema,
    fields: list[Mapping[str, Any]],
    constraints: Mapping[str, str],
    operational: Mapping[str, str],
) -> TargetShape:
    """Fit source columns to the fields of the target (JSON form, with Delta's metadata).

    `operational` gives the SQL of the columns that Lazaretto fills itself.
    """
    target = TableSchema.from_json({"fields": fields})
    columns: list[TargetColumn] = []
    demands: list[Instance] = []
    problems: list[str] = []
    for field, column in zip(fields, target.columns, strict=True):
        origin = match(source.columns, column.name)
        metadata = field.get("metadata", {})
        generation = metadata.get(GENERATION)
        if column.name in operational:
            value = operational[column.name]
        elif origin is None:
            value = f"cast(({generation}) as {column.type})" if generation else f"cast(NULL as {column.type})"
            if not column.nullable and not generation:
                problems.append(f"the target's column {column.name} may not be NULL and the source has no such column")
        elif (misfit := _misfit(origin, column)) is not None:
            problems.append(misfit)
            value = f"cast(NULL as {column.type})"
        else:
            value = _fitted(origin, column)
            demands += _demands_of_a_column(suite, origin, column, metadata, generation, value)
        columns.append(TargetColumn(column.name, physical_name(field), column.type, value, field))
    for name, condition in constraints.items():
        demands.append(
            _demand(suite, BuiltInTarget, (), condition, f"CHECK {name}: {condition}", "cast(NULL as string)")
        )
    unknown = [c for c in source.columns if match(target.columns, c.name) is None and c.name not in NOT_FOR_THE_TARGET]
    if unknown and suite.on_new_column is OnNewColumn.FAIL:
        problems.append(f"the target does not know: {', '.join(c.name for c in unknown)} (see `on_new_column`)")
    added = tuple(unknown) if suite.on_new_column is OnNewColumn.ADD else ()
    return TargetShape(tuple(columns), tuple(demands), added, "; ".join(problems) or None)


def readable(suite: Suite, refused: str) -> Instance:
    """The demand that a corrected row can be read as it was meant; `refused` is SQL of why not."""
    return _demand(suite, BuiltInCastable, (), f"{refused} IS NULL", "a row that is read as it was meant", refused)


def _misfit(origin: Column, column: Column) -> str | None:
    """Why no value of the source's type could be trusted in the target's; text is judged row by row instead."""
    if fits(origin.type, column.type) or (sql.is_text(origin.type) and not sql.is_nested(column.type)):
        return None
    return f"{column.name} is {origin.type} in the source and {column.type} in the target: a value could be lost"


def _fitted(origin: Column, column: Column) -> str:
    value = sql.identifier(origin.name)
    return value if origin.type == column.type else f"try_cast({value} as {column.type})"


def _demands_of_a_column(
    suite: Suite,
    origin: Column,
    column: Column,
    metadata: Mapping[str, Any],
    generation: str | None,
    value: str,
) -> list[Instance]:
    source = sql.identifier(origin.name)
    found = shown_value(source, origin.type)
    name = (column.name,)
    demands = []
    if origin.type != column.type and not fits(origin.type, column.type):
        castable = f"{source} IS NULL OR {value} IS NOT NULL"
        demands.append(_demand(suite, BuiltInCastable, name, castable, f"a value that fits {column.type}", found))
    if not column.nullable:
        demands.append(_demand(suite, BuiltInTarget, name, f"{value} IS NOT NULL", "NOT NULL", found))
    declared = str(metadata.get(CHAR_VARCHAR, ""))
    if declared.startswith(("varchar(", "char(")):
        limit = int(declared.partition("(")[2].rstrip(")"))
        fitting = f"{value} IS NULL OR length({value}) <= {limit}"
        demands.append(_demand(suite, BuiltInTarget, name, fitting, declared, found))
    if generation:
        agrees = f"{value} <=> cast(({generation}) as {column.type})"
        demands.append(_demand(suite, BuiltInTarget, name, agrees, f"the generated value {generation}", found))
    return demands


def _demand(
    suite: Suite, kind: type[Rule], columns: tuple[str, ...], condition: str, words: str, found: str
) -> Instance:
    """A demand as an instance of the built-in rule it belongs to, configured by the suite if it says so."""
    configured = next((rule for rule in suite.rules if rule.id == kind.name), None)
    rule = configured or kind.model_validate({"id": kind.name, "severity": Severity.HIGH})
    return Instance(
        rule=rule,
        columns=columns,
        # A CHECK that is NULL holds, as SQL has it.
        ok=f"coalesce(({condition}), true)",
        applies=None,
        shown=words,
        actual=found,
        on_fail=rule.on_fail,
        fingerprint=rule_fingerprint(rule),
        version=suite.rule_version(rule),
    )
