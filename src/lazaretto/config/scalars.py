"""What an unquoted word of YAML means. Literals are literals: `[NO, on, 010, 12:30]` is four texts.

Only null, true/false and decimal numbers are anything but text, and numbers stay exact.
"""

from __future__ import annotations

import re
from decimal import Decimal

Scalar = None | bool | int | Decimal | str

MAX_DIGITS = 38  # as many as Spark's decimals have
MAX_EXPONENT = 400  # a little beyond a double's; unbounded, `1e999999999` would fill the memory when printed

_NULLS = ("", "~", "null", "Null", "NULL")
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WHOLE = r"(?:0|[1-9](?:_?[0-9])*)"
_INT = re.compile(rf"[-+]?{_WHOLE}\Z")
_DECIMAL = re.compile(rf"[-+]?(?:{_WHOLE}(?:\.[0-9]+)?|\.[0-9]+)(?:[eE]([-+]?[0-9]{{1,9}}))?\Z")


class NumberOutOfRange(ValueError):
    """A number that no table could hold."""


def resolve(text: str) -> Scalar:
    """The value of an unquoted scalar."""
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    number = _DECIMAL.match(text)
    if number is None:
        return text
    digits = sum(c.isdigit() for c in re.split("[eE]", text)[0])
    exponent = number.group(1)
    if digits > MAX_DIGITS or (exponent is not None and abs(int(exponent)) > MAX_EXPONENT):
        raise NumberOutOfRange(text)
    plain = text.replace("_", "")
    return int(plain) if _INT.match(text) else Decimal(plain)


def text_of(value: Scalar) -> str:
    """A value as it would be written without quotes."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
