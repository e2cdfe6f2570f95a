"""What a suite says of a row, in plain Python: slow, obvious, and written without a look at the engine.

Rules are the plain mappings a suite file would hold, rows are mappings of column names to Python values.
Where SQL would throw, a function here raises `Throws`; where SQL is undecided, it returns None.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

Row = Mapping[str, Any]
Rule = Mapping[str, Any]
Verdict = bool | None

TODAY = date(2026, 6, 1)


class Throws(Exception):
    """Evaluating this ends in an exception."""


@dataclass(frozen=True)
class Failure:
    """A rule that a row broke, or that could not be evaluated on it."""

    rule_id: str
    column: str | None
    status: str


@dataclass(frozen=True)
class Outcome:
    """What becomes of a row."""

    is_clean: bool
    failures: tuple[Failure, ...]
    """As `dq_failed_rules` lists them."""
    errors: tuple[Failure, ...]
    warnings: tuple[Failure, ...]


def judge(row: Row, rules: Sequence[Rule], columns: Iterable[str]) -> Outcome:
    """Everything the rules say of a row of a table with these columns."""
    known = set(columns)
    found: list[tuple[Rule, Failure]] = []
    missing = False
    for rule in rules:
        if not rule.get("active", True):
            continue
        for column in rule.get("columns") or [rule.get("column")]:
            if column is not None and not {column, column.partition(".")[0]} & known:
                status = "ERROR"
                missing = missing or not (rule.get("optional") or rule.get("on_error") == "warn")
            else:
                status = _status(rule, column, row)
            if status != "PASS":
                found.append((rule, Failure(rule["id"], column, status)))
    if missing:
        found.append(({"on_fail": "block_publication"}, Failure("lz.schema", None, "FAIL")))
    return Outcome(
        is_clean=not any(_keeps_out(rule, failure) for rule, failure in found),
        failures=tuple(failure for rule, failure in found if not _only_observed(rule, failure)),
        errors=tuple(f for rule, f in found if not _only_observed(rule, f) and not _is_warning(rule, f)),
        warnings=tuple(f for rule, f in found if not _only_observed(rule, f) and _is_warning(rule, f)),
    )


def _on_fail(rule: Rule) -> str:
    if rule.get("on_fail") == "observe" and date.fromisoformat(rule["expires"]) < TODAY:
        return "warn"
    return rule.get("on_fail") or "quarantine_records"


def _softened(rule: Rule) -> bool:
    return bool(rule.get("optional")) or rule.get("on_error") == "warn"


def _keeps_out(rule: Rule, failure: Failure) -> bool:
    if failure.status == "ERROR":
        return not _softened(rule)
    return _on_fail(rule) not in ("observe", "warn", "degrade_consumer")


def _only_observed(rule: Rule, failure: Failure) -> bool:
    return failure.status == "FAIL" and _on_fail(rule) == "observe"


def _is_warning(rule: Rule, failure: Failure) -> bool:
    return _softened(rule) if failure.status == "ERROR" else _on_fail(rule) == "warn"


def _status(rule: Rule, column: str | None, row: Row) -> str:
    try:
        if rule.get("where") and WHERE[rule["where"]](row) is not True:
            return "PASS"
        verdict = _passes(rule, column, row)
    except Throws:
        return "ERROR"
    if verdict is None:
        verdict = _null_passes(rule)
    return "PASS" if verdict else "FAIL"


def _null_passes(rule: Rule) -> bool:
    default = "fail" if rule["check"] in ("custom_sql", "not_null") else "pass"
    return (rule.get("on_null") or default) == "pass"


def _passes(rule: Rule, column: str | None, row: Row) -> Verdict:
    if rule["check"] == "custom_sql":
        return CUSTOM[rule["expression"]](row)
    assert column is not None
    head, each, rest = column.partition(".each")
    check = CHECKS[rule["check"]]
    if not each:
        return check(rule, at(row, column), row)
    elements = at(row, head)
    if elements is None:
        return None
    verdicts = [check(rule, at({"x": element}, "x" + rest), row) for element in elements]
    return all(_null_passes(rule) if verdict is None else verdict for verdict in verdicts)


def at(row: Row, path: str) -> Any:
    """The value at a path through structs."""
    if path in row:
        return row[path]
    value: Any = row
    for part in path.split("."):
        value = None if value is None else value[part]
    return value


# --- SQL's ways with values ---------------------------------------------------------------------------------


def both(*verdicts: Verdict) -> Verdict:
    """AND."""
    if any(verdict is False for verdict in verdicts):
        return False
    return None if any(verdict is None for verdict in verdicts) else True


def either(*verdicts: Verdict) -> Verdict:
    """OR."""
    negated = both(*(negation(verdict) for verdict in verdicts))
    return negation(negated)


def negation(verdict: Verdict) -> Verdict:
    """NOT."""
    return None if verdict is None else not verdict


def ordered(left: Any, operator: str, right: Any) -> Verdict:
    """A comparison. NaN equals itself and is greater than any number; -0.0 equals 0.0."""
    if left is None or right is None:
        return None
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    a, b = _rank(left), _rank(right)
    return {"=": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]


def _rank(value: Any) -> tuple[bool, Any]:
    return (True, 0) if is_nan(value) else (False, value)


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def to_whole(text: str | None, limit: int = 2**31) -> int | None:
    """cast(text as int), or as bigint with that limit."""
    if text is None:
        return None
    if not re.fullmatch(r"[+-]?[0-9]+", text.strip(" \n\t")) or not -limit <= int(text) < limit:
        raise Throws
    return int(text)


def to_double(text: str | None) -> float | None:
    """cast(text as double), for texts without Java's rarities."""
    if text is None:
        return None
    if not re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?(e[0-9]+)?", text.strip(" \n\t")):
        raise Throws
    return float(text)


