"""All cases that a policy can be asked about, and what can be said of a policy by going through them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields, replace
from functools import cache
from itertools import product
from typing import Any

from lazaretto.model.policy import DEFAULT, Case, PolicyRow
from lazaretto.model.words import CheckStatus, Consumers, Dimension, GateAction, Severity, Tier

ASKED: dict[CheckStatus, tuple[GateAction, ...]] = {
    CheckStatus.PASS: (GateAction.PASS,),
    CheckStatus.FAIL: tuple(action for action in GateAction if action is not GateAction.SUPERSEDE),
    CheckStatus.ERROR: (
        GateAction.WARN,
        GateAction.QUARANTINE_RECORDS,
        GateAction.BLOCK_PUBLICATION,
        GateAction.FAIL_CLOSED,
    ),
}
"""What a rule can ask for, by what came of it. A check that was skipped though expected is an ERROR."""

_AXES = tuple(field.name for field in fields(Case))
_WORDS: dict[str, tuple[Any, ...]] = {
    "dimension": tuple(Dimension),
    "severity": tuple(Severity),
    "status": (CheckStatus.FAIL, CheckStatus.ERROR),
    "tier": tuple(Tier),
    "consumers": tuple(Consumers),
}
_LADDERS: dict[str, tuple[Any, ...]] = {axis: _WORDS[axis] for axis in ("severity", "status", "tier", "consumers")}
"""From better to worse."""


@dataclass(frozen=True)
class Inversion:
    """A worse case that a policy treats more mildly than a better one."""

    better: Case
    worse: Case
    better_row: int | None
    """Position of the row; None where the policy is silent and the case is closed."""
    worse_row: int
    better_action: GateAction
    worse_action: GateAction


@cache
def all_cases() -> tuple[Case, ...]:
    """Every case there can be; those of a check that passed too."""
    return tuple(
        Case(dimension, severity, status, tier, asked, consumers)
        for status, asks in ASKED.items()
        for dimension, severity, tier, asked, consumers in product(Dimension, Severity, Tier, asks, Consumers)
    )


def deciding_rows(rows: tuple[PolicyRow, ...]) -> dict[Case, int | None]:
    """The position of the first row that fits, for every case; None where none does."""
    return {case: next((i for i, row in enumerate(rows) if row.fits(case)), None) for case in all_cases()}


def covering(rows: tuple[PolicyRow, ...], position: int, deciding: dict[Case, int | None]) -> tuple[int, ...] | None:
    """The earlier rows that leave nothing to a row; empty if it is for no case at all, None if it decides some."""
    taken = {deciding[case] for case in all_cases() if rows[position].fits(case)}
    return None if position in taken else tuple(sorted(i for i in taken if i is not None))


def silent(deciding: dict[Case, int | None]) -> tuple[Case, ...]:
    """Cases of a failed or broken check that no row is for."""
    return tuple(case for case, row in deciding.items() if row is None and case.status is not CheckStatus.PASS)


def inversions(rows: tuple[PolicyRow, ...], deciding: dict[Case, int | None]) -> Iterator[Inversion]:
    """Where something worse is treated more mildly, once for each pair of rows."""

    def action(case: Case) -> GateAction:
        row = deciding[case]
        said = DEFAULT if row is None else rows[row].action
        return max(said, case.floor, key=lambda action: action.rank)

    seen: set[tuple[int | None, int]] = set()
    for case in deciding:
        for axis, ladder in _LADDERS.items():
            here = getattr(case, axis)
            if here not in ladder or here is ladder[-1]:
                continue
            worse = replace(case, **{axis: ladder[ladder.index(here) + 1]})
            row = deciding.get(worse)
            if worse not in deciding or row is None or (deciding[case], row) in seen:
                continue
            mild, harsh = action(worse), action(case)
            if mild.rank < harsh.rank:
                seen.add((deciding[case], row))
                yield Inversion(case, worse, deciding[case], row, harsh, mild)


def grouped(cases: Iterable[Case]) -> tuple[str, ...]:
    """Many cases in few words: `status ERROR, tier regulatory` stands for all that agree in these."""
    groups = {tuple(frozenset({word}) for word in astuple(case)) for case in cases}
    # The status last: what can be asked for depends on it.
    for axis in sorted(range(len(_AXES)), key=lambda axis: _AXES[axis] == "status"):
        merged: dict[tuple[Any, ...], frozenset[Any]] = {}
        for group in groups:
            others = group[:axis] + group[axis + 1 :]
            merged[others] = merged.get(others, frozenset()) | group[axis]
        groups = {(*others[:axis], words, *others[axis:]) for others, words in merged.items()}
    return tuple(sorted(map(_in_words, groups)))


def _in_words(group: tuple[frozenset[Any], ...]) -> str:
    named = dict(zip(_AXES, group, strict=True))
    asks = {ask for status in named["status"] for ask in ASKED[status]}
    parts = []
    for axis, words in named.items():
        everything = frozenset[Any](asks if axis == "asked" else _WORDS[axis])
        if words != everything:
            order = GateAction if axis == "asked" else _WORDS[axis]
            parts.append(f"{axis} {' or '.join(str(word) for word in order if word in words)}")
    return ", ".join(parts) or "everything"


def in_words(case: Case) -> str:
    """A case as a person reads it."""
    return ", ".join(f"{axis} {getattr(case, axis)}" for axis in _AXES)
