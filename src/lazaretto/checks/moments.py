"""Date patterns: which ones Spark can read, and how a text written so must look."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from lazaretto.checks import sql

_LETTERS = "GyMLdDHhKkmsSaVzOXxZ"
"""Letters that Spark's parser of dates understands."""

_MOST = {"y": 6, "M": 4, "L": 4, "D": 3, "S": 9, "a": 1, "G": 4}
_ZONE = "VzOXxZ"
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|(.)", re.DOTALL)


def check_date_pattern(pattern: str) -> str:
    """The pattern itself, if Spark can read dates by it; ValueError otherwise."""
    if "%" in pattern:
        raise ValueError("the pattern is Spark's, not Python's: write yyyy-MM-dd for %Y-%m-%d")
    letters = _letters(pattern)
    if not letters:
        raise ValueError("the pattern names no part of a date; expected one such as yyyy-MM-dd")
    for letter, count in letters:
        if letter == "Y":
            raise ValueError("Y is the year of the week; write y for the year, as in yyyy-MM-dd")
        if letter not in _LETTERS:
            raise ValueError(f"Spark reads no {letter!r} in a date pattern; put words in quotes: 'T'")
        if count > _MOST.get(letter, 5 if letter in _ZONE else 2):
            raise ValueError(f"{letter * count} is too long; Spark reads {letter} up to {_MOST.get(letter, 2)} times")
    names = {letter for letter, _ in letters}
    if "D" in names and names & {"M", "L", "d"}:
        raise ValueError("D is the day of the year; write d for the day of the month, as in yyyy-MM-dd")
    if "m" in names and "y" in names and not names & set("MLD"):
        raise ValueError("m is the minute; write M for the month, as in yyyy-MM-dd")
    if pattern.count("[") != pattern.count("]"):
        raise ValueError("a '[' (optional part) is not closed")
    return pattern


DatePattern = Annotated[str, AfterValidator(check_date_pattern)]


def reads_as_moment(text: str, pattern: str) -> str:
    """SQL, never NULL: the text has exactly the form of the pattern, and there is such a day and time.

    Spark's parser alone would take `.5` for `.SSS` and years of any length.
    """
    form = sql.matches(text, rf"\A{form_of(pattern)}\z")
    return f"coalesce({form} AND try_to_timestamp({text}, {sql.text(pattern)}) IS NOT NULL, false)"


def form_of(pattern: str) -> str:
    """Regular expression of the texts that have the form of a date pattern."""
    form = ""
    for token in _TOKEN.finditer(pattern):
        quoted, letter, sign = token.groups()
        if quoted is not None:
            form += re.escape(quoted.replace("''", "'") or "'")
        elif sign is not None:
            form += {"[": "(?:", "]": ")?"}.get(sign, re.escape(sign))
        else:
            form += _field(letter, len(token.group()))
    return form


def _field(letter: str, count: int) -> str:
    if letter in _ZONE or letter in "aG" or (letter in "ML" and count > 2):
        return r"\S+" if letter in _ZONE else r"[\p{L}.]+"
    if letter == "y":
        return {1: "(?!0+(?![0-9]))[0-9]{1,4}", 2: "[0-9]{2}"}.get(count, f"(?!0{{{count}}})[0-9]{{{count}}}")
    if count == 1:
        return "[0-9]{1,3}" if letter == "D" else "[0-9]" if letter == "S" else "[0-9]{1,2}"
    return f"[0-9]{{{count}}}"


def _letters(pattern: str) -> list[tuple[str, int]]:
    return [(token.group(2), len(token.group())) for token in _TOKEN.finditer(pattern) if token.group(2) is not None]