def to_day(text: str | None) -> date | None:
    """cast(text as date), for texts that are no other short form of one."""
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text.strip(" \n\t")):
        raise Throws
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Throws from None


def divide(left: int | None, right: int | None) -> float | None:
    if left is None or right is None:
        return None
    if right == 0:
        raise Throws
    return left / right


def add_int(left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    if not -(2**31) <= left + right < 2**31:
        raise Throws
    return left + right


def element(array: Sequence[Any] | None, index: int) -> Any:
    if array is None:
        return None
    if index >= len(array):
        raise Throws
    return array[index]


def exists(array: Sequence[Any] | None, condition: Callable[[Any], Verdict]) -> Verdict:
    return None if array is None else either(*(condition(item) for item in array)) if array else False


def literal(raw: Any) -> Any:
    """What a literal of a suite means."""
    if isinstance(raw, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", raw):
        return date.fromisoformat(raw)
    if isinstance(raw, str) and raw.endswith("Z"):
        return datetime.fromisoformat(raw).replace(tzinfo=None)
    return raw


# --- checks -------------------------------------------------------------------------------------------------


def _range(rule: Rule, value: Any, row: Row) -> Verdict:
    conditions: list[Verdict] = []
    for key, operator in (("min", ">"), ("max", "<")):
        if rule.get(key) is None:
            continue
        bound = literal(rule[key]) if not isinstance(rule[key], dict) else at(row, rule[key]["column"])
        known = to_double(value) if isinstance(value, str) else value
        conditions.append(ordered(known, operator if rule.get("open") else operator + "=", bound))
    if isinstance(value, float):
        conditions.append(not is_nan(value))
    return both(*conditions)


def _allowed(rule: Rule, value: Any, row: Row) -> Verdict:
    if value is None:
        return None
    if rule.get("ignore_case"):
        return value.lower() in {allowed.lower() for allowed in rule["allowed"]}
    return any(ordered(value, "=", literal(allowed)) for allowed in rule["allowed"])


def _length(rule: Rule, value: Any, row: Row) -> Verdict:
    if value is None:
        return None
    return rule.get("min", 0) <= len(value) <= rule.get("max", math.inf)


def _regex(rule: Rule, value: Any, row: Row) -> Verdict:
    if value is None:
        return None
    match = re.search if rule.get("search") else re.fullmatch
    return match(rule["pattern"], value) is not None


def _compare(rule: Rule, value: Any, row: Row) -> Verdict:
    raw = rule["other"]
    other = at(row, raw["column"]) if isinstance(raw, dict) else literal(raw)
    operator = rule["operator"]
    if value is None or other is None:
        return None
    if is_nan(value) and operator in (">", ">="):
        return False
    if (slack := rule.get("tolerance")) is None:
        return ordered(value, operator, other)
    if operator in ("=", "!="):
        apart = abs(_difference(value, other))
        return ordered(apart, "<=" if operator == "=" else ">", slack)
    limit = Decimal(other) + (slack if operator in ("<", "<=") else -slack)
    return ordered(value, operator, limit)


def _difference(left: Any, right: Any) -> Any:
    if isinstance(left, float) or isinstance(right, float):
        return float(left) - float(right)
    return Decimal(left) - Decimal(right)


CHECKS: dict[str, Callable[[Rule, Any, Row], Verdict]] = {
    "not_null": lambda rule, value, row: value is not None,
    "is_null": lambda rule, value, row: value is None,
    "range": _range,
    "allowed_values": _allowed,
    "length": _length,
    "regex": _regex,
    "compare": _compare,
}

WHERE: dict[str, Callable[[Row], Verdict]] = {
    "n > 0": lambda row: ordered(row["n"], ">", 0),
    "s = 'abc'": lambda row: ordered(row["s"], "=", "abc"),
    "d is not null": lambda row: row["d"] is not None,
    "cast(s as int) > 0": lambda row: ordered(to_whole(row["s"]), ">", 0),
    "10 / n > 1": lambda row: ordered(divide(10, row["n"]), ">", 1.0),
    "st.city <> s": lambda row: ordered(at(row, "st.city"), "!=", row["s"]),
    "`odd ``name``.x` >= 0": lambda row: ordered(row["odd `name`.x"], ">=", 0),
}

CUSTOM: dict[str, Callable[[Row], Verdict]] = WHERE | {
    "s > 5": lambda row: ordered(to_whole(row["s"], 2**63), ">", 5),
    "1 / 0 > n": lambda row: _throw(),
    "n + 2147483000 > 0": lambda row: ordered(add_int(row["n"], 2147483000), ">", 0),
    "element_at(tags, 2) = 'x'": lambda row: ordered(element(row["tags"], 1), "=", "x"),
    "tags[0] <> 'x'": lambda row: ordered(element(row["tags"], 0), "!=", "x"),
    "to_date(s) > DATE'2000-01-01'": lambda row: ordered(to_day(row["s"]), ">", date(2000, 1, 1)),
    "d > 1.5": lambda row: ordered(row["d"], ">", 1.5),
    "n between 1 and 3": lambda row: both(ordered(row["n"], ">=", 1), ordered(row["n"], "<=", 3)),
    "s is null or length(s) < 4": lambda row: row["s"] is None or len(row["s"]) < 4,
    "not (n > 1 and d < 0)": lambda row: negation(both(ordered(row["n"], ">", 1), ordered(row["d"], "<", 0.0))),
    "exists(items, i -> i.p > 1)": lambda row: exists(row["items"], lambda i: ordered(at({"i": i}, "i.p"), ">", 1.0)),
    "year(ts) >= 2000 and day <= DATE'2024-12-31'": lambda row: both(
        None if row["ts"] is None else row["ts"].year >= 2000, ordered(row["day"], "<=", date(2024, 12, 31))
    ),
}


def _throw() -> Verdict:
    raise Throws
