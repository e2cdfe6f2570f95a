"""Small values that rules are made of, each with its one spelling."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema


@dataclass(frozen=True)
class Location:
    """Where in a file something was written; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Threshold:
    """How many failing rows are too many: a share of the rows checked, or a number of rows."""

    value: Decimal
    is_rate: bool

    def exceeded_by(self, failed: int, checked: int) -> bool:
        """Whether `failed` of `checked` rows is more than this allows."""
        if self.is_rate:
            return failed > self.value * checked
        return failed > self.value

    def __str__(self) -> str:
        return f"{_plain(self.value * 100)}%" if self.is_rate else _plain(self.value)


_RATE = re.compile(r"\A\s*(\d+(?:\.\d+)?)\s*%\s*\Z")
_COUNT = re.compile(r"\A\s*(\d[\d_]*)\s*\Z")


def _plain(number: Decimal) -> str:
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def parse_threshold(raw: Any) -> Any:
    """Read `5%` as a rate and `100` as a count; a bare fraction is ambiguous and refused."""
    if isinstance(raw, Threshold):
        return raw
    if isinstance(raw, str) and (rate := _RATE.match(raw)):
        share = Decimal(rate.group(1)) / 100
        if share > 1:
            raise ValueError(f"{raw} is more than all rows; expected a rate from 0% to 100%")
        return Threshold(share, True)
    if isinstance(raw, str) and (count := _COUNT.match(raw)):
        return Threshold(Decimal(count.group(1).replace("_", "")), False)
    if isinstance(raw, int) and not isinstance(raw, bool) and raw >= 0:
        return Threshold(Decimal(raw), False)
    if isinstance(raw, float | Decimal) and 0 < raw < 1:
        raise ValueError(f"{raw} is ambiguous; write a rate as {_plain(Decimal(str(raw)) * 100)}%")
    raise ValueError("expected a rate such as 5% or a number of rows such as 100")


ThresholdField = Annotated[
    Threshold,
    BeforeValidator(parse_threshold),
    PlainSerializer(str),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*%\s*$"},
                {"type": "integer", "minimum": 0},
            ],
            "examples": ["5%", 100],
        }
    ),
]


def parse_rate(raw: Any) -> Any:
    """A threshold that must be a share of the batch."""
    threshold = parse_threshold(raw)
    if not threshold.is_rate:
        raise ValueError(f"expected a rate such as 1%, not the number {raw}")
    return threshold


RateField = Annotated[
    Threshold,
    BeforeValidator(parse_rate),
    PlainSerializer(str),
    WithJsonSchema({"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*%\s*$", "examples": ["1%"]}),
]


_TABLE = re.compile(r"\A[^\s./]+(\.[^\s./]+){1,2}\Z")


def _names_a_table(value: str) -> str:
    if not _TABLE.match(value):
        raise ValueError("expected schema.table (or catalog.schema.table)")
    return value


def _is_a_version(value: str) -> str:
    if not value.strip():
        raise ValueError("expected a version such as 1.0.0")
    return value


TableName = Annotated[str, AfterValidator(_names_a_table)]
Version = Annotated[str, AfterValidator(_is_a_version)]
OneOrMany = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]
"""Names, of which a single one may be written without brackets."""


class ColumnRef(BaseModel):
    """`{column: name}` where a literal could stand: the value of that column of the same row."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    column: str = Field(min_length=1, description="Name of a column of the same row.")

    def __str__(self) -> str:
        return self.column


def parse_literal(raw: Any) -> Any:
    """Keep a scalar as it was written: numbers exact, everything else text or a date."""
    if isinstance(raw, float):
        try:
            raw = Decimal(repr(raw))
        except InvalidOperation:  # pragma: no cover - repr of a float is always a number
            raise ValueError(f"{raw} is not a number") from None
    if isinstance(raw, Decimal) and not raw.is_finite():
        raise ValueError("expected a finite number")
    if isinstance(raw, bool | int | Decimal | str | date | datetime):
        return raw
    raise ValueError("expected a single value (text, number, date or true/false)")


Literal_ = bool | int | Decimal | str | date | datetime
"""A value a steward may write where a literal is expected."""

_SCALAR_SCHEMA = {"type": ["string", "number", "boolean"]}

LiteralField = Annotated[Any, BeforeValidator(parse_literal), WithJsonSchema(_SCALAR_SCHEMA)]


def parse_operand(raw: Any) -> Any:
    """A literal, or a reference to another column."""
    if isinstance(raw, ColumnRef):
        return raw
    if isinstance(raw, dict):
        if set(raw) == {"column"} and isinstance(raw["column"], str) and raw["column"]:
            return ColumnRef(column=raw["column"])
        raise ValueError("expected a value, or {column: name}")
    return parse_literal(raw)


OperandField = Annotated[
    Any,
    BeforeValidator(parse_operand),
    WithJsonSchema({"anyOf": [_SCALAR_SCHEMA, ColumnRef.model_json_schema()]}),
]


def canonical(value: Any) -> Any:
    """A JSON-ready form in which equal meanings are equal text (0 and 0.0, dates and their ISO text)."""
    if isinstance(value, Threshold):
        return str(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | Decimal):
        return {"number": _plain(Decimal(value).normalize() + 0)}  # never equal to the text "1"
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, BaseModel):
        return {k: canonical(v) for k, v in value if v is not None}
    if isinstance(value, dict):
        return {str(k): canonical(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(v) for v in value]
    if isinstance(value, set | frozenset):
        return sorted((canonical(v) for v in value), key=repr)
    return str(value)
