"""Writing SQL text safely: names and literals, quoted so that no value can become code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

_ISO_DATE = re.compile(r"\A\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_ISO_TIMESTAMP = re.compile(r"\A\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?\Z", re.ASCII)

_TEXT_TYPES = ("string", "varchar", "char")
_FLOAT_TYPES = ("float", "double")
_NUMBER_TYPES = ("tinyint", "smallint", "int", "bigint", "decimal", *_FLOAT_TYPES)


def identifier(name: str) -> str:
    """A name as one identifier, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    """A string literal. Backslashes are kept out of reach of the parser's escapes by raw literals.

    Quotes cannot stand in a raw literal, and Spark replaces `${name}` in any SQL text before it parses it;
    both are put together by concat(), which the optimiser folds back into one literal.
    """
    if "\\" not in value and "${" not in value:
        return "'" + value.replace("'", "''") + "'"
    pieces = [piece for piece in re.split(r"(')|(?<=\$)(?=\{)", value) if piece]
    if len(pieces) == 1:
        return f"r'{value}'"
    return "concat(" + ", ".join("''''" if piece == "'" else f"r'{piece}'" for piece in pieces) + ")"


def literal(value: Any, type_name: str | None = None) -> str:
    """A literal as it compares best with a column of this type: a date with dates, text with text."""
    if is_text(type_name):
        return text(plain(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < 2**31 else f"{value}L" if abs(value) < 2**63 else f"{value}BD"
    if isinstance(value, Decimal):
        return format(value, "f") + ("BD" if value == value.to_integral_value() else "")
    if type_name is None or is_time(type_name):
        return moment(value, type_name) or text(str(value))
    return text(plain(value))


def literals(values: Iterable[Any], type_name: str | None = None) -> str:
    """Literals separated by commas."""
    return ", ".join(literal(value, type_name) for value in values)


def moment(value: Any, type_name: str | None = None) -> str | None:
    """A date or timestamp literal, if the value is one or reads like one."""
    if not isinstance(value, date):
        try:
            value = parse_moment(str(value))
        except ValueError:
            return None
        if value is None:
            return None
    if not isinstance(value, datetime):
        return f"DATE'{value.isoformat()}'"
    local = type_name == "timestamp_ntz" and value.tzinfo is None
    return f"{'TIMESTAMP_NTZ' if local else 'TIMESTAMP'}'{value.isoformat(sep=' ')}'"


def parse_moment(words: str) -> date | datetime | None:
    """The date or timestamp that a text in ISO form means, or None; ValueError if there is no such day."""
    if _ISO_DATE.match(words):
        return date.fromisoformat(words)
    if _ISO_TIMESTAMP.match(words):
        return datetime.fromisoformat(words)
    return None


def plain(value: Any) -> str:
    """A scalar as it reads in a text column."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def is_text(type_name: str | None) -> bool:
    """Whether this is one of the string types."""
    return type_name is not None and type_name.startswith(_TEXT_TYPES)


def is_number(type_name: str | None) -> bool:
    """Whether one can calculate with values of this type."""
    return type_name is not None and type_name.split("(")[0] in _NUMBER_TYPES


def is_time(type_name: str | None) -> bool:
    """Whether this is a date or a timestamp."""
    return type_name is not None and type_name.startswith(("date", "timestamp"))


def is_float(type_name: str | None) -> bool:
    """Whether the type has NaN, which Spark holds to be greater than any number."""
    return type_name in _FLOAT_TYPES


def is_collection(type_name: str | None) -> bool:
    """Whether this is an array or a map."""
    return type_name is not None and type_name.startswith(("array", "map"))


def is_nested(type_name: str | None) -> bool:
    """Whether a value of this type has parts, so that it cannot be cast to a string plainly."""
    return type_name is not None and type_name.startswith(("array", "map", "struct", "variant"))


def as_text(value: str, type_name: str | None) -> str:
    """The value as a string, for checks that look at characters."""
    return value if is_text(type_name) else f"cast({value} as string)"


def element_count(value: str, type_name: str | None) -> str:
    """Number of elements; NULL for NULL whatever the session's settings, where size() may say -1."""
    return f"array_size({value})" if str(type_name).startswith("array") else f"array_size(map_keys({value}))"


_REPEATED_GROUP = re.compile(r"(?<!\\)\)(?:[*+]|\{\d+,\d*\})(?!\+)")
LONGEST_FOR_REPEATED_GROUPS = 2_000


def matches(value: str, pattern: str) -> str:
    """The regular expression is found in the value.

    Java matches a repeated group by recursion: on a long text the stack overflows, and that is no exception that could
    be caught but the end of the whole process. Such a pattern refuses long texts with an error of that row alone.
    """
    matched = f"{value} RLIKE {text(pattern)}"
    if not _REPEATED_GROUP.search(pattern):
        return matched
    too_long = text(f"longer than {LONGEST_FOR_REPEATED_GROUPS} characters: not safe to match with a repeated group")
    return f"CASE WHEN length({value}) > {LONGEST_FOR_REPEATED_GROUPS} THEN raise_error({too_long}) ELSE {matched} END"


def matches_whole(value: str, pattern: str, flags: str = "") -> str:
    r"""The regular expression matches all of the value. Java's `$` would let a trailing newline through."""
    return matches(value, rf"{flags}\A(?:{pattern})\z")


def decided(value: str, condition: str) -> str:
    """A condition that is never NULL by itself, left undecided where the value is NULL."""
    return f"CASE WHEN {value} IS NOT NULL THEN {condition} END"


def conjunction(conditions: Iterable[str]) -> str:
    """All of them."""
    listed = list(conditions)
    return " AND ".join(f"({c})" for c in listed) if len(listed) > 1 else listed[0]
