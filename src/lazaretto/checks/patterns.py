"""Does the text have the right form?"""

from __future__ import annotations

from typing import ClassVar

from pydantic import model_validator

from lazaretto.checks import sql
from lazaretto.checks.backtracking import check_pattern
from lazaretto.checks.base import TextRule, text_of
from lazaretto.checks.moments import DatePattern, reads_as_moment
from lazaretto.model.rule import Site


class Regex(TextRule):
    r"""The text matches a regular expression, as a whole unless `search` is set.

    The syntax is Java's. Patterns that could run for ever on some value, such as `(a+)+`, are refused.
    """

    name: ClassVar[str] = "regex"
    family: ClassVar[str] = "patterns"
    example: ClassVar[str] = r"""
        id: account_id_form
        check: regex
        column: account_id
        pattern: 'AC[0-9]{8}'
    """
    note: ClassVar[str] = "Cost grows with the length of the text; prefer classes such as [0-9] to .* where you can."

    pattern: str
    """The regular expression, in Java's syntax; `^` and `$` are not needed."""
    search: bool = False
    """True: it is enough that the pattern is found somewhere in the text."""
    ignore_case: bool = False
    """True: capital and small letters are the same."""

    @model_validator(mode="after")
    def _pattern_is_sound(self) -> Regex:
        check_pattern(self.pattern, self.ignore_case)
        return self

    def passes(self, site: Site) -> str:
        flags = "(?iu)" if self.ignore_case else ""
        if self.search:
            return sql.matches(text_of(site), flags + self.pattern)
        return sql.matches_whole(text_of(site), self.pattern, flags)

    def expects(self) -> str:
        return f"text {'containing' if self.search else 'matching'} {self.pattern}"


class DateFormat(TextRule):
    """The text is a date or time written in one given way, and one that exists: no 30th of February."""

    name: ClassVar[str] = "date_format"
    family: ClassVar[str] = "patterns"
    example: ClassVar[str] = """
        id: booking_date_form
        check: date_format
        column: booking_date
        pattern: yyyy-MM-dd
    """

    pattern: DatePattern
    """Spark's date pattern, e.g. yyyy-MM-dd or dd/MM/yyyy HH:mm:ss."""

    def passes(self, site: Site) -> str:
        return sql.decided(site.value, reads_as_moment(text_of(site), self.pattern))

    def expects(self) -> str:
        return f"a date or time written as {self.pattern}"

    def misfit(self, type_name: str | None) -> str | None:
        if sql.is_time(type_name):
            return f"the column is a {type_name} already, and not written in any form"
        return super().misfit(type_name)
