"""Reads YAML 1.2 by the events of ruamel.yaml's pure Python parser, with limits and with places.

Building the tree ourselves is what makes literals literal, finds every duplicate key, not the first only,
and keeps hostile files small: nothing is constructed from a tag, and aliases cannot multiply.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lazaretto.config import codes, scalars
from lazaretto.config.problems import Problems
from lazaretto.config.syntax import describe
from lazaretto.config.yaml_tree import Node
from lazaretto.model.values import Location

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 50
MAX_ALIASES = 100
MAX_EXPANDED = 50_000

_DROPPED = object()  # stands for a key that cannot be used, so that its value is read over


def read_file(path: Path, shown: str, problems: Problems) -> Node | None:
    """The tree of a file, or None if it cannot be used; what is wrong is noted in `problems`."""
    start = Location(shown, 1, 1)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        problems.add(codes.UNREADABLE, start, f"cannot be read: {reason}")
        return None
    if len(raw) > MAX_BYTES:
        problems.add(codes.TOO_LARGE, start, "is larger than 1 MiB", hint="split it")
        return None
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        problems.add(codes.NOT_UTF8, start, "is UTF-16", expected="UTF-8", hint="save it as UTF-8")
        return None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", errors="replace")
        place = _place_of(before, shown)
        message = f"the byte {raw[error.start]:#04x} is not UTF-8"
        problems.add(codes.NOT_UTF8, place, message, hint="save the file as UTF-8")
        return None
    return read_text(text, shown, problems)


def read_text(text: str, shown: str, problems: Problems) -> Node | None:
    """The tree of a text. `shown` is how the file is called in messages."""
    # Imported late: half of the time `lazaretto --help` would take.
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    builder = _Builder(text, shown, problems)
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            if not builder.take(event):
                return None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = builder.location(mark) if mark else builder.last
        message, hint = describe(error.problem or "", error.context or "", builder.lines, place.line)
        problems.add(codes.SYNTAX, place, message, hint=hint)
        return None
    except YAMLError as error:  # the reader's: a character that no YAML file may have
        place = _place_of(text[: getattr(error, "position", 0)], shown)
        problems.add(codes.SYNTAX, place, "a control character", hint="remove it; in double quotes it can be escaped")
        return None
    except (ArithmeticError, ValueError, LookupError, TypeError, AttributeError, AssertionError):
        # The parser itself stumbles over some malformed escapes and directives; to the user that is a
        # syntax error.
        problems.add(codes.SYNTAX, builder.last, "this cannot be read as YAML after here", hint="look for a bad escape")
        return None
    if builder.root is None:
        problems.add(codes.EMPTY, Location(shown, 1, 1), "the file is empty")
    return builder.root


def _place_of(before: str, shown: str) -> Location:
    line = before.count("\n") + 1
    return Location(shown, line, len(before) - (before.rfind("\n") + 1) + 1)


@dataclass
class _Frame:
    """A list or mapping that is still being read."""

    location: Location
    is_mapping: bool
    anchor: str | None
    entries: dict[str, Node] = field(default_factory=dict)
    items: list[Node] = field(default_factory=list)
    key: Any = None
    key_location: Location | None = None
    size: int = 1
    height: int = 1


@dataclass
class _Builder:
    text: str
    shown: str
    problems: Problems
    root: Node | None = None
    frames: list[_Frame] = field(default_factory=list)
    anchors: dict[str, tuple[Node, int, int]] = field(default_factory=dict)  # node, size, height
    documents: int = 0
    aliases: int = 0
    expanded: int = 0

    def __post_init__(self) -> None:
        self.last = Location(self.shown, 1, 1)
        self.lines = re.split(r"\r\n|[\r\n]", self.text)

    def location(self, mark: Any) -> Location:
        return Location(self.shown, mark.line + 1, mark.column + 1)

    def take(self, event: Any) -> bool:
        """Read one event; False when there is no point in reading on."""
        self.last = self.location(event.start_mark)
        kind = type(event).__name__
        if kind == "DocumentStartEvent":
            return self._document(event)
        if kind == "AliasEvent":
            return self._alias(event)
        if kind == "ScalarEvent":
            self._refuse_tag(event)
            node = self._scalar(event)
            self._attach(node, 1, 0, event.anchor, plain=not event.style)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._refuse_tag(event)
            self.frames.append(_Frame(self.last, kind == "MappingStartEvent", event.anchor))
            if event.anchor:
                self.anchors.pop(event.anchor, None)  # until it is complete, an alias to it would be a circle
            return self._depth_allows(0)
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            frame = self.frames.pop()
            value = frame.entries if frame.is_mapping else tuple(frame.items)
            self._attach(Node(value, frame.location), frame.size, frame.height, frame.anchor)
        return True

    def _document(self, event: Any) -> bool:
        self.documents += 1
        if self.documents > 1:
            self.problems.add(
                codes.SEVERAL_DOCUMENTS, self.last, "a second document begins here", hint="make it a file"
            )
            return False
        if event.version is not None and tuple(event.version) != (1, 2):
            written = ".".join(map(str, event.version))
            self.problems.add(codes.SYNTAX, self.last, f"YAML {written} is not read", expected="YAML 1.2")
            return False
        return True

    def _alias(self, event: Any) -> bool:
        name = event.anchor
        if name not in self.anchors:
            message = f"*{name} has no complete anchor &{name} before it"
            self.problems.add(codes.ALIASES, self.last, message, hint="share by presets instead")
            return False
        node, size, height = self.anchors[name]
        self.aliases += 1
        self.expanded += size
        if self.aliases > MAX_ALIASES or self.expanded > MAX_EXPANDED:
            message = f"aliases blow the file up (more than {MAX_ALIASES} of them, or {MAX_EXPANDED:,} values)"
            self.problems.add(codes.ALIASES, self.last, message, hint="share by presets instead")
            return False
        if not self._depth_allows(height):
            return False
        self._attach(node, size, height, None)
        return True

    def _depth_allows(self, below: int) -> bool:
        if len(self.frames) + below <= MAX_DEPTH:
            return True
        self.problems.add(codes.TOO_DEEP, self.last, f"nested more than {MAX_DEPTH} levels deep")
        return False

    def _refuse_tag(self, event: Any) -> None:
        if event.tag is not None:
            shown = str(event.tag).replace("tag:yaml.org,2002:", "!!")
            self.problems.add(codes.TAG, self.last, f"the tag {shown} is not read", hint="write the plain value")

    def _scalar(self, event: Any) -> Node:
        text: str = event.value
        if any("\ud800" <= c <= "\udfff" for c in text):
            self.problems.add(codes.BAD_TEXT, self.last, "half of a surrogate pair is no character")
            text = ""
        value: scalars.Scalar = text
        if not event.style:
            try:
                value = scalars.resolve(text)
            except scalars.NumberOutOfRange:
                self.problems.add(codes.NUMBER, self.last, "the number is out of range", hint="quote it if it is text")
        return Node(value, self.last, text=text, text_at=self._text_at(event, text))

    def _text_at(self, event: Any, text: str) -> Location | None:
        """Where the text begins, if what is written there is what it says, character by character."""
        row, column = event.start_mark.line, event.start_mark.column
        if event.style == "|" and row + 1 < len(self.lines):
            line = self.lines[row + 1]
            indent = len(line) - len(line.lstrip(" "))
            return Location(self.shown, row + 2, indent + 1) if line.strip() else None
        column += 1 if event.style in ("'", '"') else 0
        if row < len(self.lines) and text and self.lines[row][column:].startswith(text):
            return Location(self.shown, row + 1, column + 1)
        return None

    def _attach(self, node: Node, size: int, height: int, anchor: str | None, plain: bool = False) -> None:
        if anchor:
            self.anchors[anchor] = (node, size, height)
        if not self.frames:
            self.root = node if not (node.value is None and not node.text) else None
            return
        frame = self.frames[-1]
        frame.size += size
        frame.height = max(frame.height, height + 1)
        if not frame.is_mapping:
            frame.items.append(replace(node, key_location=None))
        elif frame.key is None:
            frame.key = self._key(frame, node, plain)
            frame.key_location = node.location if node.text is None else self.last
        else:
            if frame.key is not _DROPPED:
                frame.entries[frame.key] = replace(node, key_location=frame.key_location)
            frame.key = None

    def _key(self, frame: _Frame, node: Node, plain: bool) -> Any:
        if node.text is None or not node.text:
            self.problems.add(codes.BAD_KEY, node.location, f"{node.kind} cannot be a key", expected="a name")
        elif plain and node.text == "<<":
            self.problems.add(
                codes.MERGE_KEY,
                self.last,
                "merge keys (<<) are not read",
                hint="use `extends: NAME` and presets/NAME.yml",
            )
        elif node.text in frame.entries:
            first = frame.entries[node.text].key_location
            line = first.line if first else "?"
            self.problems.add(
                codes.DUPLICATE_KEY,
                self.last,
                f"`{node.text}` is given twice, first in line {line}",
                hint="remove one",
            )
        else:
            return node.text
        return _DROPPED
