"""Message templates: text with a few named holes, never code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

PLACEHOLDERS = ("value", "expected", "column", "rule", "severity", "reason_code")
"""Holes every message may use, besides {row.NAME} for the value of a column of the row."""

_HOLE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@dataclass(frozen=True)
class Part:
    """A piece of a message: literal text, a placeholder, or the value of a column of the row."""

    kind: str  # "text" | "placeholder" | "row"
    text: str


def parts_of(template: str) -> tuple[Part, ...]:
    """Cut a template into its parts; `{{` and `}}` stand for the braces themselves."""
    parts: list[Part] = []
    text = ""
    position = 0
    for match in _HOLE.finditer(template):
        text += template[position : match.start()]
        position = match.end()
        token, name = match.group(0), match.group(1)
        if token in ("{{", "}}"):
            text += token[0]
            continue
        if name is None:
            raise ValueError(f"a single {token!r} at character {match.start() + 1}; write {token * 2} for the brace")
        if text:
            parts.append(Part("text", text))
            text = ""
        if name in PLACEHOLDERS:
            parts.append(Part("placeholder", name))
        elif name.startswith("row.") and len(name) > 4:
            parts.append(Part("row", name[4:]))
        else:
            known = ", ".join(f"{{{p}}}" for p in PLACEHOLDERS)
            raise ValueError(f"unknown placeholder {{{name}}}; known are {known} and {{row.COLUMN}}")
    text += template[position:]
    if text:
        parts.append(Part("text", text))
    return tuple(parts)


def _checked(template: str) -> str:
    parts_of(template)
    return template


MessageTemplate = Annotated[str, AfterValidator(_checked)]
