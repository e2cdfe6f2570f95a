"""The checks table: every rule of a suite as one row, in the shape others know, and the suite again from its rows.

The shape has no place for all that a rule says (severity, actions, thresholds …) nor for the suite around it. Those
travel in `user_metadata`, under keys of ours, so that the suite that comes back demands exactly what the one that went
in did: its fingerprint is compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pydantic import ValidationError

from lazaretto.model.errors import LazarettoError
from lazaretto.model.fingerprint import rule_fingerprint, rule_set_fingerprint
from lazaretto.model.rule import Rule
from lazaretto.model.suite import Suite
from lazaretto.model.words import OnFail, Takes

SCHEMA = (
    "name string, criticality string, "
    "check struct<function: string, for_each_column: array<string>, arguments: map<string, string>>, "
    "filter string, run_config_name string, user_metadata map<string, string>, created_at timestamp, "
    "rule_fingerprint string, rule_set_fingerprint string"
)
"""Of the table; `run_config_name` is the suite."""

SUITE_KEY, RULE_KEY = "lazaretto.suite", "lazaretto.rule"
"""Our keys in `user_metadata`: the suite without its rules, and what a rule says besides the columns."""

_IN_COLUMNS = ("id", "check", "column", "columns", "where", "metadata")
_ELSEWHERE = {"rules", "extends"}


class ChecksTableUnusable(LazarettoError):
    """The rows of a checks table do not give back the suite that they say they are."""


def rows(suite: Suite, created_at: datetime) -> list[dict[str, Any]]:
    """The active rules of a suite as rows of the table; what is switched off demands nothing."""
    head = {name: value for name, value in suite.model_dump(exclude_defaults=True).items() if name not in _ELSEWHERE}
    whole, fingerprint = _text(head), rule_set_fingerprint(suite)
    return [
        {
            "name": rule.id,
            "criticality": "warn" if rule.on_fail in (OnFail.WARN, OnFail.OBSERVE) else "error",
            "check": {
                "function": rule.check,
                "for_each_column": _each_column(rule),
                "arguments": {name: _text(value) for name, value in _arguments(rule).items()},
            },
            "filter": rule.where,
            "run_config_name": suite.suite,
            "user_metadata": rule.metadata | {SUITE_KEY: whole, RULE_KEY: _text(_rest(rule))},
            "created_at": created_at,
            "rule_fingerprint": rule_fingerprint(rule),
            "rule_set_fingerprint": fingerprint,
        }
        for rule in suite.active_rules
    ]


def suite_of(stored: Sequence[Mapping[str, Any]]) -> Suite:
    """The suite that was saved as these rows. ChecksTableUnusable if they are not what was saved."""
    if not stored:
        raise ChecksTableUnusable("no rows: the checks table does not know this suite")
    name, fingerprint = stored[0]["run_config_name"], stored[0]["rule_set_fingerprint"]
    try:
        head = _value(stored[0]["user_metadata"][SUITE_KEY])
        suite = Suite.model_validate(head | {"rules": [_rule(row) for row in stored]})
    except KeyError as error:
        raise ChecksTableUnusable(
            f"the rows of {name} were not written by lazaretto export checks: their user_metadata has no {error}"
        ) from error
    except (ValidationError, ValueError, TypeError) as error:
        raise ChecksTableUnusable(f"the rows of {name} are no suite any more: {_first_line(error)}") from error
    if rule_set_fingerprint(suite) != fingerprint:
        altered = sorted(
            rule.id for rule, row in _paired(suite, stored) if rule_fingerprint(rule) != row["rule_fingerprint"]
        )
        what = f"the rules {', '.join(altered)}" if altered else "the suite, or the number of its rules"
        raise ChecksTableUnusable(
            f"the rows of {name} do not give the fingerprint {fingerprint[:12]} they were saved with: {what} were "
            "altered, or saved by another version of Lazaretto; export the suite again"
        )
    return suite


def _each_column(rule: Rule) -> list[str] | None:
    return list(rule.columns) if rule.takes is Takes.ONE and rule.columns else None


def _arguments(rule: Rule) -> dict[str, Any]:
    """What the check is called with: its parameters, and the column or columns where they are not one by one."""
    dumped = rule.model_dump(include=set(rule.parameters()))
    given = {
        name: dumped[name]
        for name in rule.parameters()
        if type(rule).model_fields[name].is_required() or getattr(rule, name) != type(rule).model_fields[name].default
    }
    if rule.column is not None:
        given["column"] = rule.column
    elif rule.columns and rule.takes is not Takes.ONE:
        given["columns"] = list(rule.columns)
    return given


def _rest(rule: Rule) -> dict[str, Any]:
    """What a rule says that has no column of its own."""
    return rule.model_dump(exclude={*_IN_COLUMNS, *rule.parameters()}, exclude_defaults=True)


def _rule(row: Mapping[str, Any]) -> dict[str, Any]:
    called, metadata = row["check"], row["user_metadata"]
    keys = {name: _value(text) for name, text in called["arguments"].items()}
    if called["for_each_column"] is not None:
        keys["columns"] = list(called["for_each_column"])
    own = {name: value for name, value in metadata.items() if name not in (SUITE_KEY, RULE_KEY)}
    named = {"id": row["name"], "check": called["function"], "where": row["filter"], "metadata": own}
    rest: dict[str, Any] = _value(metadata[RULE_KEY])
    return keys | named | rest


def _paired(suite: Suite, stored: Sequence[Mapping[str, Any]]) -> Iterable[tuple[Rule, Mapping[str, Any]]]:
    return zip(suite.rules, stored, strict=True)


def _text(value: Any) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, sort_keys=True)


def _value(text: str) -> Any:
    return _typed(json.loads(text, parse_float=Decimal))


def _plain(value: Any) -> Any:
    """JSON that tells a number from a text and a day from a moment, as the fingerprint does."""
    match value:
        case Decimal():
            as_float = float(value)
            return as_float if Decimal(repr(as_float)) == value else {"$decimal": str(value)}
        case datetime():
            return {"$time": value.isoformat()}
        case date():
            return {"$date": value.isoformat()}
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case set() | frozenset():
            return sorted((_plain(item) for item in value), key=repr)
    return value


_TAGS: dict[str, Any] = {"$decimal": Decimal, "$time": datetime.fromisoformat, "$date": date.fromisoformat}


def _typed(value: Any) -> Any:
    if isinstance(value, list):
        return [_typed(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and (tag := next(iter(value))) in _TAGS:
        return _TAGS[tag](value[tag])
    return {key: _typed(item) for key, item in value.items()}


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error)
