"""Operands of comparisons: a literal, or another column of the row."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from lazaretto.checks import sql
from lazaretto.model.rule import Site
from lazaretto.model.values import ColumnRef


def operand_sql(operand: Any, site: Site) -> str:
    """SQL of an operand compared with the site's value."""
    if isinstance(operand, ColumnRef):
        return site.resolve(operand.column)[0]
    if is_number(operand):
        # Compared as a number even with text: '9' is less than 10. A whole literal would make Spark read the
        # text as a whole number too, and '9.5' throw; a decimal one does not.
        return sql.literal(Decimal(operand) if sql.is_text(site.type) else operand)
    return sql.literal(operand, site.type)


def operand_words(operand: Any) -> str:
    """An operand as a person reads it."""
    return f"column {operand.column}" if isinstance(operand, ColumnRef) else sql.plain(operand)


def is_number(operand: Any) -> bool:
    """Whether this is a literal number."""
    return isinstance(operand, int | Decimal) and not isinstance(operand, bool)


def as_moment(operand: Any) -> Any:
    """The date that a text in ISO form means; ValueError for one on no calendar, such as 2024-02-30."""
    if not isinstance(operand, str):
        return operand
    try:
        return sql.parse_moment(operand) or operand
    except ValueError as reason:
        raise ValueError(f"{operand} is not a date: {reason}") from None


def misfit_for_order(type_name: str | None) -> str | None:
    """Why values of this type cannot be compared by size, or None."""
    if sql.is_nested(type_name) or type_name == "binary":
        return f"values of type {type_name} have no order; name a field or element of it"
    return None
