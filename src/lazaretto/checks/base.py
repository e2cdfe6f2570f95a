"""What checks of text have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazaretto.checks import sql
from lazaretto.model.rule import Rule, Site


class TextRule(Rule):
    """A check that looks at characters; other scalar types are judged by their text."""

    def misfit(self, type_name: str | None) -> str | None:
        if sql.is_nested(type_name):
            return f"the check {self.name} looks at text, not at {type_name}; name a field or element of it"
        return None


def text_of(site: Site) -> str:
    """SQL of the value as text."""
    return sql.as_text(site.value, site.type)


def sorted_lists(parameters: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Parameters with those lists put in order whose order means nothing."""
    return parameters | {n: sorted(parameters[n], key=repr) for n in names if n in parameters}


def listed(words: Sequence[object], most: int = 10) -> str:
    """A list for a person to read, cut where it gets long."""
    shown = ", ".join(str(word) for word in words[:most])
    return shown if len(words) <= most else f"{shown}, … ({len(words)} in all)"
