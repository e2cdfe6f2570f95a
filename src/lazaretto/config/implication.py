"""When one rule makes another superfluous. Only what is certain without looking at data."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from lazaretto.model.expression import canonical
from lazaretto.model.rule import Rule
from lazaretto.model.words import OnNull

_MATCHES_ALL = (".*", "^.*$", "(?s).*", "[\\s\\S]*", "[\\S\\s]*")


def never_fails(rule: Rule) -> str | None:
    """Why no value can fail a rule, or None."""
    if rule.on_null is OnNull.FAIL:
        return None
    if rule.check == "length" and not getattr(rule, "min", None) and getattr(rule, "max", None) is None:
        return "no text is shorter than nothing"
    if rule.check == "regex" and getattr(rule, "pattern", "") in _MATCHES_ALL[2:]:
        return "the pattern matches every text"
    if rule.check == "regex" and getattr(rule, "search", False) and getattr(rule, "pattern", "") in _MATCHES_ALL:
        return "the pattern is found in every text"
    return None


def implies(stronger: Rule, weaker: Rule) -> bool:
    """Whether every value that fails the weaker rule fails the stronger one too."""
    if not stronger.targets or stronger.targets != weaker.targets:
        return False
    if stronger.where is not None and (weaker.where is None or canonical(stronger.where) != canonical(weaker.where)):
        return False
    if weaker.on_null is OnNull.FAIL and stronger.on_null is not OnNull.FAIL:
        return False
    if (stronger.check, weaker.check) == ("not_empty", "not_null"):
        return True
    if stronger.check != weaker.check:
        return False
    if weaker.check in ("range", "length"):
        return _inside(stronger, weaker)
    if weaker.check == "allowed_values":
        return _options(stronger) == _options(weaker) and _strictly_less(_values(stronger), _values(weaker))
    return False


def _inside(stronger: Rule, weaker: Rule) -> bool:
    """Whether one pair of numeric bounds lies within the other without being the same."""
    low, high = getattr(stronger, "min", None), getattr(stronger, "max", None)
    under, over = getattr(weaker, "min", None), getattr(weaker, "max", None)
    if not all(bound is None or _is_number(bound) for bound in (low, high, under, over)):
        return False
    is_open, was_open = getattr(stronger, "open", False), getattr(weaker, "open", False)
    if (low, high, is_open) == (under, over, was_open):
        return False  # the same rule, which is told by another warning

    def within(inner: Any, outer: Any, sign: int) -> bool:
        if outer is None:
            return True
        if inner is None:
            return False
        return inner * sign > outer * sign or (inner == outer and (is_open or not was_open))

    return within(low, under, 1) and within(high, over, -1)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _values(rule: Rule) -> frozenset[Any]:
    return frozenset((type(value).__name__ == "str", value) for value in getattr(rule, "allowed", ()))


def _strictly_less(some: frozenset[Any], more: frozenset[Any]) -> bool:
    return some < more


def _options(rule: Rule) -> tuple[Any, ...]:
    return getattr(rule, "ignore_case", False), getattr(rule, "trim", False)
