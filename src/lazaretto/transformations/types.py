"""Steps that read a value as one of another type."""

from __future__ import annotations

from typing import ClassVar

from pydantic import model_validator

from lazaretto.checks import sql
from lazaretto.checks.types import Castable, TypeName
from lazaretto.model.rule import Site
from lazaretto.transformations.characters import TextTransformation, text_of


class Cast(TextTransformation):
    """Reads the text as a number, date or other type; a text that cannot be read so is left to others.

    The result is then written as the column's own type writes it: a date in a text column as 2026-12-31.
    """

    name: ClassVar[str] = "cast"
    family: ClassVar[str] = "types"
    example: ClassVar[str] = """
        transform: cast
        column: booking_date
        type: date
        format: dd/MM/yyyy
    """
    note: ClassVar[str] = "Without a `format` Spark's cast decides; a number is never rounded to fit."

    type: TypeName
    """Spark's name of the type: int, bigint, decimal(18,2), double, date, timestamp, boolean …"""
    format: str | None = None
    """How the text is written: a date pattern (dd/MM/yyyy), or for numbers a mask ($999,999.99)."""

    @model_validator(mode="after")
    def _format_fits_the_type(self) -> Cast:
        self._readable()
        return self

    def _readable(self) -> Castable:
        """The check that asks the same of a value."""
        return Castable.model_validate({"id": "cast", "column": self.column, "type": self.type, "format": self.format})

    def applies(self, site: Site) -> str:
        readable = self._readable().passes(Site(text_of(site), "string"))
        return f"coalesce({readable}, false) AND {self._exact(site)}"

    def value(self, site: Site) -> str:
        return f"try_cast({self._read(site)} as {self.type})"

    def _read(self, site: Site) -> str:
        text = text_of(site)
        if self.format is None:
            return text
        if sql.is_time(self.type):
            return f"try_to_timestamp({text}, {sql.text(self.format)})"
        return f"try_to_number({text}, {sql.text(self.format)})"

    def _exact(self, site: Site) -> str:
        return exactly(self._read(site), "string" if self.format is None else None, self.type)


def exactly(value: str, given: str | None, wanted: str) -> str:
    """SQL, never NULL: a value can be had in the wanted type without losing digits. `given` is its type, if known."""
    read = f"try_cast({value} as {wanted})"
    if given == wanted or sql.is_text(wanted):
        return "true"
    if wanted.startswith("decimal"):
        digits, _, scale = wanted.removeprefix("decimal").strip("()").partition(",")
        whole = int(digits or 10) - int(scale or 0)
        roomy = f"try_cast({value} as decimal(38,{38 - whole}))"
        return f"({value} IS NULL OR coalesce({roomy} = {read}, false))"
    if (sql.is_number(given) and not sql.is_text(wanted)) or (sql.is_time(given) and sql.is_time(wanted)):
        return f"({value} IS NULL OR coalesce(try_cast({read} as {given}) = {value}, false))"
    return f"({value} IS NULL OR {read} IS NOT NULL)"
