"""Does the table have the columns it should? Judged before any row is looked at.

The built-in rules are here as well: they guard every suite without being written down, under reserved ids. A
suite that names one of these ids (and no `check`) sets its severity, owner or thresholds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from lazaretto.checks import sql
from lazaretto.checks.base import listed, sorted_lists
from lazaretto.checks.ddl import fits, parse_type, parsed_or_none
from lazaretto.model import catalogue
from lazaretto.model.rule import Rule, Site
from lazaretto.model.words import Dimension, OnFail, Takes


def _list_of_names(value: Any) -> Any:
    if isinstance(value, str):
        raise ValueError(f"expected a list: [{value}]")
    return value


class Schema(Rule):
    """The table has the columns it must have, of types that fit, and no others if so wished."""

    name: ClassVar[str] = "schema"
    family: ClassVar[str] = "structure"
    takes: ClassVar[Takes] = Takes.NONE
    judges_schema: ClassVar[bool] = True
    default_dimension: ClassVar[Dimension] = Dimension.STRUCTURE
    default_on_fail: ClassVar[OnFail] = OnFail.BLOCK_PUBLICATION
    example: ClassVar[str] = """
        id: transactions_shape
        check: schema
        required: [txn_id, account_id]
        types: {amount: 'decimal(18,2)', booked_at: timestamp}
        unexpected: fail
    """
    note: ClassVar[str] = "Looks at the columns and reads no row."

    required: Annotated[tuple[str, ...], BeforeValidator(_list_of_names)] = ()
    """Columns that must be there, of any type; `address.city` is a nested field."""
    types: dict[str, str] = Field(default_factory=dict)
    """Columns that must be there and their types; a narrower one (int for bigint) fits as well."""
    unexpected: Literal["allow", "fail"] = "allow"
    """fail: no columns but those listed under `required` and `types`."""

    @field_validator("types")
    @classmethod
    def _types_exist(cls, value: dict[str, str]) -> dict[str, str]:
        types = {}
        for column, written in value.items():
            try:
                types[column] = str(parse_type(written))
            except ValueError as reason:
                raise ValueError(f"{column}: {reason}") from None
        return types

    @model_validator(mode="after")
    def _asks_something(self) -> Schema:
        if not self.required and not self.types:
            raise ValueError("a schema needs `required`, `types` or both")
        return self

    def judge(self, columns: Mapping[str, str]) -> str | None:
        """What is wrong with a table of these columns (name → type), in a sentence; None if nothing is."""
        findings = []
        if missing := [name for name in self._wanted() if _type_at(name, columns) is None]:
            findings.append(f"missing: {', '.join(_with_hint(name, columns) for name in missing)}")
        for name, wanted in self.types.items():
            actual = _type_at(name, columns)
            if actual is not None and not fits(actual, wanted):
                findings.append(f"{name} is {actual}, which does not fit {wanted}")
        if self.unexpected == "fail":
            known = {name.casefold() for name in self._wanted()} | {
                name.partition(".")[0].casefold() for name in self._wanted()
            }
            if extra := [name for name in columns if name.casefold() not in known]:
                findings.append(f"unexpected: {', '.join(extra)}")
        return "; ".join(findings) or None

    def expects(self) -> str:
        columns = [f"{name} {self.types[name]}" if name in self.types else name for name in self._wanted()]
        return f"the columns {listed(columns, 30)}" + (" and no others" if self.unexpected == "fail" else "")

    def canonical_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return sorted_lists(parameters, ["required"])

    def _wanted(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.required, *self.types)))


class _BuiltIn(Rule):
    """A rule that is in every suite; its id is the check's name."""

    family: ClassVar[str] = "built-in"
    takes: ClassVar[Takes] = Takes.NONE
    default_dimension: ClassVar[Dimension] = Dimension.STRUCTURE

    @model_validator(mode="after")
    def _id_is_reserved(self) -> _BuiltIn:
        if self.id != self.name:
            raise ValueError(f"the built-in rule {self.name} keeps its id: write id: {self.name}")
        return self


class BuiltInUnparseable(_BuiltIn):
    """The source could be read as a row; what could not is kept as it came."""

    name: ClassVar[str] = "lz.unparseable"
    example: ClassVar[str] = """
        id: lz.unparseable
        severity: high
        block_above: 1%
    """

    def passes(self, site: Site) -> str:
        return f"{site.value} IS NULL"

    def expects(self) -> str:
        return "a row that can be parsed"


