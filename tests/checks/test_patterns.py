"""Reading regular expressions as Java does, and telling which ones run away."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from lazaretto.checks import formats, privacy
from lazaretto.checks.backtracking import check_pattern
from lazaretto.checks.checksums import IBAN_FORM
from lazaretto.checks.moments import check_date_pattern, form_of
from lazaretto.model.rule import Rule

SAFE = [
    "AC[0-9]{8}",
    r"(\d+,)*\d+",
    r"[a-z]+(-[a-z]+)*",
    r"(a|b)*",
    r"(ab|ac)+",
    r"(?:[0-9a-f]{32})+",
    r"([0-9a-f]{2}:){5}[0-9a-f]{2}",
    r"(a?)*",
    r"(a++)+",
    r"(?>a+)+",
    r"(a*+b)*",
    r"\d+\d+",
    r".*foo.*bar.*",
    r"\p{L}+(?: \p{Lu}\p{javaLowerCase}*)*",
    r"(?<year>\d{4})-\k<year>",
    r"(\w)\1",
    r"[]a]|[^]b]|[a-z&&[^aeiou]]",
    r"\Q(a+)+\E",
    r"\x41\x{1F600}é\u00e9\cA\0101\h\R\z",
    r"(?i:abc)(?-i)d",
    r"(?<=ab{1,3})c(?<!x)(?=y)(?!z)",
    r"a{2,}|b{3}|c{4,5}?|}",
    r"[$]{2}",
    "日本語+",
]

RUNAWAY = [
    r"(a+)+",
    r"(a*)*b",
    r"(a|a)*",
    r"(a|ab?)*b*c*(a|aa)+",
    r"(\w|\d)+",
    r"(\w+\s*)+",
    r"([a-z]+[0-9]*)*",
    r"(.*,)*.*x(.*)*",
    r"(a{1,3})+",
    r"(a{1,30}){1,30}",
    r"(?:(?:a*)?b)+",
    r"(x+x+)+y",
    r"([A-Za-z]|[a-z])*",
    r"(?=(a+)+b)c",
    r"(a+|b)*",
    r"(ä|\p{L})+",
]

INVALID = [
    ("", "empty"),
    ("(a", "never closed"),
    ("a)", "unmatched"),
    ("[a", "never closed"),
    ("[]", "never closed"),
    ("*a", "nothing to repeat"),
    ("a**", "nothing to repeat"),
    ("a{,3}", "expected {n}"),
    ("a{3,1}", "more than it allows"),
    ("{", "nothing to repeat"),
    ("a\\", "single backslash"),
    (r"\y", "no escape"),
    (r"\p{Foo}", "no property"),
    (r"[z-a]", "no range"),
    (r"(?P<n>a)", "Java writes"),
    (r"(?x) a # b", "not supported"),
    (r"(?<a>b)(?<a>c)", "cannot name"),
    (r"\k<no>", "no group"),
    (r"(?<=a+)b", "look behind"),
    (r"(?y)", "unknown kind of group"),
    (r"\Qabc", "without"),
    (r"\xZZ", "expected digits"),
]


@pytest.mark.parametrize("pattern", SAFE)
def test_sound_patterns_are_taken(pattern: str) -> None:
    check_pattern(pattern)


@pytest.mark.parametrize("pattern", RUNAWAY)
def test_patterns_that_could_run_for_ever_are_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="for ever"):
        check_pattern(pattern)


@pytest.mark.parametrize(("pattern", "reason"), INVALID)
def test_what_java_would_not_understand_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        check_pattern(pattern)


def test_case_matters_for_what_is_ambiguous() -> None:
    check_pattern("(a|A)*")
    with pytest.raises(ValueError, match="for ever"):
        check_pattern("(a|A)*", ignore_case=True)
    with pytest.raises(ValueError, match="for ever"):
        check_pattern("(?i)(a|A)*")


def test_our_own_patterns_are_sound() -> None:
    for check in vars(formats).values():
        if isinstance(check, type) and issubclass(check, formats.TextFormat) and check.form:
            check_pattern(check.form)
    check_pattern(IBAN_FORM)
    for name, pattern in vars(privacy).items():
        if name.startswith("_") and name.isupper() and isinstance(pattern, str):
            check_pattern(pattern)
    for pattern in privacy._NATIONAL_IDS.values():
        check_pattern(pattern)


def test_the_test_itself_does_not_run_away() -> None:
    started = time.perf_counter()
    for pattern in (
        "(a|b|c|d|e|f|g|h)*" * 20,
        "(" * 30 + "a" + ")?" * 30,
        "[a-z]{1,1000}" * 50,
        "(abc|" * 20 + ")" * 20,
        "(" * 8 + "a|b?" + "){1,12}" * 8,
    ):
        try:
            check_pattern(pattern)
        except ValueError:
            continue
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("YYYY-MM-DD", "year of the week"),
        ("yyyy-MM-DD", "day of the year"),
        ("yyyy-mm-dd", "minute"),
        ("%Y-%m-%d", "not Python's"),
        ("yyyy-MM-ddTHH", "quotes"),
        ("yyyy-MM-dd[HH", "not closed"),
        ("ddd", "too long"),
        ("--", "no part"),
    ],
)
def test_date_patterns_that_spark_cannot_read_are_refused(pattern: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        check_date_pattern(pattern)


def test_date_patterns_become_forms() -> None:
    assert form_of("dd/MM/yy") == "[0-9]{2}/[0-9]{2}/[0-9]{2}"
    assert form_of("yyyy'T'[SSS]") == "(?!0{4})[0-9]{4}T(?:[0-9]{3})?"


def test_a_bad_pattern_is_refused_with_the_rule(rule: Callable[..., Rule]) -> None:
    for check in ("regex", "masked"):
        with pytest.raises(ValueError, match="for ever"):
            rule(check, pattern="(a+)+")
    with pytest.raises(ValueError, match="minute"):
        rule("date_format", pattern="yyyy-mm-dd")
