"""Steps that mend how a value is written."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from lazaretto.checks import sql
from lazaretto.checks.backtracking import check_pattern
from lazaretto.model.correction import Transformation
from lazaretto.model.rule import Site

_BLANK = r"[\s\p{Z}\x{FEFF}]"
_AT_BEGIN = rf"\A{_BLANK}+"
# Looking back keeps the search linear: a run of blanks is entered at its beginning only.
_AT_END = rf"(?<!{_BLANK}){_BLANK}+\z"


class TextTransformation(Transformation):
    """A step that reads characters."""

    reads_text: ClassVar[bool] = True


def text_of(site: Site) -> str:
    """SQL of the value as text."""
    return sql.as_text(site.value, site.type)


class RegexExtract(TextTransformation):
    """Keeps the first part of the text that matches a regular expression; a text without one is left to others."""

    name: ClassVar[str] = "regex_extract"
    family: ClassVar[str] = "text"
    example: ClassVar[str] = r"""
        transform: regex_extract
        column: amount
        pattern: '-?[0-9][0-9,]*(\.[0-9]+)?'
    """
    note: ClassVar[str] = "The syntax is Java's. Patterns that could run for ever on some value are refused."

    pattern: Annotated[str, Field(min_length=1)]
    """The regular expression."""
    group: Annotated[int, Field(ge=0)] = 0
    """Which group of it to keep; 0 is the whole match."""

    @model_validator(mode="after")
    def _pattern_is_sound(self) -> RegexExtract:
        check_pattern(self.pattern)
        return self

    def applies(self, site: Site) -> str:
        return sql.matches(text_of(site), self.pattern)

    def value(self, site: Site) -> str:
        return f"regexp_extract({text_of(site)}, {sql.text(self.pattern)}, {self.group})"


class Replace(TextTransformation):
    """Replaces every occurrence of a text, or of what a regular expression matches."""

    name: ClassVar[str] = "replace"
    family: ClassVar[str] = "text"
    example: ClassVar[str] = """
        transform: replace
        column: amount
        find: ','
        with: ''
    """

    find: Annotated[str, Field(min_length=1)]
    """What is replaced."""
    with_: Annotated[str, Field(alias="with")]
    """What takes its place; in a regular expression $1 stands for its first group."""
    regex: bool = False
    """True: `find` is a regular expression, in Java's syntax."""

    @model_validator(mode="after")
    def _pattern_is_sound(self) -> Replace:
        if self.regex:
            check_pattern(self.find)
        return self

    def value(self, site: Site) -> str:
        function = "regexp_replace" if self.regex else "replace"
        return f"{function}({text_of(site)}, {sql.text(self.find)}, {sql.text(self.with_)})"

    def applies(self, site: Site) -> str:
        # A repeated group could overflow the stack on a long text: such a text is refused, as checks do.
        return f"({sql.matches(text_of(site), self.find)}) IS NOT NULL" if self.regex else "true"


class Trim(TextTransformation):
    """Removes white space (or other characters) from the ends of the text."""

    name: ClassVar[str] = "trim"
    family: ClassVar[str] = "text"
    example: ClassVar[str] = """
        transform: trim
        column: account_id
    """

    side: Literal["both", "leading", "trailing"] = "both"
    """both, leading or trailing."""
    characters: Annotated[str, Field(min_length=1)] | None = None
    """The characters to remove; white space of every kind, tabs and line ends too, if left out."""

    def value(self, site: Site) -> str:
        text = text_of(site)
        if self.characters is not None:
            return f"trim({self.side.upper()} {sql.text(self.characters)} FROM {text})"
        if self.side != "trailing":
            text = f"regexp_replace({text}, {sql.text(_AT_BEGIN)}, '')"
        if self.side != "leading":
            text = f"regexp_replace({text}, {sql.text(_AT_END)}, '')"
        return text


class Case(TextTransformation):
    """Writes the text in capital or small letters."""

    name: ClassVar[str] = "case"
    family: ClassVar[str] = "text"
    example: ClassVar[str] = """
        transform: case
        column: currency
        to: upper
    """

    to: Literal["upper", "lower", "title"]
    """upper, lower, or title: a capital at the beginning of every word."""

    def value(self, site: Site) -> str:
        return f"{ {'title': 'initcap'}.get(self.to, self.to) }({text_of(site)})"
