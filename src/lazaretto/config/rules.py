"""One entry of `rules:` → an instance of the check it names."""

from __future__ import annotations

import difflib
from functools import cache
from typing import Any

from pydantic import ValidationError

from lazaretto.config import codes, dialects
from lazaretto.config.problems import Problems
from lazaretto.config.shaping import keys_of
from lazaretto.config.validation import (
    Answer,
    Keys,
    note,
    present,
    refuse_unknown,
    refuse_unknown_below,
    shaped,
)
from lazaretto.config.yaml_tree import Node
from lazaretto.model import catalogue
from lazaretto.model.rule import RESERVED_PREFIX, Rule
from lazaretto.model.words import Takes

_TOGETHER = (
    frozenset(("column", "columns")),
    frozenset(("severity", "warn_above", "block_above")),
    frozenset(("on_fail", "expires")),
    frozenset(("active", "inactive_since")),
)
"""Keys that are judged together: where one is wrong, nothing can be said about the others."""


def build_rule(node: Node, problems: Problems) -> Rule | None:
    """A rule from its mapping, or None if anything is wrong with it; all that is wrong is noted."""
    if not node.is_mapping:
        problems.add(
            codes.WRONG_KIND,
            node.place,
            f"a rule is {node.kind}",
            expected="keys and values: id, check, column, ...",
        )
        return None
    before = len(problems.errors)
    keys = present(node, problems)
    check = _check_of(keys, problems)
    if check is None:
        _judge_without_check(keys, problems)
        return None
    keys = refuse_unknown(keys, keys_of(check), problems, f"the check {check.name}", _answer_for(check))
    keys = refuse_unknown_below(_with_nested(node, keys, check), check, problems)
    data, faulty = shaped(keys, check, problems)
    data["check"] = check.name
    if not faulty:
        try:
            return check.model_validate(data | {"location": node.location})
        except ValidationError:
            pass  # told below, in two passes that find more than the first mistake
    sound = _judge_common(check, data, Keys(keys.node, faulty), problems)
    _judge_parameters(check, sound, data, Keys(keys.node, faulty), problems)
    if len(problems.errors) == before and not faulty:
        _judge_whole(check, data, keys.node, problems)  # a fault that shows only where all keys come together
    return None


def _with_nested(node: Node, keys: Keys, check: type[Rule]) -> Keys:
    """Where parameters hide under `arguments`, which was told, none of them is missing as well."""
    hidden = any(dialects.fold(key) in dialects.NESTED and child.is_mapping for key, child in node.entries.items())
    return Keys(keys.node, keys.faulty | (set(keys_of(check)) - set(node.entries) - {"id"})) if hidden else keys


def _check_of(keys: Keys, problems: Problems) -> type[Rule] | None:
    """The check a rule names; what is wrong with the name is noted."""
    node = keys.node
    named, rule_id = node.get("check"), node.get("id")
    if named is None:
        return _check_unnamed(keys, rule_id, problems)
    if (function := named.get("function")) is not None:
        meant = dialects.our_check(function.shown) or function.shown
        hint = f"write `check: {meant}`, and its arguments as keys of the rule itself"
        problems.add(codes.OTHER_DIALECT, named.place, "`check` is a mapping", hint=hint)
        return None
    if not isinstance(named.value, str):
        problems.add(codes.WRONG_KIND, named.place, f"`check` is {named.kind}", expected="the name of a check")
        return None
    try:
        return catalogue.find(named.value)
    except catalogue.UnknownCheck as unknown:
        ours = dialects.our_check(named.value)
        message = f"there is no check `{named.shown}`"
        if ours and ours in _names():
            problems.add(codes.OTHER_DIALECT, named.place, message, hint=f"write `check: {ours}`")
            return catalogue.find(ours)
        hint = f"did you mean {unknown.nearest}?" if unknown.nearest else "`lazaretto checks` lists them"
        problems.add(codes.UNKNOWN_CHECK, named.place, message, hint=hint)
        # Judged as the check it nearly names, so that one run tells all; a vague likeness would only mislead.
        return catalogue.find(unknown.nearest) if unknown.nearest and _alike(named.value, unknown.nearest) else None


