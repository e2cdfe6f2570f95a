"""What is legal but suspicious, and what only looks so."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from lazaretto.config import codes
from lazaretto.config.suites import load_suites

TODAY = date(2026, 11, 18)


def warned(write: Any, suite_text: Any, *rules: str) -> list[tuple[str, int]]:
    write("s.yml", suite_text("", "rules:\n" + "".join(f"  - {{{rule}}}\n" for rule in rules)))
    result = load_suites("s.yml", today=TODAY)
    assert result.errors == ()
    first = result.suites[0].rules[0].location
    assert first is not None
    return [(p.code, p.location.line - first.line) for p in result.warnings if p.location is not None]


@pytest.mark.parametrize(
    ("rules", "code", "line"),
    [
        (
            ("id: a, check: not_null, column: x", "id: b, check: not_null, column: x, severity: high"),
            codes.SAME_RULE,
            1,
        ),
        (
            ("id: a, check: not_null, columns: [x, y]", "id: b, check: not_null, column: y"),
            codes.SAME_RULE,
            1,
        ),
        (
            (
                "id: a, check: range, column: x, min: 0",
                "id: b, check: range, column: x, min: 0.0, owner: you",
            ),
            codes.SAME_RULE,
            1,
        ),
        (("id: a, check: allowed_values, column: x, allowed: [OPEN]",), codes.ONE_VALUE, 0),
        (("id: a, check: allowed_values, column: x, allowed: [OPEN, OPEN]",), codes.ONE_VALUE, 0),
        (
            (
                "id: a, check: range, column: x, min: 0, max: 100",
                "id: b, check: range, column: x, min: 10, max: 20",
            ),
            codes.IMPLIED,
            0,
        ),
        (
            ("id: a, check: range, column: x, min: 0", "id: b, check: range, column: x, min: 0, open: true"),
            codes.IMPLIED,
            0,
        ),
        (("id: a, check: not_empty, column: x", "id: b, check: not_null, column: x"), codes.IMPLIED, 1),
        (
            ("id: a, check: length, column: x, max: 5", "id: b, check: length, column: x, max: 9"),
            codes.IMPLIED,
            1,
        ),
        (
            (
                "id: a, check: allowed_values, column: x, allowed: [A, B]",
                "id: b, check: allowed_values, column: x, allowed: [A, B, C]",
            ),
            codes.IMPLIED,
            1,
        ),
        (("id: a, check: range, column: x, min: 5, max: '10'",), codes.MIXED_BOUNDS, 0),
        (("id: a, check: length, column: x, min: 0",), codes.IMPLIED, 0),
        (("id: a, check: regex, column: x, pattern: '.*', search: true",), codes.IMPLIED, 0),
        (
            (
                "id: a, check: not_null, column: x",
                "id: b, check: not_null, column: y, active: false, inactive_since: 2026-08-01",
            ),
            codes.LONG_INACTIVE,
            1,
        ),
        (("id: a, check: not_null, column: x, severity: critical",), codes.NO_RUNBOOK, 0),
        (
            ("id: a, check: not_null, column: x, on_fail: observe, expires: 2026-11-17",),
            codes.OBSERVE_EXPIRED,
            0,
        ),
        (
            ("id: a, check: not_null, column: x, severity: info, on_fail: block_publication",),
            codes.INFO_BLOCKS,
            0,
        ),
        (("id: a, check: not_null, column: x, where: 1 = 1",), codes.CONSTANT_WHERE, 0),
        (("id: a, check: not_null, column: x, where: true",), codes.CONSTANT_WHERE, 0),
    ],
)
def test_suspicious(write: Any, suite_text: Any, rules: tuple[str, ...], code: str, line: int) -> None:
    assert warned(write, suite_text, *rules) == [(code, line)]


@pytest.mark.parametrize(
    "rules",
    [
        ("id: a, check: not_null, column: x", "id: b, check: not_null, column: y"),
        ("id: a, check: not_null, column: x", "id: b, check: not_null, column: x, where: y > 1"),
        ("id: a, check: not_null, column: x", "id: b, check: not_null, column: x, active: false"),
        # The inner range holds only where its condition does.
        ("id: a, check: range, column: x, min: 0", "id: b, check: range, column: x, min: 5, where: y > 1"),
        # The wider rule is meant more seriously: outside it the data is not merely odd.
        (
            "id: a, check: range, column: x, min: 0, severity: high",
            "id: b, check: range, column: x, min: 5, on_fail: warn",
        ),
        (
            "id: a, check: range, column: x, min: 0, max: 10",
            "id: b, check: range, column: x, min: 5, max: 20",
        ),
        ("id: a, check: range, column: x, min: {column: y}", "id: b, check: range, column: x, min: 5"),
        (
            "id: a, check: allowed_values, column: x, allowed: [a, b]",
            "id: b, check: allowed_values, column: x, allowed: [A, B, a, b], ignore_case: true",
        ),
        ("id: a, check: not_empty, column: x", "id: b, check: not_null, column: x, severity: high"),
        ("id: a, check: not_null, column: x, severity: critical, runbook: 'https://wiki/x'",),
        ("id: a, check: not_null, column: x, on_fail: observe, expires: 2026-11-18",),
        (
            "id: a, check: not_null, column: x",
            "id: b, check: is_null, column: y, active: false, inactive_since: 2026-09-01",
        ),
    ],
)
def test_not_suspicious(write: Any, suite_text: Any, rules: tuple[str, ...]) -> None:
    assert warned(write, suite_text, *rules) == []


def test_warnings_point_at_the_key(write: Any, suite_text: Any) -> None:
    write(
        "s.yml",
        suite_text("", "rules:\n  - id: a\n    check: not_null\n    column: x\n    severity: critical\n"),
    )
    (problem,) = load_suites("s.yml", today=TODAY).warnings
    assert str(problem) == "s.yml:12:5: LZ-CFG-105 a is critical and has no runbook; add `runbook`"
