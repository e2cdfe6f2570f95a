"""Where something was thrown: classes and places in the code, and nothing that a value of the data could be in."""

from __future__ import annotations

from typing import Any

_CAUSES, _PLACES = 4, 12
"""So many errors of a chain, and places of each, say enough."""


def stack_of(error: BaseException) -> str | None:
    """The stack of an error that came out of the JVM, without its messages; None for any other."""
    thrown = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    if thrown is None:
        return None
    lines: list[str] = []
    for number in range(_CAUSES):
        lines.append(f"{'caused by ' if number else ''}{thrown.getClass().getName()}")
        lines += [f"  at {place.toString()}" for place in _first(thrown.getStackTrace())]
        if (thrown := thrown.getCause()) is None:
            break
    return "\n".join(lines)


def _first(places: Any) -> list[Any]:
    return [places[number] for number in range(min(_PLACES, len(places)))]
