r"""Telling which regular expressions can run away: `(a+)+` takes 2ⁿ steps to refuse n letters and one digit.

Java's matcher tries every way in which a pattern can match. If a loop can match the same characters in two
ways, the ways multiply with every turn, and there is no timeout to end it. The test is exact for what the
tree (`javaregex`) keeps: positions of the pattern become states, and a state from which two different paths
with the same characters lead back to it is the fault looked for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from lazaretto.checks.javaregex import Atomic, Chars, Choice, Look, Node, Repeat, Sequence, longest, parse

_COPIES = 12
_POSITIONS = 2000
_LINKS = 50_000
_PAIRS = 250_000

T = TypeVar("T")


def check_pattern(pattern: str, ignore_case: bool = False) -> None:
    """Raise ValueError where Java would not take the pattern, or could be kept busy by it for ever."""
    if not pattern:
        raise ValueError("the pattern is empty")
    if runs_away(parse(pattern, ignore_case)):
        raise ValueError(
            "this pattern can take for ever on some values: a repeated part can match the same text in"
            " several ways, as in (a+)+ or (a|a)*; make the alternatives distinct, or the inner repetition"
            " possessive (a++)"
        )


def runs_away(tree: Node) -> bool:
    """Whether some loop of the pattern can match the same text in two ways."""
    automaton = _Automaton()
    automaton.build(tree)
    return automaton.is_ambiguous() or any(runs_away(inner) for inner in _looks(tree))


def _looks(node: Node) -> Iterator[Node]:
    match node:
        case Look(item):
            yield item
        case Repeat(item) | Atomic(item):
            yield from _looks(item)
        case Sequence(items) | Choice(items):
            for item in items:
                yield from _looks(item)


@dataclass
class _Part:
    """A piece of the pattern: where it can begin and end, or match nothing, and in how many ways."""

    empty: int = 0
    first: Counter[int] = field(default_factory=Counter)
    last: Counter[int] = field(default_factory=Counter)


class _Automaton:
    """Positions of a pattern and which can follow which, counting the ways (two are as good as many)."""

    def __init__(self) -> None:
        self.sets: list[frozenset[str]] = []
        self.follow: dict[int, Counter[int]] = defaultdict(Counter)
        self.links = 0

    def build(self, node: Node) -> _Part:
        match node:
            case Chars(allowed):
                self.sets.append(allowed)
                here = len(self.sets) - 1
                return _Part(0, Counter({here: 1}), Counter({here: 1}))
            case Look():
                return _Part(1)
            case Atomic(item):
                return self.optional(self.build(Chars(frozenset(_characters(item)))), _can_be_empty(item))
            case Choice(branches):
                parts = [self.build(branch) for branch in branches]
                ends = (sum((p.first for p in parts), Counter()), sum((p.last for p in parts), Counter()))
                return _Part(min(2, sum(p.empty for p in parts)), *ends)
            case Sequence(items):
                whole = _Part(1)
                for item in items:
                    whole = self.joined(whole, self.build(item))
                return whole
            case Repeat(item, least, most):
                return self.repeated(item, least, most)

    def repeated(self, item: Node, least: int, most: int | None) -> _Part:
        if most == 0:
            return _Part(1)
        if most is not None and most <= _COPIES and len(self.sets) < _POSITIONS:
            tail = _Part(1)
            for copy in reversed(range(most)):  # a{1,3} is a(a(a)?)?, so that nothing is counted twice
                tail = self.optional(self.joined(self.build(item), tail), copy >= least)
            return tail
        part = self.build(item)
        if most is None or most != least or _is_elastic(item):
            self.link(part.last, part.first)
        return self.optional(part, least == 0 and not part.empty)

    def joined(self, left: _Part, right: _Part) -> _Part:
        self.link(left.last, right.first)
        first = left.first + _times(right.first, left.empty)
        last = right.last + _times(left.last, right.empty)
        return _Part(min(2, left.empty * right.empty), first, last)

    def optional(self, part: _Part, optional: bool) -> _Part:
        return _Part(min(2, part.empty + optional), part.first, part.last)

    def link(self, ends: Counter[int], starts: Counter[int]) -> None:
        self.links += len(ends) * len(starts)
        if self.links > _LINKS:
            raise ValueError("the pattern is too complicated to be checked; use fewer or smaller repetitions")
        for end, ways in ends.items():
            for start, more in starts.items():
                self.follow[end][start] = min(2, self.follow[end][start] + ways * more)

    def is_ambiguous(self) -> bool:
        """Whether two paths with the same characters lead from some position back to it."""
        edges = {position: list(after) for position, after in self.follow.items()}
        return any(self._loop_is_ambiguous(set(loop)) for loop in _loops(range(len(self.sets)), edges))

    def _loop_is_ambiguous(self, loop: set[int]) -> bool:
        inner = {p: [q for q in self.follow[p] if q in loop] for p in loop}
        if any(self.follow[p][q] > 1 for p in loop for q in inner[p]):
            return True
        if sum(len(after) for after in inner.values()) ** 2 > _PAIRS:
            return False  # too large to tell; no pattern that people write by hand gets here
        pairs = {
            (p, q): [(a, b) for a in inner[p] for b in inner[q] if self.sets[a] & self.sets[b]]
            for p in loop
            for q in loop
        }
        return any(any(p == q for p, q in group) and any(p != q for p, q in group) for group in _loops(pairs, pairs))


def _times(counts: Counter[int], factor: int) -> Counter[int]:
    return Counter({key: count * factor for key, count in counts.items() if factor})


def _characters(node: Node) -> Iterator[str]:
    match node:
        case Chars(allowed):
            yield from allowed
        case Repeat(item) | Atomic(item):
            yield from _characters(item)
        case Sequence(items) | Choice(items):
            for item in items:
                yield from _characters(item)


def _can_be_empty(node: Node) -> bool:
    match node:
        case Chars():
            return False
        case Look():
            return True
        case Atomic(item):
            return _can_be_empty(item)
        case Repeat(item, least):
            return least == 0 or _can_be_empty(item)
        case Sequence(items):
            return all(_can_be_empty(item) for item in items)
        case Choice(branches):
            return any(_can_be_empty(branch) for branch in branches)


def _is_elastic(node: Node) -> bool:
    """Whether the part can match texts of different lengths."""
    match node:
        case Chars() | Look():
            return False
        case Atomic(item):
            return _is_elastic(item)
        case Repeat(item, least, most):
            return least != most or _is_elastic(item)
        case Sequence(items):
            return any(_is_elastic(item) for item in items)
        case Choice(branches):
            return len({longest(b) for b in branches}) > 1 or any(_is_elastic(b) for b in branches)


def _loops(nodes: Iterable[T], edges: dict[T, list[T]]) -> list[list[T]]:
    """Strongly connected components that have an edge inside (Tarjan's algorithm, without recursion)."""
    number: dict[T, int] = {}
    low: dict[T, int] = {}
    stack: list[T] = []
    open_: set[T] = set()
    found: list[list[T]] = []
    for root in nodes:
        if root in number:
            continue
        work = [(root, iter(edges.get(root, ())))]
        number[root] = low[root] = len(number)
        stack.append(root)
        open_.add(root)
        while work:
            node, after = work[-1]
            for child in after:
                if child not in number:
                    number[child] = low[child] = len(number)
                    stack.append(child)
                    open_.add(child)
                    work.append((child, iter(edges.get(child, ()))))
                    break
                if child in open_:
                    low[node] = min(low[node], number[child])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    group = []
                    while True:
                        member = stack.pop()
                        open_.discard(member)
                        group.append(member)
                        if member == node:
                            break
                    if len(group) > 1 or node in edges.get(node, ()):
                        found.append(group)
    return found
