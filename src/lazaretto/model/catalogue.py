"""The catalogue of checks: every subclass of `Rule` that has a name is in it, from the moment it is defined.

Nothing else has to be told of a new check: validation, JSON Schema, documentation, listings and error texts all
ask here.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lazaretto.model.rule import Rule

OWN_CHECKS = "_lazaretto_own_checks"
"""Package under which the checks of projects are imported."""

_CHECKS: dict[str, type[Rule]] = {}


class UnknownCheck(LookupError):
    """No check has this name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nearest = nearest(name, _CHECKS)
        hint = f"; did you mean {self.nearest}?" if self.nearest else ""
        super().__init__(f"there is no check {name!r}{hint}")


def register(check: type[Rule]) -> None:
    """Enter a check under its name; two checks cannot share one."""
    known = _CHECKS.get(check.name)
    if known is not None and not _is_anew(known, check):
        raise TypeError(
            f"{check.__module__}.{check.__qualname__}: the check {check.name!r} exists in {known.__module__}"
        )
    _CHECKS[check.name] = check


def _is_anew(known: type[Rule], check: type[Rule]) -> bool:
    """Whether a check takes the place of one: itself imported again, or that of another project loaded before."""
    if known.__module__.startswith(OWN_CHECKS) and check.__module__.startswith(OWN_CHECKS):
        return known.__module__ != check.__module__ or known.__qualname__ == check.__qualname__
    return (known.__module__, known.__qualname__) == (check.__module__, check.__qualname__)


def find(name: str) -> type[Rule]:
    """The check of this name, or UnknownCheck with the nearest one."""
    try:
        return _CHECKS[name]
    except KeyError:
        raise UnknownCheck(name) from None


def all_checks() -> tuple[type[Rule], ...]:
    """Every check, by family and name."""
    return tuple(sorted(_CHECKS.values(), key=lambda c: (c.family, c.name)))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like this one, if any is like it at all."""
    by_fold = {k.casefold(): k for k in known}
    close = difflib.get_close_matches(word.casefold(), by_fold, n=1, cutoff=0.6)
    return by_fold[close[0]] if close else None
