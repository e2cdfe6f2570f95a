"""Is the value one of a list?"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from lazaretto.checks import sql
from lazaretto.checks.base import TextRule, listed, sorted_lists, text_of
from lazaretto.checks.operands import is_number
from lazaretto.model.rule import Site
from lazaretto.model.values import LiteralField


def _no_null(value: Any) -> Any:
    if isinstance(value, str):
        raise ValueError(f"expected a list: [{value}]")
    if isinstance(value, list | tuple) and None in value:
        raise ValueError("NULL is not a value: leave it out and say `on_null: pass` or `on_null: fail`")
    return value


Values = Annotated[tuple[LiteralField, ...], Field(min_length=1), BeforeValidator(_no_null)]


class _ListRule(TextRule):
    """What both lists share."""

    family: ClassVar[str] = "sets"

    ignore_case: bool = False
    """True: capital and small letters are the same."""
    trim: bool = False
    """True: blanks around the value do not matter."""

    def member(self, values: tuple[Any, ...], site: Site) -> str:
        """SQL: the value is in the list."""
        if not (self.ignore_case or self.trim):
            # Without a known type, text is the best guess for a list of texts, dates included.
            guess = "string" if site.type is None and all(isinstance(v, str) for v in values) else site.type
            return f"{site.value} IN ({sql.literals(dict.fromkeys(values), guess)})"
        texts = dict.fromkeys(self._levelled(sql.text(sql.plain(value))) for value in values)
        return f"{self._levelled(text_of(site))} IN ({', '.join(texts)})"

    def _levelled(self, text: str) -> str:
        text = f"trim({text})" if self.trim else text
        return f"lower({text})" if self.ignore_case else text

    def misfit_of(self, values: tuple[Any, ...], type_name: str | None) -> str | None:
        """Why these values cannot be compared with a column of this type."""
        if sql.is_number(type_name) and not (self.ignore_case or self.trim):
            for value in values:
                if not is_number(value):
                    return f"the column is {type_name}, and {sql.plain(value)!r} in the list is not a number"
        if sql.is_time(type_name) and not (self.ignore_case or self.trim):
            for value in values:
                if sql.moment(value) is None:
                    return f"the column is {type_name}, and {sql.plain(value)!r} in the list is no date or time"
        return super().misfit(type_name)


class AllowedValues(_ListRule):
    """The value is one of a list."""

    name: ClassVar[str] = "allowed_values"
    example: ClassVar[str] = """
        id: status_known
        check: allowed_values
        column: status
        allowed: [OPEN, CLOSED, SUSPENDED]
    """

    allowed: Values
    """The values that may occur."""

    def passes(self, site: Site) -> str:
        return self.member(self.allowed, site)

    def expects(self) -> str:
        return f"one of {listed([sql.plain(v) for v in self.allowed])}"

    def misfit(self, type_name: str | None) -> str | None:
        return self.misfit_of(self.allowed, type_name)

    def canonical_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return sorted_lists(parameters, ["allowed"])


class ForbiddenValues(_ListRule):
    """The value is none of a list, such as the placeholders that stand for a missing one."""

    name: ClassVar[str] = "forbidden_values"
    example: ClassVar[str] = """
        id: no_placeholder_names
        check: forbidden_values
        column: customer_name
        forbidden: [N/A, UNKNOWN, TEST, '-']
        ignore_case: true
        trim: true
    """

    forbidden: Values
    """The values that may not occur."""

    def passes(self, site: Site) -> str:
        return f"NOT ({self.member(self.forbidden, site)})"

    def expects(self) -> str:
        return f"none of {listed([sql.plain(v) for v in self.forbidden])}"

    def misfit(self, type_name: str | None) -> str | None:
        return self.misfit_of(self.forbidden, type_name)

    def canonical_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return sorted_lists(parameters, ["forbidden"])