class BuiltInSchemaId(_BuiltIn):
    """Every framed message names a schema that the source knows."""

    name: ClassVar[str] = "lz.schema_id"
    default_on_fail: ClassVar[OnFail] = OnFail.BLOCK_PUBLICATION
    example: ClassVar[str] = """
        id: lz.schema_id
        severity: high
        on_fail: quarantine_records
    """

    def passes(self, site: Site) -> str:
        return f"{site.value} IS NULL"

    def expects(self) -> str:
        return "a schema id that `source: {schemas: …}` knows"


class BuiltInFile(_BuiltIn):
    """A file drop is complete and what it says it is; asked before anybody reads it as data."""

    name: ClassVar[str] = "lz.file"
    judges_schema: ClassVar[bool] = True
    default_on_fail: ClassVar[OnFail] = OnFail.QUARANTINE_BATCH
    example: ClassVar[str] = """
        id: lz.file
        severity: critical
    """

    def expects(self) -> str:
        return "a complete file that is what its header, trailer or manifest says, and that did not come before"


class BuiltInWindow(_BuiltIn):
    """No window of the stream asks to hold its batches (`stream: {windows: [{action: hold, …}]}`)."""

    name: ClassVar[str] = "lz.window"
    judges_schema: ClassVar[bool] = True
    default_on_fail: ClassVar[OnFail] = OnFail.BLOCK_PUBLICATION
    example: ClassVar[str] = """
        id: lz.window
        severity: critical
    """

    def expects(self) -> str:
        return "windows over the batches before this one that ask for no hold"


class BuiltInCastable(_BuiltIn):
    """Every value fits the type of its column in the target."""

    name: ClassVar[str] = "lz.castable"
    example: ClassVar[str] = """
        id: lz.castable
        severity: high
        owner: payments-data
    """

    def passes(self, site: Site) -> str:
        # The site's type is the target's here: whether the value is of that type is the question.
        return sql.decided(site.value, f"try_cast({site.value} as {site.type}) IS NOT NULL")

    def expects(self) -> str:
        return "a value that fits the target's type"


class BuiltInTarget(_BuiltIn):
    """The row keeps what the target itself declares: NOT NULL, CHECK, lengths, generated columns."""

    name: ClassVar[str] = "lz.target"
    example: ClassVar[str] = """
        id: lz.target
        severity: critical
        owner: platform
    """

    def expects(self) -> str:
        return "what the target's own constraints demand"


class BuiltInSchema(_BuiltIn):
    """The columns that the rules of the suite need are there."""

    name: ClassVar[str] = "lz.schema"
    judges_schema: ClassVar[bool] = True
    default_on_fail: ClassVar[OnFail] = OnFail.BLOCK_PUBLICATION
    example: ClassVar[str] = """
        id: lz.schema
        severity: critical
        runbook: https://wiki.example.com/dq/schema
    """

    def judge(self, columns: Mapping[str, str], needed: Sequence[str] = ()) -> str | None:
        """Which of the columns needed are missing, in a sentence; None if all are there."""
        missing = [name for name in needed if _type_at(name, columns) is None]
        return f"missing: {', '.join(_with_hint(name, columns) for name in missing)}" if missing else None

    def expects(self) -> str:
        return "all columns that the rules need"


def _type_at(name: str, columns: Mapping[str, str]) -> str | None:
    """Type of a column, or of a nested field if no column has that very name; case does not matter."""
    folded = {known.casefold(): type_name for known, type_name in columns.items()}
    if name in columns:
        return columns[name]
    if name.casefold() in folded:
        return folded[name.casefold()]
    head, dot, rest = name.rpartition(".")
    outer = _type_at(head, columns) if dot else None
    parsed = parsed_or_none(outer) if outer is not None else None
    if parsed is None or parsed.name != "struct":
        return None
    return next((str(part) for field, part in parsed.parts if field.casefold() == rest.casefold()), None)


def _with_hint(name: str, columns: Mapping[str, str]) -> str:
    near = catalogue.nearest(name, columns)
    return f"{name} (there is {near})" if near else name
