"""What pydantic found wrong, in words for people."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from lazaretto.config import codes, dialects
from lazaretto.config.yaml_tree import Node
from lazaretto.model.catalogue import nearest

_KINDS = (
    ("string", "text"),
    ("int", "a whole number"),
    ("float", "a number"),
    ("decimal", "a number"),
    ("bool", "true or false"),
    ("tuple", "a list such as [a, b]"),
    ("list", "a list such as [a, b]"),
    ("set", "a list such as [a, b]"),
    ("frozen_set", "a list such as [a, b]"),
    ("dict", "keys and values"),
    ("mapping", "keys and values"),
    ("model", "keys and values"),
    ("date", "a date such as 2026-12-31"),
    ("time", "a time such as 12:30:00"),
    ("timedelta", "a duration"),
)
_LIMITS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
    "multiple_of": ("multiple_of", "a multiple of"),
}
_LENGTHS = {
    "too_short": ("min_length", "at least {} {}"),
    "string_too_short": ("min_length", "at least {} characters"),
    "too_long": ("max_length", "at most {} {}"),
    "string_too_long": ("max_length", "at most {} characters"),
}
_QUOTED = re.compile(r"'([^']*)'")


@dataclass(frozen=True)
class Sentence:
    """A problem without its place."""

    code: str
    message: str
    expected: str | None = None
    hint: str | None = None


def sentence(error: Any, key: str, node: Node, description: str | None = None) -> Sentence:
    """Words for one of pydantic's errors about a key and the node it is at."""
    kind: str = error["type"]
    context: dict[str, Any] = error.get("ctx") or {}
    if kind == "missing":
        return Sentence(codes.MISSING_KEY, f"`{key}` is missing", expected=None, hint=_first(description))
    if kind in ("enum", "literal_error"):
        return _unknown_word(key, node, _QUOTED.findall(str(context.get("expected", ""))))
    if kind in ("value_error", "assertion_error"):
        return said(str(context.get("error", error["msg"])), key, node)
    found = f"`{key}` is {_found(node)}"
    if kind in _LIMITS:
        name, words = _LIMITS[kind]
        return Sentence(codes.BAD_VALUE, found, f"{words} {context.get(name)}")
    if kind in _LENGTHS:
        name, words = _LENGTHS[kind]
        amount = context.get(name)
        empty = f"`{key}` is empty" if not node.value else found
        noun = ("entry" if amount == 1 else "entries") if node.is_list or node.is_mapping else "characters"
        words = "something" if amount == 1 and kind == "string_too_short" else words.format(amount, noun)
        return Sentence(codes.BAD_VALUE, empty, words)
    for prefix, words in _KINDS:
        if kind.startswith(prefix + "_") or kind == prefix:
            return Sentence(codes.WRONG_KIND, found, words)
    words = re.sub(r"^(Input|Value) should be ", "", error["msg"])  # a kind of error no check has had so far
    return Sentence(codes.BAD_VALUE, found, words[:1].lower() + words[1:])


def said(words: str, key: str, node: Node) -> Sentence:
    """A validator's own sentence; those that begin with `expected` say what should be there."""
    if words.startswith("expected "):
        code = codes.WRONG_KIND if words.startswith("expected a list") else codes.BAD_VALUE
        return Sentence(code, f"`{key}` is {_found(node)}", words.removeprefix("expected "))
    return Sentence(codes.BAD_VALUE, f"`{key}`: {words}")


def _unknown_word(key: str, node: Node, words: list[str]) -> Sentence:
    shown = [word.lower() for word in words] if all(word.isupper() for word in words) else words
    expected = ", ".join(shown)
    if not isinstance(node.value, str):
        return Sentence(codes.WRONG_KIND, f"`{key}` is {_found(node)}", f"one of {expected}")
    value = node.shown
    message = f"`{key}: {value}` is not known"
    ours = dialects.our_word(key, node.value)
    if ours is not None and ours in shown:
        return Sentence(codes.OTHER_DIALECT, message, f"one of {expected}", f"write `{key}: {ours}`")
    if close := nearest(node.value, shown):
        return Sentence(codes.UNKNOWN_WORD, message, f"one of {expected}", f"did you mean {close}?")
    return Sentence(codes.UNKNOWN_WORD, message, f"one of {expected}")


def _found(node: Node) -> str:
    if isinstance(node.value, str):
        short = node.shown if len(node.shown) <= 60 else node.shown[:57] + "..."
        return repr(short) if short else "empty text"
    return node.kind


def _first(description: str | None) -> str | None:
    return " ".join(description.split()) if description else None
