"""Does the value stand in the right relation to another?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, WithJsonSchema, model_validator

from lazaretto.checks import sql
from lazaretto.checks.operands import as_moment, is_number, misfit_for_order, operand_sql, operand_words
from lazaretto.model.rule import Rule, Site
from lazaretto.model.values import ColumnRef, LiteralField, parse_operand
from lazaretto.model.words import Dimension

_PERCENT = re.compile(r"\A\s*(\d+(?:\.\d+)?)\s*%\s*\Z", re.ASCII)
_NUMBER = re.compile(r"\A\s*\d+(?:\.\d+)?\s*\Z", re.ASCII)


class Value(BaseModel):
    """`{value: text}` where a plain text would name a column."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    value: LiteralField


@dataclass(frozen=True)
class Tolerance:
    """How far values may lie apart: a number, or a share of the other value."""

    amount: Decimal
    is_share: bool

    def __str__(self) -> str:
        return f"{self.amount * 100:f}".rstrip("0").rstrip(".") + "%" if self.is_share else f"{self.amount:f}"


def _parse_other(raw: Any) -> Any:
    if isinstance(raw, Value | ColumnRef):
        return raw
    if isinstance(raw, str):
        return as_moment(raw) if as_moment(raw) != raw else parse_operand({"column": raw})
    if isinstance(raw, dict) and set(raw) == {"value"}:
        return Value(value=raw["value"])
    if isinstance(raw, dict) and set(raw) != {"column"}:
        raise ValueError("expected a column's name, a number, a date, {column: name} or {value: text}")
    return parse_operand(raw)


def _parse_tolerance(raw: Any) -> Any:
    if isinstance(raw, Tolerance):
        return raw
    if isinstance(raw, str) and (share := _PERCENT.match(raw)):
        return Tolerance(Decimal(share.group(1)) / 100, True)
    if isinstance(raw, float):
        raw = Decimal(repr(raw))
    if isinstance(raw, str) and _NUMBER.match(raw):
        raw = Decimal(raw.strip())
    if is_number(raw) and Decimal(raw).is_finite() and raw >= 0:
        return Tolerance(Decimal(raw), False)
    raise ValueError("expected a number such as 0.01, or a share of the other value such as 1%")


OtherField = Annotated[
    Any,
    BeforeValidator(_parse_other),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": ["string", "number", "boolean"]},
                ColumnRef.model_json_schema(),
                {
                    "type": "object",
                    "properties": {"value": {"type": ["string", "number", "boolean"]}},
                    "required": ["value"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]
ToleranceField = Annotated[
    Tolerance,
    BeforeValidator(_parse_tolerance),
    PlainSerializer(str),
    WithJsonSchema({"type": ["number", "string"], "examples": [0.01, "1%"]}),
]


class Compare(Rule):
    """The value equals, exceeds or undercuts another column or a fixed value."""

    name: ClassVar[str] = "compare"
    family: ClassVar[str] = "comparison"
    default_dimension: ClassVar[Dimension] = Dimension.CONSISTENCY
    example: ClassVar[str] = """
        id: settled_after_trade
        check: compare
        column: settlement_date
        operator: '>='
        other: trade_date
    """

    operator: Literal["=", "!=", "<", "<=", ">", ">="]
    """One of =, !=, <, <=, >, >= (in quotes)."""
    other: OtherField
    """A column's name, a number or a date; {value: text} for a fixed text, {column: name} for any column."""
    tolerance: ToleranceField | None = None
    """How far apart still counts as equal: a number, or a share of the other value (1%)."""

    @model_validator(mode="after")
    def _tolerance_fits(self) -> Compare:
        if self.tolerance is not None and not (is_number(self._fixed()) or isinstance(self.other, ColumnRef)):
            raise ValueError(f"a tolerance is for numbers, and {operand_words(self._fixed())} is none")
        return self

    def passes(self, site: Site) -> str:
        other = operand_sql(self._fixed(), site)
        condition = f"{site.value} {self.operator} {other}" if self.tolerance is None else self._nearly(site, other)
        if sql.is_float(site.type) and self.operator in (">", ">="):
            return f"{condition} AND NOT isnan({site.value})"  # NaN is greater than any number
        return condition

    def _nearly(self, site: Site, other: str) -> str:
        assert self.tolerance is not None
        slack = sql.literal(self.tolerance.amount)
        if self.tolerance.is_share:
            slack = f"{slack} * abs({other})"
        match self.operator:
            case "=":
                return f"abs({site.value} - {other}) <= {slack}"
            case "!=":
                return f"abs({site.value} - {other}) > {slack}"
            case "<" | "<=":
                return f"{site.value} {self.operator} {other} + {slack}"
            case _:
                return f"{site.value} {self.operator} {other} - {slack}"

    def expects(self) -> str:
        within = f" (within {self.tolerance})" if self.tolerance is not None else ""
        return f"{self.operator} {operand_words(self._fixed())}{within}"

    def mentions(self) -> tuple[str, ...]:
        return (self.other.column,) if isinstance(self.other, ColumnRef) else ()

    def misfit(self, type_name: str | None) -> str | None:
        if self.tolerance is not None and (sql.is_time(type_name) or type_name == "boolean"):
            return f"a tolerance is for numbers, and the column is a {type_name}"
        return None if self.operator in ("=", "!=") else misfit_for_order(type_name)

    def _fixed(self) -> Any:
        return self.other.value if isinstance(self.other, Value) else self.other
