"""Is the value within its limits?"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from lazaretto.checks import sql
from lazaretto.checks.operands import as_moment, is_number, misfit_for_order, operand_sql, operand_words
from lazaretto.model.rule import Rule, Site
from lazaretto.model.values import ColumnRef, OperandField


class Range(Rule):
    """The value lies between two bounds, either of which may be missing: numbers, dates or other columns."""

    name: ClassVar[str] = "range"
    family: ClassVar[str] = "bounds"
    example: ClassVar[str] = """
        id: amount_in_range
        check: range
        column: amount
        min: 0
        max: 1_000_000
        where: currency = 'AED'
    """

    min: OperandField | None = None
    """Lower bound: a number, a date, or {column: name}."""
    max: OperandField | None = None
    """Upper bound: a number, a date, or {column: name}."""
    open: bool = False
    """True: the bounds themselves are not allowed."""

    @model_validator(mode="after")
    def _bounds_make_sense(self) -> Range:
        if self.min is None and self.max is None:
            raise ValueError("a range needs `min`, `max` or both")
        low, high = as_moment(self.min), as_moment(self.max)
        if _comparable(low, high):
            if low > high:
                raise ValueError(f"min {self.min} is greater than max {self.max}: no value could pass")
            if low == high and self.open:
                raise ValueError(f"min and max are both {self.min} and not allowed themselves: no value could pass")
        return self

    def passes(self, site: Site) -> str:
        above, below = (">", "<") if self.open else (">=", "<=")
        conditions = []
        if self.min is not None:
            conditions.append(f"{site.value} {above} {operand_sql(self.min, site)}")
        if self.max is not None:
            conditions.append(f"{site.value} {below} {operand_sql(self.max, site)}")
        if sql.is_float(site.type):
            conditions.append(f"NOT isnan({site.value})")  # NaN would pass every lower bound
        elif sql.is_text(site.type) and any(isinstance(b, int | Decimal) for b in (self.min, self.max)):
            conditions.append(f"NOT isnan(cast({site.value} as double))")  # and so would the text "NaN"
        return sql.conjunction(conditions)

    def expects(self) -> str:
        sign = ("> ", "< ") if self.open else (">= ", "<= ")
        low = f"{sign[0]}{operand_words(self.min)}" if self.min is not None else ""
        high = f"{sign[1]}{operand_words(self.max)}" if self.max is not None else ""
        return " and ".join(part for part in (low, high) if part)

    def mentions(self) -> tuple[str, ...]:
        return tuple(bound.column for bound in (self.min, self.max) if isinstance(bound, ColumnRef))

    def misfit(self, type_name: str | None) -> str | None:
        return misfit_for_order(type_name)


class Length(Rule):
    """The text has so many characters (an array or map so many elements, binary data so many bytes)."""

    name: ClassVar[str] = "length"
    family: ClassVar[str] = "bounds"
    example: ClassVar[str] = """
        id: swift_message_fits
        check: length
        column: remittance_info
        max: 140
    """

    min: Annotated[int, Field(ge=0)] | None = None
    """Fewest characters (elements, entries, bytes)."""
    max: Annotated[int, Field(ge=0)] | None = None
    """Most characters (elements, entries, bytes)."""

    @model_validator(mode="after")
    def _bounds_make_sense(self) -> Length:
        if self.min is None and self.max is None:
            raise ValueError("a length needs `min`, `max` or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is greater than max {self.max}: no value could pass")
        return self

    def passes(self, site: Site) -> str:
        size = _size(site)
        conditions = []
        if self.min is not None:
            conditions.append(f"{size} >= {self.min}")
        if self.max is not None:
            conditions.append(f"{size} <= {self.max}")
        return sql.conjunction(conditions)

    def expects(self) -> str:
        if self.min == self.max:
            return f"a length of {self.min}"
        if self.max is None:
            return f"a length of at least {self.min}"
        return f"a length of at most {self.max}" if not self.min else f"a length from {self.min} to {self.max}"

    def misfit(self, type_name: str | None) -> str | None:
        if sql.is_nested(type_name) and not sql.is_collection(type_name):
            return f"a {str(type_name).partition('<')[0]} has no length; name one of its fields"
        return None


def _size(site: Site) -> str:
    if sql.is_collection(site.type):
        return sql.element_count(site.value, site.type)
    if site.type == "binary":
        return f"length({site.value})"
    return f"length({sql.as_text(site.value, site.type)})"


def _comparable(low: Any, high: Any) -> bool:
    """Whether both are literals of one kind, so that it can be told now which is greater."""
    if is_number(low) and is_number(high):
        return True
    if type(low) is not type(high) or not isinstance(low, date):
        return False
    return not isinstance(low, datetime) or (low.tzinfo is None) == (high.tzinfo is None)
