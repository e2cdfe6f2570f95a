"""One suite's tree → a `Suite`, with all that is wrong in it noted."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from pydantic import ValidationError

from lazaretto.config import codes, dialects
from lazaretto.config.problems import Problems
from lazaretto.config.rules import build_rule
from lazaretto.config.shaping import keys_of
from lazaretto.config.validation import note, present, refuse_unknown, refuse_unknown_below, shaped
from lazaretto.config.yaml_tree import Node
from lazaretto.model.rule import RESERVED_PREFIX, Rule
from lazaretto.model.suite import Suite


def build_suite(node: Node, root: PurePath | None, env: str | None, problems: Problems) -> Suite | None:
    """A suite, or None if anything is wrong with it."""
    keys = refuse_unknown(present(node, problems), keys_of(Suite), problems, "a suite", _answer)
    keys = refuse_unknown_below(keys, Suite, problems)
    listed = keys.node.get("rules")
    rules = _rules(listed, problems) if listed is not None else None
    without_rules = keys.node.with_entries({k: child for k, child in keys.node.entries.items() if k != "rules"})
    data, faulty = shaped(type(keys)(without_rules, keys.faulty), Suite, problems)
    if listed is not None or "rules" in faulty:
        # Rules are judged one by one above; a stand-in keeps their faults out of what is said about the
        # suite.
        data["rules"] = rules or (_stand_in(),)
    try:
        home = {"location": node.location, "project_root": root, "environment": env}
        suite = Suite.model_validate(data | home)
    except ValidationError as error:
        note(error, keys.node, Suite, problems, faulty)
        return None
    return suite if rules and not faulty else None


def _rules(listed: Node, problems: Problems) -> tuple[Rule, ...] | None:
    """The rules, or None if anything is wrong with one of them."""
    if not listed.is_list:
        expected = "a list, each rule beginning with '- id:'"
        problems.add(codes.WRONG_KIND, listed.place, f"`rules` is {listed.kind}", expected=expected)
        return None
    rules = [build_rule(item, problems) for item in listed.items]
    distinct = _are_distinct(listed, problems)
    if not any(_inspects(item) for item in listed.items):
        message = "no rule is active: a suite that inspects nothing would certify everything"
        problems.add(codes.NO_ACTIVE_RULE, listed.place, message)
        return None
    sound = tuple(rule for rule in rules if rule is not None)
    return sound if distinct and len(sound) == len(rules) else None


def _are_distinct(listed: Node, problems: Problems) -> bool:
    first: dict[str, Node] = {}
    distinct = True
    for rule in listed.items:
        named = rule.get("id")
        if named is None or not named.text:
            continue
        if named.text not in first:
            first[named.text] = named
            continue
        distinct = False
        where = first[named.text].location
        place = f"line {where.line}" if where.file == named.location.file else str(where)
        message = f"two rules have the id {named.shown}, the first in {place}"
        problems.add(codes.DUPLICATE_RULE, named.place, message, hint="give each its own id")
    return distinct


def _inspects(rule: Node) -> bool:
    """Whether a rule judges data: neither switched off nor one of those that are there anyway."""
    named, active = rule.get("id"), rule.get("active")
    if named is not None and (named.text or "").startswith(RESERVED_PREFIX):
        return False
    return active is None or active.value is not False


def _stand_in() -> Rule:
    return Rule.model_validate({"id": "stand_in", "column": "stand_in"})


def _answer(key: str, value: Any) -> tuple[str, str] | None:
    ours = dialects.our_suite_key(key)
    if ours is None and key in keys_of(Rule):
        return codes.UNKNOWN_KEY, "it belongs to a rule: indent it below one"
    return (codes.OTHER_DIALECT, ours) if ours else None
