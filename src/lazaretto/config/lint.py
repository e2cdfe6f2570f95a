"""What is legal but suspicious. Each suspicion is one function; to add one, write it and list it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from lazaretto.config import codes
from lazaretto.config.implication import implies, never_fails
from lazaretto.config.problems import Problem
from lazaretto.config.yaml_tree import Node
from lazaretto.model.expression import columns_of
from lazaretto.model.fingerprint import rule_fingerprint
from lazaretto.model.rule import Rule
from lazaretto.model.suite import Suite
from lazaretto.model.values import Location
from lazaretto.model.words import OnError, OnFail, Severity, Takes

INACTIVE_DAYS = 90


@dataclass(frozen=True)
class Suspicion:
    """A suspicious rule, and the key that makes it so."""

    code: str
    rule: Rule
    key: str
    message: str
    hint: str | None = None


Linter = Callable[[Suite, date], Iterator[Suspicion]]


def lint(suite: Suite, today: date, node: Node | None = None) -> tuple[Problem, ...]:
    """Warnings about a suite; with its tree they point at the very key."""
    found = (suspicion for linter in LINTERS for suspicion in linter(suite, today))
    return tuple(
        Problem(s.code, codes.entry(s.code).level, _place(suite, s, node), s.message, None, s.hint) for s in found
    )


def _place(suite: Suite, suspicion: Suspicion, node: Node | None) -> Location | None:
    if node is None:
        return suspicion.rule.location
    rule = node.at(("rules", suite.rules.index(suspicion.rule)))
    child = rule.get(suspicion.key)
    return rule.place if child is None else child.key_location or child.place


def _same_rule(suite: Suite, today: date) -> Iterator[Suspicion]:
    first: dict[str, Rule] = {}
    told: set[tuple[str, str]] = set()
    for rule, instance in _instances(suite):
        demand = rule_fingerprint(_without_seriousness(instance))
        other = first.setdefault(demand, rule)
        if other is not rule and (rule.id, other.id) not in told:
            told.add((rule.id, other.id))
            of = f" of `{instance.targets[0]}`" if instance.targets else ""
            message = f"{rule.id} demands the same{of} as {other.id}"
            yield Suspicion(codes.SAME_RULE, rule, "id", message, "remove one of them")


def _single_value(suite: Suite, today: date) -> Iterator[Suspicion]:
    for rule in suite.active_rules:
        if rule.check == "allowed_values" and len(set(getattr(rule, "allowed", ()))) == 1:
            message = f"{rule.id} allows a single value"
            yield Suspicion(codes.ONE_VALUE, rule, "allowed", message, "use `compare`, or complete the list")


def _adds_nothing(suite: Suite, today: date) -> Iterator[Suspicion]:
    instances = list(_instances(suite))
    told: set[str] = set()
    for rule, instance in instances:
        if rule.id in told:
            continue
        if why := never_fails(instance):
            told.add(rule.id)
            yield Suspicion(codes.IMPLIED, rule, "id", f"{rule.id} can never fail: {why}", "remove or sharpen it")
            continue
        for other, stronger in instances:
            if other is rule or other.id in told or _harder(rule, other):
                continue
            if implies(stronger, instance):
                told.add(rule.id)
                column = instance.targets[0]
                message = f"{rule.id} adds nothing: whatever fails it on `{column}` fails {other.id} too"
                yield Suspicion(codes.IMPLIED, rule, "id", message, "remove or sharpen it")
                break


def _long_inactive(suite: Suite, today: date) -> Iterator[Suspicion]:
    for rule in suite.rules:
        if rule.active or rule.inactive_since is None:
            continue
        days = (today - rule.inactive_since).days
        if days > INACTIVE_DAYS:
            message = f"{rule.id} has been inactive for {days} days"
            yield Suspicion(codes.LONG_INACTIVE, rule, "inactive_since", message, "switch it on or delete it")


def _no_runbook(suite: Suite, today: date) -> Iterator[Suspicion]:
    for rule in suite.active_rules:
        if rule.severity is Severity.CRITICAL and not rule.runbook:
            message = f"{rule.id} is critical and has no runbook"
            yield Suspicion(codes.NO_RUNBOOK, rule, "severity", message, "add `runbook`")


def _expired(suite: Suite, today: date) -> Iterator[Suspicion]:
    for rule in suite.active_rules:
        if rule.on_fail is OnFail.OBSERVE and rule.on_fail_at(today) is not OnFail.OBSERVE:
            message = f"{rule.id} was to be observed until {rule.expires}; it warns now"
            yield Suspicion(codes.OBSERVE_EXPIRED, rule, "expires", message, "decide on its `on_fail`")


def _info_blocks(suite: Suite, today: date) -> Iterator[Suspicion]:
    hard = (OnFail.QUARANTINE_BATCH, OnFail.BLOCK_PUBLICATION, OnFail.FAIL_CLOSED)
    for rule in suite.active_rules:
        if rule.severity is Severity.INFO and rule.on_fail in hard:
            message = f"{rule.id} is of severity info and yet {rule.on_fail.value}"
            yield Suspicion(codes.INFO_BLOCKS, rule, "severity", message, "raise the severity or soften `on_fail`")


def _constant_where(suite: Suite, today: date) -> Iterator[Suspicion]:
    for rule in suite.active_rules:
        if rule.where is not None and not columns_of(rule.where):
            message = f"the `where` of {rule.id} names no column: it is the same for every row"
            yield Suspicion(codes.CONSTANT_WHERE, rule, "where", message)


def _mixed_bounds(suite: Suite, today: date) -> Iterator[Suspicion]:
    for rule in suite.active_rules:
        low, high = getattr(rule, "min", None), getattr(rule, "max", None)
        if rule.check == "range" and {type(low), type(high)} in ({int, str}, {Decimal, str}):
            message = f"{rule.id} has a number as one bound and text as the other"
            key = "min" if isinstance(low, str) else "max"
            yield Suspicion(codes.MIXED_BOUNDS, rule, key, message, "write both as numbers, without quotes")


LINTERS: tuple[Linter, ...] = (
    _same_rule,
    _single_value,
    _adds_nothing,
    _long_inactive,
    _no_runbook,
    _expired,
    _info_blocks,
    _constant_where,
    _mixed_bounds,
)


def _instances(suite: Suite) -> Iterator[tuple[Rule, Rule]]:
    """Every active rule, once for each column where it is applied column by column."""
    for rule in suite.active_rules:
        if rule.takes is Takes.ONE:
            for column in rule.targets:
                yield rule, rule.model_copy(update={"column": column, "columns": None})
        else:
            yield rule, rule


def _without_seriousness(rule: Rule) -> Rule:
    mild: dict[str, Any] = {
        "severity": Severity.MEDIUM,
        "dimension": rule.default_dimension,
        "on_fail": rule.default_on_fail,
        "on_error": OnError.BLOCK_PUBLICATION,
        "retry": 0,
        "optional": False,
        "expires": None,
        "warn_above": None,
        "block_above": None,
    }
    return rule.model_copy(update=mild)


def _harder(rule: Rule, other: Rule) -> bool:
    """Whether a rule is meant more seriously than another, so that it adds something even where both fail."""
    actions = list(OnFail)
    thresholds = rule.warn_above or rule.block_above
    return (
        rule.severity.rank > other.severity.rank
        or actions.index(rule.on_fail) > actions.index(other.on_fail)
        or thresholds is not None
    )
