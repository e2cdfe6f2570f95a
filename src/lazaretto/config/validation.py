"""From tree to model: every mistake becomes a problem with its place and the nearest right name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from lazaretto.config import codes
from lazaretto.config.problems import Problems
from lazaretto.config.sentences import Sentence, sentence
from lazaretto.config.shaping import FAULTY, keys_of, model_in, shape
from lazaretto.config.yaml_tree import Node, Path
from lazaretto.model.catalogue import nearest
from lazaretto.model.rule import Rule

M = TypeVar("M", bound=BaseModel)
Answer = Callable[[str, Any], tuple[str, str] | None]
"""Given an unknown key and its value: the code of the problem and what to write instead, or None."""

_BACKTICKED = re.compile(r"`(\w+)[^`]*`")
_WORD = re.compile(r"\w+")
_OF_ONE_SHAPE = frozenset(("rules", "column", "columns", "where"))
"""Keys whose values look alike in every tool."""
_TELLING = {"thresholds": ("block_above", "warn_above"), "listed twice": ("columns",)}
"""Words of model sentences that mean keys without naming them."""


@dataclass(frozen=True)
class Keys:
    """The usable keys of a mapping, and those whose fault is noted already (one below: `source.table`)."""

    node: Node
    faulty: frozenset[str]


def present(node: Node, problems: Problems) -> Keys:
    """Leave out keys without a value: `key:` alone is a mistake, `null` means 'as if not written'."""
    kept: dict[str, Node] = {}
    faulty: set[str] = set()
    for key, child in node.entries.items():
        if child.is_empty:
            problems.add(
                codes.NO_VALUE,
                child.key_location,
                f"`{key}` has no value",
                hint="give one, or remove the key",
            )
            faulty.add(key)
        elif child.is_mapping:
            kept[key] = present(child, problems).node
        elif child.value is not None:
            kept[key] = child
    return Keys(node.with_entries(kept), frozenset(faulty))


def refuse_unknown(
    keys: Keys, known: Iterable[str], problems: Problems, of: str, answer: Answer = lambda key, value: None
) -> Keys:
    """Note every key that is not known. One that nearly is, is judged on under the name that was meant."""
    names = list(known)
    kept: dict[str, Node] = {}
    unknown: set[str] = set()
    for key, child in keys.node.entries.items():
        if key in names:
            kept[key] = child
            continue
        unknown.add(key)
        place, message = child.key_location, f"`{key}` is not a key of {of}"
        if better := answer(key, child.plain()):
            problems.add(better[0], place, message, hint=better[1])
            meant = set(_BACKTICKED.findall(better[1])) - set(keys.node.entries)
            kept |= dict.fromkeys(meant & _OF_ONE_SHAPE, child)
        elif close := nearest(key, names):
            problems.add(codes.UNKNOWN_KEY, place, message, hint=f"did you mean `{close}`?")
            meant = {close} - set(keys.node.entries)
            kept |= dict.fromkeys(meant, child)
        else:
            problems.add(codes.UNKNOWN_KEY, place, message, expected=f"one of {', '.join(names)}")
            meant = set()
        unknown |= meant  # it is not missing as well
    return Keys(keys.node.with_entries(kept), keys.faulty | unknown)


def refuse_unknown_below(keys: Keys, model: type[BaseModel], problems: Problems) -> Keys:
    """The same for the models inside a model, such as `source`."""
    entries = dict(keys.node.entries)
    faulty = set(keys.faulty)
    for key, field in keys_of(model).items():
        inner = model_in(field.annotation)
        child = entries.get(key)
        if inner is None or child is None or not child.is_mapping:
            continue
        checked = refuse_unknown(Keys(child, frozenset()), keys_of(inner), problems, f"`{key}`")
        faulty |= {f"{key}.{below}" for below in checked.faulty}
        entries[key] = checked.node
    return Keys(keys.node.with_entries(entries), frozenset(faulty))


def shaped(keys: Keys, model: type[BaseModel], problems: Problems) -> tuple[dict[str, Any], frozenset[str]]:
    """The data of all sound keys, and the names of the faulty ones."""
    fields = keys_of(model)
    data = {
        key: FAULTY if _unresolved(child) else shape(fields[key].annotation, child, key, problems)
        for key, child in keys.node.entries.items()
        if key in fields
    }
    faulty = {key for key, value in data.items() if value is FAULTY}
    return {key: value for key, value in data.items() if value is not FAULTY}, keys.faulty | faulty


def _unresolved(node: Node) -> bool:
    return any(child.unresolved for _, child in node.walk())


def build(model: type[M], node: Node, problems: Problems, of: str, **extra: Any) -> M | None:
    """A model from a mapping and what the file does not say, or None if anything is wrong with it."""
    keys = refuse_unknown(present(node, problems), keys_of(model), problems, of)
    keys = refuse_unknown_below(keys, model, problems)
    data, faulty = shaped(keys, model, problems)
    try:
        built = model.model_validate(data | extra)
    except ValidationError as error:
        note(error, keys.node, model, problems, faulty)
        return None
    return None if faulty else built


def note(
    error: ValidationError, node: Node, model: type[BaseModel], problems: Problems, faulty: frozenset[str]
) -> set[str]:
    """Turn pydantic's errors into problems, except about keys known to be faulty; the keys blamed."""
    fields = keys_of(model)
    blamed: set[str] = set()
    by_place: dict[Path, list[Sentence]] = {}
    for item in error.errors(include_url=False):
        path = _path_in(node, item["loc"])
        top = str(item["loc"][0]) if item["loc"] else ""
        if _told(item, top, faulty):
            continue
        if not path and item["type"] in ("value_error", "assertion_error"):
            own = set(fields) - set(keys_of(Rule)) if issubclass(model, Rule) else set(fields)
            blamed.add(note_contradiction(str(item["ctx"]["error"]), node, own, problems))
            continue
        blamed.add(top)
        key = str(next((step for step in reversed(item["loc"]) if isinstance(step, str)), ""))
        if item["type"] == "missing":
            description = fields[key].description if len(item["loc"]) == 1 and key in fields else None
            found = sentence(item, key, node, description)
            problems.add(found.code, node.at(path).place, found.message, hint=found.hint)
        else:
            key = str(next((step for step in reversed(path) if isinstance(step, str)), key))
            by_place.setdefault(path, []).append(sentence(item, key, node.at(path)))
    for path, found_here in by_place.items():
        _note_value(path, found_here, node, problems)
    return blamed


