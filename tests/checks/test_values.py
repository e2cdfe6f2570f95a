"""All other checks on real values: right, wrong, at the boundary, NULL, NaN and in other scripts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

NAN = float("nan")
STEPS = {"OPEN": ["CLOSED", "HELD"], "HELD": ["OPEN"], "CLOSED": []}

CASES: list[tuple[str, dict[str, Any], str, list[tuple[Any, ...]]]] = [
    ("not_null", {}, "string", [("x", True), ("", True), (None, False)]),
    ("not_null", {}, "variant", [("1", True), ("null", False), (None, False)]),
    (
        "not_empty",
        {},
        "string",
        [("x", True), (" ٣ ", True), ("", False), (" \t\n", False), ("\u00a0\u3000", False), (None, None)],
    ),
    ("not_empty", {}, "array<string>", [(["x"], True), ([None], True), ([], False), (None, None)]),
    ("not_empty", {}, "map<string,int>", [({"a": 1}, True), ({}, False), (None, None)]),
    ("is_null", {}, "int", [(1, False), (None, True)]),
    ("is_null", {}, "variant", [("1", False), ("null", True), (None, True)]),
    # bounds
    ("range", {"min": 0, "max": 10}, "int", [(0, True), (10, True), (-1, False), (11, False), (None, None)]),
    ("range", {"min": 0, "max": 10, "open": True}, "int", [(0, False), (1, True), (10, False)]),
    (
        "range",
        {"min": 0.1},
        "double",
        [(0.1, True), (0.05, False), (NAN, False), (float("inf"), True), (-0.0, False), (None, None)],
    ),
    (
        "range",
        {"min": Decimal("-0.01"), "max": 10**20},
        "decimal(38,2)",
        [
            (Decimal("-0.01"), True),
            (Decimal("-0.02"), False),
            (Decimal(10**20), True),
            (Decimal(10**20 + 1), False),
        ],
    ),
    (
        "range",
        {"min": 2, "max": 10},
        "string",
        [("9", True), ("9.5", True), ("11", False), ("abc", "error"), (None, None)],
    ),
    (
        "range",
        {"min": "2024-01-01", "max": date(2024, 12, 31)},
        "date",
        [(date(2024, 1, 1), True), (date(2023, 12, 31), False), (date(2025, 1, 1), False)],
    ),
    (
        "range",
        {"max": "2024-01-01T12:00:00Z"},
        "timestamp",
        [(datetime(2024, 1, 1, 12), True), (datetime(2024, 1, 1, 12, 0, 0, 1), False), (None, None)],
    ),
    ("range", {"min": datetime(2024, 1, 1, 12)}, "timestamp_ntz", [(datetime(2024, 1, 1, 12), True)]),
    (
        "range",
        {"max": {"column": "other"}},
        "int | int",
        [(1, 2, True), (3, 2, False), (1, None, None), (None, 1, None)],
    ),
    (
        "length",
        {"min": 2, "max": 3},
        "string",
        [("a", False), ("äö", True), ("😀😀😀", True), ("abcd", False), (None, None)],
    ),
    ("length", {"max": 1}, "array<int>", [([1], True), ([1, 2], False), ([], True), (None, None)]),
    ("length", {"min": 1}, "map<string,int>", [({}, False), ({"a": 1}, True), (None, None)]),
    ("length", {"max": 2}, "binary", [(b"\xff\xff", True), (b"abc", False), (None, None)]),
    ("length", {"max": 3}, "int", [(123, True), (1234, False)]),
    # patterns
    (
        "regex",
        {"pattern": "AC[0-9]{2}|B"},
        "string",
        [
            ("AC12", True),
            ("B", True),
            ("AC12B", False),
            ("xB", False),
            ("B\n", False),
            ("", False),
            (None, None),
        ],
    ),
    ("regex", {"pattern": "[0-9]+", "search": True}, "string", [("a1b", True), ("ab", False), ("٣", False)]),
    ("regex", {"pattern": "straße", "ignore_case": True}, "string", [("STRAßE", True), ("ÄB", False)]),
    ("regex", {"pattern": "É", "ignore_case": True}, "string", [("é", True), ("e", False)]),
    ("regex", {"pattern": r"it's \\ \Q(\E\$\{x\}"}, "string", [("it's \\ (${x}", True), ("its", False)]),
    ("regex", {"pattern": r"\p{L}+(?>x|y)++"}, "string", [("ä", False), ("1", False)]),
    ("regex", {"pattern": "1[0-9]*"}, "int", [(12, True), (21, False), (None, None)]),
    (
        "date_format",
        {"pattern": "yyyy-MM-dd"},
        "string",
        [
            ("2024-02-29", True),
            ("2023-02-29", False),
            ("2024-02-30", False),
            ("2024-2-3", False),
            ("2024-02-03 ", False),
            ("+12024-02-03", False),
            ("-2024-02-03", False),
            ("0000-01-01", False),
            ("٢٠٢٤-٠٢-٠٣", False),
            ("2024-02-03\n", False),
            ("", False),
            (None, None),
        ],
    ),
    (
        "date_format",
        {"pattern": "yyyy-MM-dd HH:mm:ss[.SSS]"},
        "string",
        [
            ("2024-01-01 10:00:00.500", True),
            ("2024-01-01 10:00:00", True),
            ("2024-01-01 10:00:00.5", False),
            ("2024-01-01 24:00:00", False),
            ("2024-03-31 02:30:00", True),
        ],
    ),
    (
        "date_format",
        {"pattern": "yyyy-MM-dd'T'HH:mm:ssXXX"},
        "string",
        [("2024-01-01T10:00:00+04:00", True), ("2024-01-01T10:00:00Z", True), ("2024-01-01T10:00:00", False)],
    ),
    (
        "date_format",
        {"pattern": "d MMM yyyy"},
        "string",
        [("1 Feb 2024", True), ("30 Feb 2024", False), ("1 Foo 2024", False)],
    ),
    ("date_format", {"pattern": "yyyyMMdd"}, "int", [(20240229, True), (20230229, False), (None, None)]),
    # sets
    (
        "allowed_values",
        {"allowed": ["A", "it's", r"b\n", "${x}"]},
        "string",
        [
            ("A", True),
            ("it's", True),
            (r"b\n", True),
            ("${x}", True),
            ("a", False),
            (" A", False),
            ("", False),
            (None, None),
        ],
    ),
    (
        "allowed_values",
        {"allowed": ["NO", True, 10, Decimal("1.50")]},
        "string",
        [("NO", True), ("true", True), ("10", True), ("1.50", True), ("1.5", False)],
    ),
    (
        "allowed_values",
        {"allowed": ["ÄB", "c "], "ignore_case": True, "trim": True},
        "string",
        [(" äb ", True), ("C", True), ("d", False), (None, None)],
    ),
    (
        "allowed_values",
        {"allowed": [1, 2]},
        "decimal(10,2)",
        [(Decimal("1.00"), True), (Decimal("1.01"), False), (None, None)],
    ),
    (
        "allowed_values",
        {"allowed": ["2024-01-01"]},
        "date",
        [(date(2024, 1, 1), True), (date(2024, 1, 2), False)],
    ),
    ("allowed_values", {"allowed": [True]}, "boolean", [(True, True), (False, False), (None, None)]),
    (
        "forbidden_values",
        {"forbidden": ["N/A", "-"]},
        "string",
        [("x", True), ("N/A", False), ("n/a", True), (None, None)],
    ),
    (
        "forbidden_values",
        {"forbidden": ["n/a"], "ignore_case": True, "trim": True},
        "string",
        [(" N/A ", False), ("x", True)],
    ),
    # types
    (
        "castable",
        {"type": "int"},
        "string",
        [
            ("12", True),
            (" 12 ", True),
            ("1.5", False),
            ("abc", False),
            ("", False),
            ("2147483648", False),
            (None, None),
        ],
    ),
    (
        "castable",
        {"type": "decimal(5,2)"},
        "string",
        [("999.99", True), ("1000", False), ("1e2", True), ("x", False)],
    ),
    (
        "castable",
        {"type": "date"},
        "string",
        [("2024-02-29", True), ("2024-02-30", False), ("today", False), ("epoch", False), (None, None)],
    ),
    (
        "castable",
        {"type": "date", "format": "dd/MM/yyyy"},
        "string",
        [("29/02/2024", True), ("2024-02-29", False), (None, None)],
    ),
    (
        "castable",
        {"type": "timestamp"},
        "string",
        [("2024-01-01 10:00:00", True), ("now", False), ("x", False)],
    ),
    (
        "castable",
        {"type": "decimal(10,2)", "format": "999,999.99"},
        "string",
        [("1,234.50", True), ("abc", False), ("1.234,50", False), (None, None)],
    ),
    ("castable", {"type": "boolean"}, "string", [("true", True), ("maybe", False)]),
    ("castable", {"type": "tinyint"}, "bigint", [(127, True), (128, False), (None, None)]),
    # comparison
    (
        "compare",
        {"operator": ">=", "other": "other"},
        "date | date",
        [
            (date(2024, 1, 2), date(2024, 1, 2), True),
            (date(2024, 1, 1), date(2024, 1, 2), False),
            (None, date(2024, 1, 2), None),
            (date(2024, 1, 1), None, None),
        ],
    ),
    (
        "compare",
        {"operator": "!=", "other": {"value": "it's"}},
        "string",
        [("x", True), ("it's", False), (None, None)],
    ),
    (
        "compare",
        {"operator": "=", "other": {"column": "other"}},
        "string",
        [("a", "a", True), ("a", "A", False)],
    ),
    ("compare", {"operator": ">", "other": 10}, "string", [("9.5", False), ("10.5", True), ("x", "error")]),
    ("compare", {"operator": ">", "other": 0}, "double", [(NAN, False), (0.1, True), (None, None)]),
    (
        "compare",
        {"operator": "<", "other": "2024-01-02"},
        "date",
        [(date(2024, 1, 1), True), (date(2024, 1, 2), False)],
    ),
    (
        "compare",
        {"operator": "=", "other": "other", "tolerance": "0.01"},
        "decimal(10,2) | decimal(12,3)",
        [
            (Decimal("1.00"), Decimal("1.010"), True),
            (Decimal("1.00"), Decimal("1.011"), False),
            (Decimal("1.00"), None, None),
        ],
    ),
    (
        "compare",
        {"operator": "=", "other": 200, "tolerance": "1%"},
        "int",
        [(198, True), (202, True), (197, False), (203, False)],
    ),
    ("compare", {"operator": "=", "other": -200, "tolerance": "1%"}, "int", [(-198, True), (-203, False)]),
    ("compare", {"operator": "!=", "other": 10, "tolerance": 1}, "int", [(11, False), (12, True)]),
    ("compare", {"operator": "<=", "other": 10, "tolerance": 1}, "int", [(11, True), (12, False)]),
    (
        "compare",
        {"operator": ">=", "other": "other", "tolerance": "10%"},
        "double | double",
        [(90.0, 100.0, True), (89.0, 100.0, False), (NAN, 1.0, False)],
    ),
    # logic
    (
        "custom_sql",
        {"expression": "length(other) > 1 OR other = 'x'"},
        "string",
        [("", "ab", True), ("", "y", False), ("", None, None)],
    ),
    (
        "consistency",
        {"if": "value = 'C'", "then": "other > '2'"},
        "string",
        [("C", "3", True), ("C", "1", False), ("C", None, None), ("D", "1", True), (None, "1", True)],
    ),
    (
        "transition",
        {"from": "other", "allowed": STEPS},
        "string",
        [
            ("CLOSED", "OPEN", True),
            ("OPEN", "HELD", True),
            ("OPEN", "CLOSED", False),
            ("OPEN", "OPEN", False),
            ("OPEN", "elsewhere", False),
            ("elsewhere", "OPEN", False),
            ("OPEN", None, None),
            (None, "OPEN", None),
            (None, "CLOSED", None),
        ],
    ),
    (
        "transition",
        {"from": "other", "allowed": STEPS, "initial": ["OPEN"], "stay": True},
        "string",
        [("OPEN", None, True), ("HELD", None, False), ("CLOSED", "CLOSED", True), (None, None, None)],
    ),
    ("transition", {"from": "other", "allowed": {1: [2]}}, "int | int", [(2, 1, True), (1, 2, False)]),
    # time; the clock stands at 2026-06-01 12:00
    (
        "event_time",
        {"max_future": "5m"},
        "timestamp",
        [
            (datetime(2026, 6, 1, 12, 5), True),
            (datetime(2026, 6, 1, 12, 5, 0, 1), False),
            (datetime(1900, 1, 1), True),
            (None, None),
        ],
    ),
    (
        "event_time",
        {"not_before": "2000-01-01", "max_future": "0s"},
        "date",
        [(date(2000, 1, 1), True), (date(1999, 12, 31), False), (date(2026, 6, 2), False)],
    ),
    (
        "event_time",
        {"max_future": "1d"},
        "string",
        [("2026-06-02 11:00:00", True), ("2026-06-03", False), ("soon", "error"), (None, None)],
    ),
    (
        "event_time",
        {"not_before": datetime(2000, 1, 1, 6)},
        "timestamp_ntz",
        [(datetime(2000, 1, 1, 6), True), (datetime(2000, 1, 1, 5), False)],
    ),
]

IDS = [f"{check}-{number}" for number, (check, *_) in enumerate(CASES)]


@pytest.fixture(scope="module")
def verdicts(judge: Callable[..., list[list[tuple[Any, Any]]]]) -> list[list[tuple[Any, Any]]]:
    return judge(CASES)


@pytest.mark.parametrize("number", range(len(CASES)), ids=IDS)
def test_values_are_judged_as_expected(number: int, verdicts: list[list[tuple[Any, Any]]]) -> None:
    rows = CASES[number][3]
    found = {repr(row[:-1]): verdict for row, verdict in zip(rows, verdicts[number], strict=True)}
    assert found == {repr(row[:-1]): (row[-1], row[-1]) for row in rows}
