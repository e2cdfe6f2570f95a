"""Names of Spark's types: reading them, and telling when one fits into another without loss."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lazaretto.model import catalogue

_ALIASES = {
    "integer": "int",
    "long": "bigint",
    "short": "smallint",
    "byte": "tinyint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "bool": "boolean",
    "timestamp_ltz": "timestamp",
}
_PLAIN = {"string", "boolean", "binary", "date", "timestamp", "timestamp_ntz", "variant"}
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_EXACT_IN_FLOAT = {"float": ("tinyint", "smallint"), "double": ("tinyint", "smallint", "int", "float")}
_SCALARS = (*_DIGITS, "decimal", "float", "double", *sorted(_PLAIN), "char", "varchar")
_MOST_DIGITS = 38

_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\s<>(),:`]+)|([<>(),:]))")


@dataclass(frozen=True)
class SparkType:
    """A type: its name, its numbers (`decimal(18,2)`) and its parts (fields, element, key and value)."""

    name: str
    numbers: tuple[int, ...] = ()
    parts: tuple[tuple[str, SparkType], ...] = ()

    def __str__(self) -> str:
        if self.name == "struct":
            return "struct<" + ",".join(f"{name}:{part}" for name, part in self.parts) + ">"
        if self.parts:
            return f"{self.name}<" + ",".join(str(part) for _, part in self.parts) + ">"
        return f"{self.name}({','.join(map(str, self.numbers))})" if self.numbers else self.name


def parse_type(text: str) -> SparkType:
    """Read a type as in SQL: `decimal(18,2)`, `array<struct<a:int>>`. ValueError says what is wrong."""
    parser = _Parser(text)
    found = parser.type()
    if parser.tokens:
        raise ValueError(f"unexpected {parser.tokens[0]!r} after the type {found}")
    return found


def parsed_or_none(text: str) -> SparkType | None:
    """A type, or None for one that no suite can ask for, such as an interval: it fits only itself."""
    try:
        return parse_type(text)
    except ValueError:
        return None


def fits(actual: str, wanted: str) -> bool:
    """Whether a value of the one type is always a value of the other, by their names."""
    if actual == wanted:
        return True
    mine, theirs = parsed_or_none(actual), parsed_or_none(wanted)
    return mine is not None and theirs is not None and widens(mine, theirs)


def widens(actual: SparkType, wanted: SparkType) -> bool:
    """Whether every value of the one type is a value of the other, unchanged."""
    if actual.name == wanted.name == "decimal":
        (digits, scale), (room, room_scale) = actual.numbers, wanted.numbers
        return room_scale >= scale and room - room_scale >= digits - scale
    if wanted.name == "decimal":
        return actual.name in _DIGITS and wanted.numbers[0] - wanted.numbers[1] >= _DIGITS[actual.name]
    if actual.name in _DIGITS and wanted.name in _DIGITS:
        return _DIGITS[actual.name] <= _DIGITS[wanted.name]
    if wanted.name in _EXACT_IN_FLOAT and actual.name in _EXACT_IN_FLOAT[wanted.name]:
        return True
    if actual.name in ("char", "varchar") and wanted.name in ("string", "varchar"):
        return not wanted.numbers or actual.numbers[0] <= wanted.numbers[0]
    if actual.name != wanted.name or actual.numbers != wanted.numbers:
        return False
    if actual.name == "struct":
        mine = {name.casefold(): part for name, part in actual.parts}
        return len(mine) == len(wanted.parts) and all(
            name.casefold() in mine and widens(mine[name.casefold()], part) for name, part in wanted.parts
        )
    return all(widens(mine, theirs) for (_, mine), (_, theirs) in zip(actual.parts, wanted.parts, strict=True))


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        position = 0
        text = text.rstrip()
        while position < len(text):
            token = _TOKEN.match(text, position)
            if token is None:
                raise ValueError(f"{text!r} is not a type")
            quoted, word, sign = token.groups()
            self.tokens.append(quoted.replace("``", "`") if quoted else word or sign)
            position = token.end()

    def take(self, expected: str = "") -> str:
        token = self.tokens.pop(0) if self.tokens else "the end"
        if expected and token != expected:
            raise ValueError(f"expected {expected!r} in the type, found {token!r}")
        return token

    def type(self) -> SparkType:
        if not self.tokens:
            raise ValueError("expected a type such as int, decimal(18,2) or date")
        written = self.take()
        name = _ALIASES.get(written.casefold(), written.casefold())
        if name == "array":
            return SparkType(name, parts=tuple(self.inside(1)))
        if name == "map":
            return SparkType(name, parts=tuple(self.inside(2)))
        if name == "struct":
            return SparkType(name, parts=tuple(self.fields()))
        numbers = self.numbers()
        if name == "decimal":
            return SparkType(name, _decimal(numbers))
        if name in ("char", "varchar"):
            if len(numbers) != 1 or numbers[0] < 1:
                raise ValueError(f"expected {name}(n)")
            return SparkType(name, numbers)
        if name not in _SCALARS:
            near = catalogue.nearest(name, _SCALARS)
            raise ValueError(f"there is no type {written!r}; " + (f"did you mean {near}?" if near else _known()))
        if numbers:
            raise ValueError(f"the type {name} takes no numbers")
        return SparkType(name)

    def numbers(self) -> tuple[int, ...]:
        if self.tokens[:1] != ["("]:
            return ()
        self.take("(")
        found = []
        while True:
            number = self.take()
            if not number.isdecimal():
                raise ValueError(f"expected a number in the type, found {number!r}")
            found.append(int(number))
            if self.tokens[:1] != [","]:
                break
            self.take(",")
        self.take(")")
        return tuple(found)

    def inside(self, count: int) -> list[tuple[str, SparkType]]:
        self.take("<")
        parts = [("", self.type())]
        while len(parts) < count:
            self.take(",")
            parts.append(("", self.type()))
        self.take(">")
        return parts

    def fields(self) -> list[tuple[str, SparkType]]:
        self.take("<")
        parts = []
        while self.tokens[:1] != [">"]:
            name = self.take()
            self.take(":")
            parts.append((name, self.type()))
            if self.tokens[:1] == [","]:
                self.take(",")
        self.take(">")
        return parts


def _decimal(numbers: tuple[int, ...]) -> tuple[int, int]:
    digits, scale = (*numbers, *(10, 0)[len(numbers) :])[:2] if len(numbers) < 3 else (0, 0)
    if not 1 <= digits <= _MOST_DIGITS or scale > digits:
        raise ValueError(f"expected decimal(p,s) with p from 1 to {_MOST_DIGITS} and s from 0 to p")
    return digits, scale


def _known() -> str:
    return "known are " + ", ".join(_SCALARS)
