"""Parameters: what is taken, what is refused and with which words; what a check says about itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from lazaretto.model.fingerprint import rule_fingerprint
from lazaretto.model.rule import Rule, Site
from lazaretto.model.units import duration_words, parse_duration, parse_size

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("range", {}, "needs `min`"),
    ("range", {"min": 2, "max": 1}, "greater than max"),
    ("range", {"min": 1, "max": 1, "open": True}, "no value could pass"),
    ("range", {"min": "2024-02-30"}, "not a date"),
    ("range", {"min": "2024-02-02", "max": "2024-01-01"}, "greater than max"),
    ("length", {}, "needs `min`"),
    ("length", {"min": 3, "max": 2}, "greater than max"),
    ("length", {"min": -1}, "greater than or equal to 0"),
    ("allowed_values", {"allowed": []}, "at least 1"),
    ("allowed_values", {"allowed": "A"}, r"expected a list: \[A\]"),
    ("allowed_values", {"allowed": ["A", None]}, "on_null"),
    ("forbidden_values", {"forbidden": [None]}, "on_null"),
    ("allowed_values", {"allowed": [["A"]]}, "single value"),
    ("castable", {"type": "number"}, "no type 'number'"),
    ("castable", {"type": "decimal(39,2)"}, "from 1 to 38"),
    ("castable", {"type": "array<int>"}, "simple type"),
    ("castable", {"type": "dat"}, "did you mean date"),
    ("castable", {"type": "boolean", "format": "x"}, "takes no `format`"),
    ("castable", {"type": "int", "format": "yyyy"}, "mask"),
    ("castable", {"type": "date", "format": "YYYY"}, "year of the week"),
    ("compare", {"operator": "eq", "other": 1}, "'=', '!=', '<', '<=', '>' or '>='"),
    ("compare", {"operator": "=", "other": {"columns": "x"}}, "{column: name} or {value: text}"),
    ("compare", {"operator": "=", "other": 1, "tolerance": "-1"}, "expected a number"),
    ("compare", {"operator": "=", "other": "2024-01-01", "tolerance": 1}, "for numbers"),
    ("compare", {"operator": "=", "other": {"value": "x"}, "tolerance": "1%"}, "for numbers"),
    ("custom_sql", {"expression": "a > (SELECT 1)"}, "."),
    ("consistency", {"if": "a > 1"}, "Field required"),
    ("transition", {"from": "p", "allowed": {}}, "at least 1"),
    ("transition", {"from": "p", "allowed": {"A": "B"}}, "list of states"),
    ("transition", {"from": "p", "allowed": {"A": [None]}}, "not a state"),
    ("transition", {"from": "p", "allowed": {"A": [True]}}, "not a state"),
    ("url", {"schemes": ["http://"]}, "not a scheme"),
    ("event_time", {}, "needs `max_future`"),
    ("event_time", {"max_future": 5}, "expected a duration"),
    ("event_time", {"not_before": "soon"}, "expected a date"),
    ("event_time", {"not_before": "2024-02-30"}, "not a date"),
    ("no_pii", {"detectors": ["name"]}, "email"),
    ("masked", {"pattern": "a", "visible": 2}, "not both"),
    ("masked", {"form": "sha256", "visible": 2}, "belong to"),
    ("referential_integrity", {"reference": {"table": "a.b", "columns": ["x", "y"]}}, "pair them up"),
    ("referential_integrity", {"reference": {"table": "a.b", "valid_from": "f"}}, "need `event_time`"),
    ("referential_integrity", {"reference": {"table": "a.b"}, "event_time": "t"}, "valid_from"),
    ("referential_integrity", {"reference": {"table": "a.b"}, "broadcast_below": "big"}, "64MB"),
]


@pytest.mark.parametrize(("check", "parameters", "words"), REFUSED)
def test_nonsense_is_refused_in_words(
    check: str, parameters: dict[str, Any], words: str, rule: Callable[..., Rule]
) -> None:
    with pytest.raises(ValueError, match=words):
        rule(check, **parameters)


EXPECTS: list[tuple[str, dict[str, Any], str]] = [
    ("range", {"min": 0, "max": {"column": "limit"}}, ">= 0 and <= column limit"),
    ("range", {"min": 0.5, "open": True}, "> 0.5"),
    ("length", {"min": 2, "max": 2}, "a length of 2"),
    ("regex", {"pattern": "a+"}, "text matching a+"),
    ("regex", {"pattern": "a+", "search": True}, "text containing a+"),
    ("allowed_values", {"allowed": ["A", 1, True]}, "one of A, 1, true"),
    ("allowed_values", {"allowed": list(range(12))}, "one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … (12 in all)"),
    ("castable", {"type": "DECIMAL(18, 2)"}, "a value readable as decimal(18,2)"),
    ("compare", {"operator": "<=", "other": "limit", "tolerance": 0.01}, "<= column limit (within 0.01)"),
    ("compare", {"operator": "=", "other": 5, "tolerance": "1.5%"}, "= 5 (within 1.5%)"),
    ("compare", {"operator": "=", "other": {"value": "x"}}, "= x"),
    ("consistency", {"if": "a > 1", "then": "b > 2"}, "b > 2 if a > 1"),
    ("transition", {"from": "p", "allowed": {"A": ["B"], "B": []}}, "an allowed step: A → B, B → nothing"),
    ("event_time", {"max_future": "300s"}, "a time at most 5m in the future"),
    ("event_time", {"not_before": "2000-01-01"}, "a time not before 2000-01-01"),
    ("no_pii", {"detectors": ["card", "iban"]}, "no card numbers, IBANs"),
    ("referential_integrity", {"reference": {"table": "r.a", "where": "b"}}, "a key in r.a (value) where b"),
]


@pytest.mark.parametrize(("check", "parameters", "words"), EXPECTS)
def test_expectations_are_readable(
    check: str, parameters: dict[str, Any], words: str, rule: Callable[..., Rule]
) -> None:
    assert rule(check, **parameters).expects() == words


MISFITS: list[tuple[str, dict[str, Any], str]] = [
    ("range", {"min": 0}, "struct<a:int>"),
    ("length", {"min": 0}, "struct<a:int>"),
    ("regex", {"pattern": "a"}, "array<string>"),
    ("date_format", {"pattern": "yyyy"}, "date"),
    ("allowed_values", {"allowed": ["A"]}, "int"),
    ("allowed_values", {"allowed": ["A"]}, "date"),
    ("castable", {"type": "int"}, "date"),
    ("castable", {"type": "int"}, "map<string,int>"),
    ("compare", {"operator": "=", "other": "x", "tolerance": 1}, "date"),
    ("compare", {"operator": "<", "other": "x"}, "map<string,int>"),
    ("email", {}, "struct<a:int>"),
    ("event_time", {"max_future": "5m"}, "int"),
]


@pytest.mark.parametrize(("check", "parameters", "type_name"), MISFITS)
def test_types_that_cannot_work_are_told(
    check: str, parameters: dict[str, Any], type_name: str, rule: Callable[..., Rule]
) -> None:
    assert rule(check, **parameters).misfit(type_name)
    assert rule(check, **parameters).misfit(None) is None


def test_other_columns_are_mentioned(rule: Callable[..., Rule]) -> None:
    assert rule("range", min={"column": "a"}, max={"column": "b"}).mentions() == ("a", "b")
    assert rule("compare", operator="=", other="a").mentions() == ("a",)
    assert rule("compare", operator="=", other={"value": "a"}).mentions() == ()
    assert rule("transition", **{"from": "p"}, allowed={"A": []}).mentions() == ("p",)
    reference = {"table": "a.b", "valid_to": "until"}
    assert rule("referential_integrity", reference=reference, event_time="t").mentions() == ("t",)


def test_users_sql_is_declared(rule: Callable[..., Rule]) -> None:
    assert rule("custom_sql", expression="a > 1", where="b").expressions() == ("b", "a > 1")
    assert rule("consistency", **{"if": "a"}, then="b").expressions() == ("a", "b")


def test_keys_that_are_words_of_python_have_names_in_python(rule: Callable[..., Rule]) -> None:
    assert rule("consistency", if_="a", then="b") == rule("consistency", **{"if": "a"}, then="b")
    assert rule("transition", from_="p", allowed={"A": []}).mentions() == ("p",)


def test_a_lookup_pairs_columns_with_keys(rule: Callable[..., Rule]) -> None:
    both = rule(
        "referential_integrity",
        column=None,
        columns=["a", "b"],
        reference={"table": "r.t", "columns": ["x", "y"]},
        broadcast_below="64MB",
    )
    lookup = both.lookup()
    assert lookup is not None
    assert (lookup.columns, lookup.keys, lookup.broadcast_below) == (("a", "b"), ("x", "y"), 64 * 2**20)
    own_names = rule("referential_integrity", reference={"table": "r.t"}).lookup()
    assert own_names is not None
    assert own_names.keys == ("value",)
    assert both.passes(Site("", found="hit")) == "hit"


SAME: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("allowed_values", {"allowed": ["A", "B"]}, {"allowed": ["B", "A"]}),
    ("no_pii", {"detectors": ["card", "iban"]}, {"detectors": ["iban", "card"]}),
    ("castable", {"type": "decimal(18,2)"}, {"type": "DEC(18, 2)"}),
    ("event_time", {"max_future": "60m"}, {"max_future": "1h"}),
    ("compare", {"operator": "=", "other": "x"}, {"operator": "=", "other": {"column": "x"}}),
    ("transition", {"from": "p", "allowed": {"A": ["B", "C"]}}, {"from": "p", "allowed": {"A": ["C", "B"]}}),
    (
        "referential_integrity",
        {"reference": {"table": "a.b"}},
        {"reference": {"table": "a.b"}, "broadcast_below": 1},
    ),
]


@pytest.mark.parametrize(("check", "one", "two"), SAME)
def test_what_means_the_same_has_the_same_fingerprint(
    check: str, one: dict[str, Any], two: dict[str, Any], rule: Callable[..., Rule]
) -> None:
    assert rule_fingerprint(rule(check, **one)) == rule_fingerprint(rule(check, **two))


DIFFERENT: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("allowed_values", {"allowed": ["1"]}, {"allowed": [1]}),
    ("compare", {"operator": "=", "other": "x"}, {"operator": "=", "other": {"value": "x"}}),
    (
        "compare",
        {"operator": "=", "other": 1, "tolerance": 1},
        {"operator": "=", "other": 1, "tolerance": "1%"},
    ),
    ("regex", {"pattern": "a"}, {"pattern": "a", "search": True}),
    ("transition", {"from": "p", "allowed": {"A": []}}, {"from": "p", "allowed": {"A": []}, "initial": []}),
]


@pytest.mark.parametrize(("check", "one", "two"), DIFFERENT)
def test_what_means_something_else_has_another_fingerprint(
    check: str, one: dict[str, Any], two: dict[str, Any], rule: Callable[..., Rule]
) -> None:
    assert rule_fingerprint(rule(check, **one)) != rule_fingerprint(rule(check, **two))


def test_durations_and_sizes() -> None:
    assert parse_duration(" 2d ") == timedelta(days=2)
    assert [duration_words(parse_duration(w)) for w in ("0s", "90s", "120s", "24h", "14d")] == [
        "0s",
        "90s",
        "2m",
        "1d",
        "2w",
    ]
    assert parse_size("1kb") == 1024
    assert parse_size(5) == 5
    for wrong in ("5", "5 min", "-5m", "٥m", 5, None, "9" * 30 + "w"):
        with pytest.raises(ValueError, match=r"duration|longer"):
            parse_duration(wrong)
    for wrong in ("5", "MB", -1, True):
        with pytest.raises(ValueError, match="size"):
            parse_size(wrong)
