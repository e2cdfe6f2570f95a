"""A YAML file as a tree whose every key and value knows where it was written.

Presets, substitution and validation all work on this tree, so a message can point at the right line of the
right file whatever was merged into what.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from lazaretto.config.scalars import Scalar
from lazaretto.model.values import Location

Path = tuple[str | int, ...]
"""The way to a value: keys and list positions."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its place."""

    value: Scalar | tuple[Node, ...] | dict[str, Node]
    location: Location
    key_location: Location | None = None
    """Where its key stands, if it is a value of a mapping."""
    text: str | None = None
    """A scalar as it was written, without its quotes."""
    text_at: Location | None = None
    """Where the first character of the text stands; None where lines are folded or escaped."""
    written: str | None = None
    """What stood here before `${...}` was replaced."""
    unresolved: bool = False
    """Whether a `${...}` in it could not be replaced, so that nothing more can be said about it."""

    @property
    def is_mapping(self) -> bool:
        """Whether it has keys."""
        return isinstance(self.value, dict)

    @property
    def is_list(self) -> bool:
        """Whether it has elements."""
        return isinstance(self.value, tuple)

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all was written, not even `null`."""
        return self.value is None and self.text == ""

    @property
    def entries(self) -> dict[str, Node]:
        """Keys and values; none if it is no mapping."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> tuple[Node, ...]:
        """Elements; none if it is no list."""
        return self.value if isinstance(self.value, tuple) else ()

    @property
    def place(self) -> Location:
        """Where to point at: the value, or its key where the value is nothing or spreads over lines."""
        return self.key_location or self.location if self.is_empty or self.text is None else self.location

    @property
    def shown(self) -> str:
        """A scalar as messages may show it: as written in the file, never what a variable brought."""
        return self.text or "" if self.written is None else self.written

    @property
    def kind(self) -> str:
        """What it is, in a word for people."""
        if self.is_mapping:
            return "a mapping"
        if self.is_list:
            return "a list"
        if self.value is None:
            return "nothing"
        if isinstance(self.value, bool):
            return self.shown
        return "text" if isinstance(self.value, str) else f"the number {self.shown}"

    def get(self, key: str) -> Node | None:
        """The value under a key."""
        return self.entries.get(key)

    def at(self, path: Path) -> Node:
        """The node at a path, or the nearest one above it that exists."""
        node = self
        for step in path:
            if isinstance(step, int) and step < len(node.items):
                node = node.items[step]
            elif isinstance(step, str) and step in node.entries:
                node = node.entries[step]
        return node

    def plain(self) -> Any:
        """The value as ordinary Python data."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, tuple):
            return [node.plain() for node in self.value]
        return self.value

    def place_in_text(self, offset: int) -> Location:
        """Where a character of the text stands in the file."""
        if self.text_at is None or self.text is None or self.written is not None:
            return self.location
        before = self.text[:offset]
        lines = before.count("\n")
        column = offset - (before.rfind("\n") + 1)
        at = self.text_at
        return replace(at, line=at.line + lines, column=at.column + column)

    def walk(self, path: Path = ()) -> Iterator[tuple[Path, Node]]:
        """This node and all below it, with their paths."""
        yield path, self
        for key, node in self.entries.items():
            yield from node.walk((*path, key))
        for index, node in enumerate(self.items):
            yield from node.walk((*path, index))

    def with_entries(self, entries: dict[str, Node]) -> Node:
        """The same mapping with other entries."""
        return replace(self, value=entries)


@dataclass(frozen=True)
class Document:
    """A file as plain data, and the place of every key and value in it."""

    root: Node
    data: Any = field(init=False)
    positions: dict[Path, Location] = field(init=False)
    key_positions: dict[Path, Location] = field(init=False)

    def __post_init__(self) -> None:
        nodes = list(self.root.walk())
        object.__setattr__(self, "data", self.root.plain())
        object.__setattr__(self, "positions", {path: node.location for path, node in nodes})
        keys = {path: node.key_location for path, node in nodes if node.key_location is not None}
        object.__setattr__(self, "key_positions", keys)
