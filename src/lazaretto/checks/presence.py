"""Is there a value at all?"""

from __future__ import annotations

from typing import ClassVar

from lazaretto.checks import sql
from lazaretto.model.rule import Rule, Site
from lazaretto.model.words import Dimension, OnNull


class NotNull(Rule):
    """The value is there."""

    name: ClassVar[str] = "not_null"
    family: ClassVar[str] = "presence"
    default_dimension: ClassVar[Dimension] = Dimension.COMPLETENESS
    default_on_null: ClassVar[OnNull] = OnNull.FAIL
    example: ClassVar[str] = """
        id: txn_id_present
        check: not_null
        columns: [txn_id, account_id]
    """

    def passes(self, site: Site) -> str:
        return _there(site)

    def expects(self) -> str:
        return "a value"


class NotEmpty(Rule):
    """The value is there and holds something: no blank string, no empty array or map."""

    name: ClassVar[str] = "not_empty"
    family: ClassVar[str] = "presence"
    default_dimension: ClassVar[Dimension] = Dimension.COMPLETENESS
    default_on_null: ClassVar[OnNull] = OnNull.FAIL
    example: ClassVar[str] = """
        id: name_given
        check: not_empty
        column: customer_name
    """

    def passes(self, site: Site) -> str:
        if sql.is_collection(site.type):
            return f"{sql.element_count(site.value, site.type)} > 0"
        # \S sees every kind of white space, where trim() sees only blanks.
        return f"{sql.as_text(site.value, site.type)} RLIKE r'(?U)\\S'"

    def expects(self) -> str:
        return "a value that is not blank or empty"


class IsNull(Rule):
    """There is no value: for fields that must stay empty, such as the closing date of an open account."""

    name: ClassVar[str] = "is_null"
    family: ClassVar[str] = "presence"
    default_dimension: ClassVar[Dimension] = Dimension.CONSISTENCY
    example: ClassVar[str] = """
        id: open_accounts_have_no_closing_date
        check: is_null
        column: closed_at
        where: status = 'OPEN'
    """

    def passes(self, site: Site) -> str:
        return f"NOT ({_there(site)})"

    def expects(self) -> str:
        return "no value"


def _there(site: Site) -> str:
    there = f"{site.value} IS NOT NULL"
    # A variant may hold the null of JSON, which SQL does not see as NULL.
    return f"{there} AND NOT is_variant_null({site.value})" if site.type == "variant" else there
