"""Can the value be read as a value of another type?"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from pydantic import AfterValidator, model_validator

from lazaretto.checks import sql
from lazaretto.checks.base import TextRule, text_of
from lazaretto.checks.ddl import parse_type
from lazaretto.checks.moments import check_date_pattern, reads_as_moment
from lazaretto.model.rule import Site

_NUMBER_FORMAT = re.compile(r"(?:MI|S)?[$]?[09,G]*(?:[.D][09]+)?[$]?(?:MI|S|PR)?", re.IGNORECASE)


def _canonical_type(written: str) -> str:
    found = parse_type(written)
    if found.parts:
        raise ValueError(f"expected a simple type, not {found.name}")
    return str(found)


TypeName = Annotated[str, AfterValidator(_canonical_type)]


class Castable(TextRule):
    """The value can be read as a number, date or other type. What cannot is a failure, not an error.

    Without a `format`, Spark's cast decides: it also reads `2024-01` as a date and `yes` as a boolean, and it
    rounds decimals.
    """

    name: ClassVar[str] = "castable"
    family: ClassVar[str] = "types"
    example: ClassVar[str] = """
        id: amount_is_a_number
        check: castable
        column: amount_text
        type: decimal(18,2)
    """
    note: ClassVar[str] = (
        "Spark's cast reads 2024-01 as a date and yes as a boolean, and rounds decimals; `format` is strict."
    )

    type: TypeName
    """Spark's name of the type: int, bigint, decimal(18,2), double, date, timestamp, boolean …"""
    format: str | None = None
    """How the text must be written: a date pattern (dd/MM/yyyy), or for numbers a mask (999,999.99)."""

    @model_validator(mode="after")
    def _format_fits_the_type(self) -> Castable:
        if self.format is None:
            return self
        if sql.is_time(self.type):
            check_date_pattern(self.format)
        elif sql.is_number(self.type):
            if not _NUMBER_FORMAT.fullmatch(self.format) or not re.search("[09]", self.format):
                raise ValueError("expected a mask of 9, 0, comma, point, $, S or MI for a number, such as 999,999.99")
        else:
            raise ValueError(f"the type {self.type} takes no `format`")
        return self

    def passes(self, site: Site) -> str:
        return sql.decided(site.value, self._readable(site))

    def _readable(self, site: Site) -> str:
        if self.format is not None and sql.is_time(self.type):
            return reads_as_moment(text_of(site), self.format)
        if self.format is not None:
            number = f"try_to_number({text_of(site)}, {sql.text(self.format)})"
            return f"try_cast({number} as {self.type}) IS NOT NULL"
        readable = f"try_cast({site.value} as {self.type}) IS NOT NULL"
        if sql.is_time(self.type) and (site.type is None or sql.is_text(site.type)):
            # Spark reads 'today', 'now' and 'epoch' as dates.
            return f"{readable} AND {sql.matches(text_of(site), r'[0-9]')}"
        return readable

    def expects(self) -> str:
        return f"a value readable as {self.type}" + (f" in the form {self.format}" if self.format else "")

    def misfit(self, type_name: str | None) -> str | None:
        if sql.is_time(type_name) and (sql.is_number(self.type) or self.type == "boolean"):
            return f"a {type_name} cannot be read as {self.type}"
        if type_name == "binary" and not (sql.is_text(self.type) or self.type == "binary"):
            return f"binary data cannot be read as {self.type}"
        return super().misfit(type_name)