def _told(item: Any, top: str, faulty: frozenset[str]) -> bool:
    """Whether an error only follows from a fault that was told: a misspelled key is missing, too."""
    if not top:
        return bool(faulty)
    below = {name for name in faulty if name.startswith(f"{top}.")}
    whole = len(item["loc"]) == 1 and item["type"] == "value_error"
    return top in faulty or ".".join(map(str, item["loc"])) in below or (whole and bool(below))


def note_contradiction(words: str, node: Node, own: Collection[str], problems: Problems) -> str:
    """A sentence about the mapping as a whole, placed at the most telling of its keys, which is returned."""
    key = telling_key(words, node, own)
    alone = [name for name in node.entries if name in own] == [key]
    code = codes.BAD_VALUE if alone else codes.CONTRADICTION
    code = codes.MISSING_KEY if re.search(r"\bneeds\b", words) else code
    place = node.place if not key else node.entries[key].key_location or node.place
    problems.add(code, place, words)
    return key


def telling_key(words: str, node: Node, own: Collection[str] = ()) -> str:
    """The key a sentence is about: named in backticks, or a parameter of the check by its word; else none."""
    named = _BACKTICKED.findall(words)
    for phrase, keys in _TELLING.items():
        named += keys if phrase in words else ()
    present_own = [key for key in node.entries if key in own]
    if not named:
        named = [word for word in _WORD.findall(words) if word in own] or (present_own if len(present_own) == 1 else [])
    return next((key for key in named if key in node.entries), "")


def _path_in(node: Node, loc: tuple[int | str, ...]) -> Path:
    """The part of pydantic's location that exists in the tree; it also names branches of unions."""
    path: list[str | int] = []
    for step in loc:
        if (isinstance(step, str) and step in node.entries) or (isinstance(step, int) and step < len(node.items)):
            node = node.entries[step] if isinstance(step, str) else node.items[step]
            path.append(step)
    return tuple(path)


def _note_value(path: Path, found: list[Sentence], node: Node, problems: Problems) -> None:
    at = node.at(path)
    if path and _note_expression(at, found, problems):
        return
    first = found[0]
    expected = " or ".join(dict.fromkeys(s.expected for s in found if s.expected)) or None  # branches of a union
    problems.add(first.code, at.place, first.message, expected=expected, hint=first.hint)


def _note_expression(at: Node, found: list[Sentence], problems: Problems) -> bool:
    """If the fault is in an SQL expression, point at the character, and tell all its faults."""
    if not isinstance(at.value, str):
        return False
    from lazaretto.model.expression import problems_of

    words = " ".join(s.message for s in found) + " ".join(s.expected or "" for s in found)
    faults = [fault for fault in problems_of(at.value) if fault.message in words]
    if not faults:
        return False
    for fault in faults:
        place = at.location if fault.offset is None else at.place_in_text(fault.offset)
        problems.add(codes.EXPRESSION, place, fault.message, hint=fault.suggestion)
    return True
