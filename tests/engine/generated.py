"""Generated rows and rules for the law of conservation."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from engine import reference

SCHEMA = """
    s STRING, n INT, `odd ``name``.x` INT, d DOUBLE, dec DECIMAL(10,2), day DATE, ts TIMESTAMP,
    st STRUCT<city: STRING, n: INT>, items ARRAY<STRUCT<p: DOUBLE>>, tags ARRAY<STRING>
"""
COLUMNS = ["s", "n", "odd `name`.x", "d", "dec", "day", "ts", "st", "items", "tags"]

# --- rows ---------------------------------------------------------------------------------------------------

TEXTS = st.one_of(
    st.sampled_from(["", " ", "abc", "ABC", "x", "A1", "42", "-7", " 5 ", "3.5", "1e3", "99999999999", "007"]),
    st.sampled_from(["2024-02-29", "2024-02-30", "o'k", 'q"q', "\\", "${x}", "a\nb", "\0", "ÄÖÜ", "日本語", "e\u0301"]),
    st.text(st.characters(categories=["L", "P", "S", "Zs"], exclude_characters="infdNaIFDLl"), max_size=6),
)
WHOLE = st.one_of(st.integers(-3, 12), st.sampled_from([0, 2**31 - 1, -(2**31), 1000]))
FLOATS = st.one_of(
    st.sampled_from([0.0, -0.0, float("nan"), float("inf"), float("-inf"), 5e-324, 1.5, 5.0, 5.5]),
    st.floats(allow_nan=True, allow_infinity=True),
)
DECIMALS = st.one_of(
    st.sampled_from([Decimal("0.00"), Decimal("-0.01"), Decimal("99999999.99"), Decimal("5.01")]),
    st.decimals(min_value=-1000, max_value=1000, places=2),
)
DAYS = st.one_of(
    st.sampled_from([date(2024, 1, 1), date(2024, 12, 31), date(1, 1, 1), date(9999, 12, 31)]),
    st.dates(date(1900, 1, 1), date(2100, 1, 1)),
)
MOMENTS = st.one_of(
    st.sampled_from(
        [
            datetime(2024, 1, 1, 12),
            datetime(2024, 1, 1, 12, 0, 0, 1),
            datetime(1999, 12, 31, 23, 59, 59, 999999),
        ]
    ),
    st.datetimes(datetime(1902, 1, 1), datetime(2100, 1, 1)),
)


def or_null(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(values, values, values, st.none())


ROWS = st.tuples(
    or_null(TEXTS),
    or_null(WHOLE),
    or_null(WHOLE),
    or_null(FLOATS),
    or_null(DECIMALS),
    or_null(DAYS),
    or_null(MOMENTS),
    or_null(st.tuples(or_null(TEXTS), or_null(WHOLE))),
    or_null(st.lists(or_null(st.tuples(or_null(FLOATS))), max_size=3)),
    or_null(st.lists(or_null(st.sampled_from(["x", "y", "long text"])), max_size=3)),
)


def as_mapping(row: tuple[Any, ...]) -> dict[str, Any]:
    """The row as the reference evaluator reads it."""
    named = dict(zip(COLUMNS, row, strict=True))
    if named["st"] is not None:
        named["st"] = dict(zip(("city", "n"), named["st"], strict=True))
    if named["items"] is not None:
        named["items"] = [None if item is None else {"p": item[0]} for item in named["items"]]
    return named


# --- rules --------------------------------------------------------------------------------------------------


Kind = dict[str, st.SearchStrategy[Any]]


def one(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


def kind(check: str, **keys: Any) -> Kind:
    """How the keys of a rule are made; a plain value is always that value, None leaves the key out."""
    return {
        key: value if isinstance(value, st.SearchStrategy) else st.just(value)
        for key, value in ({"check": check} | keys).items()
    }


OPERATORS = one("=", "!=", "<", "<=", ">", ">=")
PLACES = [*COLUMNS, "st.city", "items.each.p", "nope"]
NUMBERS = one("n", "d", "dec", "st.n", "s", "items.each.p", "odd `name`.x")
ALLOWED = ["abc", "o'k", "\\", "${x}", "日本語", "x"]
PATTERNS = one("[A-Z][0-9]", "[0-9]+", "[^a]*", "(abc|x)", "\\\\|'")

KINDS: list[Kind] = [
    kind("not_null", columns=st.lists(one(*PLACES), min_size=1, max_size=3, unique=True)),
    kind("is_null", column=one(*COLUMNS, "st.n", "tags.each")),
    kind("range", min=0, max=one(5, Decimal("5.5"), 1000), column=NUMBERS, open=st.booleans()),
    kind("range", min=one(None, 0), max={"column": "st.n"}, column="n"),
    kind("range", min="2024-01-01", max=one(None, "2024-12-31"), column="day"),
    kind("range", max="2024-01-01T12:00:00Z", column="ts", open=st.booleans()),
    kind("allowed_values", allowed=ALLOWED, column=one("s", "st.city", "tags.each"), ignore_case=st.booleans()),
    kind("allowed_values", allowed=one([0, 1, 5], list(range(15))), column=one("n", "d")),
    kind("length", min=st.integers(0, 2), max=3, column=one("s", "tags", "tags.each")),
    kind("regex", pattern=PATTERNS, column=one("s", "st.city"), search=st.booleans()),
    kind("compare", column=one("n", "d", "dec"), operator=OPERATORS, other=one(5, {"column": "st.n"})),
    kind("compare", column="d", operator=OPERATORS, other={"column": "odd `name`.x"}),
    kind("compare", column=one("d", "dec"), operator=OPERATORS, other=5, tolerance=Decimal("0.5")),
    kind("compare", column="day", operator=OPERATORS, other="2024-01-01"),
    kind("custom_sql", expression=one(*sorted(reference.CUSTOM))),
    kind("custom_sql", expression=one(*sorted(reference.CUSTOM))),
]

OFTEN_NONE = {
    "where": st.sampled_from(sorted(reference.WHERE)),
    "on_null": st.sampled_from(["pass", "fail"]),
    "on_fail": st.sampled_from(["observe", "warn", "degrade_consumer", "quarantine_batch", "fail_closed"]),
    "on_error": st.sampled_from(["warn", "quarantine_records", "fail_closed"]),
    "optional": st.booleans(),
    "active": st.sampled_from([True, True, False]),
    "severity": st.sampled_from(["info", "low", "high", "critical"]),
}


@st.composite
def rules(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A list of rules with unique ids, at least one of them active."""
    made = []
    for number in range(draw(st.integers(1, 10))):
        keys = draw(st.sampled_from(KINDS))
        rule = {"id": f"r{number}"} | {key: draw(values) for key, values in keys.items()}
        for key, values in OFTEN_NONE.items():
            if draw(st.integers(0, 2)) == 0:
                rule[key] = draw(values)
        if rule.get("on_fail") == "observe":
            rule["expires"] = draw(st.sampled_from(["2020-01-01", "2026-06-01", "2099-12-31"]))
        made.append({key: value for key, value in rule.items() if value is not None})
    made[0].pop("active", None)
    return made