def _check_unnamed(keys: Keys, rule_id: Node | None, problems: Problems) -> type[Rule] | None:
    if rule_id is not None and isinstance(rule_id.value, str) and rule_id.value.startswith(RESERVED_PREFIX):
        reserved = [name for name in _names() if name.startswith(RESERVED_PREFIX)]
        if rule_id.value in reserved:
            return catalogue.find(rule_id.value)
        message = f"there is no built-in rule `{rule_id.shown}`"
        problems.add(codes.UNKNOWN_CHECK, rule_id.place, message, expected=f"one of {', '.join(reserved)}")
        return None
    for key, child in keys.node.entries.items():
        if dialects.fold(key) in dialects.CHECK_KEYS and isinstance(child.value, str):
            ours = child.value if child.value in _names() else dialects.our_check(child.value)
            if ours in _names():  # judged as that check; the key itself is told as one of another tool
                return catalogue.find(str(ours))
    telling = dialects.CHECK_KEYS | dialects.KEYS_THAT_ARE_CHECKS
    if "check" not in keys.faulty and not any(dialects.fold(key) in telling for key in keys.node.entries):
        problems.add(codes.MISSING_KEY, keys.node.place, "`check` is missing", hint="`lazaretto checks` lists them")
    return None


def _judge_without_check(keys: Keys, problems: Problems) -> None:
    """Without a check, only the keys of every rule can be judged; a parameter of any check may be right."""
    parameters = {key for check in catalogue.all_checks() for key in keys_of(check)}
    known = (*keys_of(Rule), *sorted(parameters - set(keys_of(Rule))))
    suspects = {k: n for k, n in keys.node.entries.items() if k not in known or dialects.fold(k) in dialects.CHECK_KEYS}
    answer = _answer_for(Rule)
    refuse_unknown(Keys(keys.node.with_entries(suspects), frozenset()), keys_of(Rule), problems, "a rule", answer)
    kept = {key: child for key, child in keys.node.entries.items() if key in keys_of(Rule) and key != "check"}
    faulty = keys.faulty | {"column", "columns"}  # whether the check takes any is not known
    if (keys.node.at(("id",)).text or "").startswith(RESERVED_PREFIX):
        faulty |= {"id"}  # told already
    remaining = Keys(keys.node.with_entries(kept), faulty)
    data, faulty = shaped(remaining, Rule, problems)
    _judge_common(Rule, data, Keys(remaining.node, faulty), problems)


def _judge_common(check: type[Rule], data: dict[str, Any], keys: Keys, problems: Problems) -> dict[str, Any]:
    """Judge the keys that every rule has until nothing is wrong with those left; these are returned."""
    common = _common_part(check)
    rest = {key: value for key, value in data.items() if key in keys_of(Rule)}
    bad = set(keys.faulty)
    for _ in range(len(_TOGETHER) + 2):
        for group in _TOGETHER:
            if bad & group:
                rest = {key: value for key, value in rest.items() if key not in group}
        rest = {key: value for key, value in rest.items() if key not in bad}
        if "id" in bad:
            rest["id"] = "unnamed"
        if bad & _TOGETHER[0] and check.takes in (Takes.ONE, Takes.MANY):
            rest["column"] = "unnamed"
        try:
            common.model_validate(rest)
            break
        except ValidationError as error:
            bad |= note(error, keys.node, common, problems, frozenset())
    return rest


def _judge_parameters(
    check: type[Rule], sound: dict[str, Any], data: dict[str, Any], keys: Keys, problems: Problems
) -> None:
    parameters = {key: value for key, value in data.items() if key not in keys_of(Rule)}
    try:
        check.model_validate(sound | parameters)
    except ValidationError as error:
        own = {key for key in keys.faulty if key not in keys_of(Rule) and key.split(".")[0] in keys_of(check)}
        note(error, keys.node, check, problems, frozenset(own))


def _judge_whole(check: type[Rule], data: dict[str, Any], node: Node, problems: Problems) -> None:
    try:
        check.model_validate(data)
    except ValidationError as error:
        note(error, node, check, problems, frozenset())


@cache
def _common_part(check: type[Rule]) -> type[Rule]:
    """The check without its parameters; named afterwards, so that it does not enter the catalogue."""
    common: type[Rule] = type(f"{check.__name__}Common", (Rule,), {"__module__": __name__})
    common.name, common.takes = check.name, check.takes
    common.default_on_fail, common.default_on_null = check.default_on_fail, check.default_on_null
    return common


def _answer_for(check: type[Rule]) -> Answer:
    parameters = keys_of(check)

    def answer(key: str, value: Any) -> tuple[str, str] | None:
        if ours := dialects.our_rule_key(key, value, parameters):
            return codes.OTHER_DIALECT, ours
        owners = [c.name for c in catalogue.all_checks() if key in keys_of(c)]
        if owners and check.name:
            return codes.UNKNOWN_KEY, f"it belongs to the check {', '.join(owners[:4])}"
        return None

    return answer


def _alike(word: str, other: str) -> bool:
    return difflib.SequenceMatcher(None, word.casefold(), other).ratio() >= 0.8


def _names() -> list[str]:
    return [check.name for check in catalogue.all_checks()]
