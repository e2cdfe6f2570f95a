r"""Reading regular expressions as Java's `Pattern` does, which is what Spark runs.

The result is a small tree over sets of characters, enough to tell whether a pattern is valid and whether it
can run away (`backtracking`). Characters are those of a sample alphabet: ASCII, some others, and all that the
pattern has.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

_SAMPLES = "\x85\xa0µßéÉªÑĀǅʰжЖقع٣中あ五Ⅷ½€\u200b\u2028‿’😀"


@dataclass(frozen=True)
class Chars:
    """One character out of a set."""

    allowed: frozenset[str]


@dataclass(frozen=True)
class Sequence:
    """One after the other; an empty one matches nothing at all (anchors, flags)."""

    items: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Choice:
    """One of several."""

    branches: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """So many times; `most` None means without end."""

    item: Node
    least: int
    most: int | None


@dataclass(frozen=True)
class Atomic:
    """Matched once and never reconsidered: `(?>…)`, `a++`."""

    item: Node


@dataclass(frozen=True)
class Look:
    """Looks ahead or behind and takes no character."""

    item: Node


Node = Chars | Sequence | Choice | Repeat | Atomic | Look

_NOTHING = Sequence()
_QUANTIFIER = re.compile(r"\{(\d+)(,(\d*))?\}")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_FLAGS = re.compile(r"([idmsuxU]*)(?:-([idmsuxU]*))?([:)])")
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_POSIX: dict[str, str] = {
    "Lower": string.ascii_lowercase,
    "Upper": string.ascii_uppercase,
    "ASCII": "".join(map(chr, range(128))),
    "Alpha": string.ascii_letters,
    "Digit": string.digits,
    "Alnum": string.ascii_letters + string.digits,
    "Punct": string.punctuation,
    "Graph": string.ascii_letters + string.digits + string.punctuation,
    "Print": string.ascii_letters + string.digits + string.punctuation + " ",
    "Blank": " \t",
    "Cntrl": "".join(map(chr, range(32))) + "\x7f",
    "XDigit": string.hexdigits,
    "Space": " \t\n\x0b\f\r",
}
_CATEGORY = re.compile(r"(?:L[CDMOltumo1]?|M[nce]?|N[dlo]?|Z[slp]?|C[cfosn]?|P[dsecifo]?|S[mcko]?)\Z")
_JAVA: dict[str, Callable[[str], bool]] = {
    "javaLowerCase": str.islower,
    "javaUpperCase": str.isupper,
    "javaWhitespace": str.isspace,
    "IsWhite_Space": str.isspace,
    "IsPunctuation": lambda c: unicodedata.category(c).startswith("P"),
    "IsDigit": str.isdecimal,
}
_SETS: dict[str, Callable[[str], bool]] = {
    "d": lambda c: c in string.digits,
    "w": lambda c: c in string.ascii_letters + string.digits + "_",
    "s": lambda c: c in " \t\n\x0b\f\r",
    "h": lambda c: c in " \t\xa0\u180e\u202f\u205f\u3000" or "\u2000" <= c <= "\u200a",
    "v": lambda c: c in "\n\x0b\f\r\x85\u2028\u2029",
}


def parse(pattern: str, ignore_case: bool = False) -> Node:
    """The tree of a pattern; ValueError says what Java would not understand."""
    parser = _Parser(pattern, ignore_case)
    tree = parser.choice()
    if parser.at < len(pattern):
        raise parser.wrong("unmatched ')'")
    return tree


def longest(node: Node) -> int | None:
    """The most characters that can match, None if there is no limit."""
    match node:
        case Chars():
            return 1
        case Look():
            return 0
        case Atomic(item):
            return longest(item)
        case Sequence(items):
            lengths = [longest(item) for item in items]
            return None if None in lengths else sum(n for n in lengths if n is not None)
        case Choice(branches):
            lengths = [longest(branch) for branch in branches]
            return None if None in lengths else max(n for n in lengths if n is not None)
        case Repeat(item, _, most):
            length = longest(item)
            return 0 if length == 0 else None if most is None or length is None else most * length


class _Parser:
    def __init__(self, pattern: str, ignore_case: bool) -> None:
        self.pattern = pattern
        self.at = 0
        self.fold = ignore_case
        self.names: set[str] = set()
        both = set(pattern) | {c.swapcase() for c in pattern}
        self.alphabet = frozenset(map(chr, range(128))) | frozenset(_SAMPLES) | {c for c in both if len(c) == 1}

    # Reading

    def wrong(self, what: str) -> ValueError:
        return ValueError(f"{what}, at character {self.at + 1} of the pattern")

    def next(self, what: str) -> bool:
        if self.pattern.startswith(what, self.at):
            self.at += len(what)
            return True
        return False

    def char(self, unfinished: str) -> str:
        if self.at >= len(self.pattern):
            raise self.wrong(unfinished)
        self.at += 1
        return self.pattern[self.at - 1]

    def until(self, end: str, unfinished: str) -> str:
        stop = self.pattern.find(end, self.at)
        if stop < 0:
            raise self.wrong(unfinished)
        inside, self.at = self.pattern[self.at : stop], stop + len(end)
        return inside

    # Grammar

    def choice(self) -> Node:
        fold = self.fold
        branches = [self.sequence()]
        while self.next("|"):
            branches.append(self.sequence())
        self.fold = fold
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def sequence(self) -> Node:
        items: list[Node] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            if self.next(r"\Q"):
                items.extend(self.one(c) for c in self.until(r"\E", r"\Q without \E"))
                if items:
                    items.append(self.quantified(items.pop()))
                continue
            items.append(self.quantified(self.atom()))
        return Sequence(tuple(items))

    def atom(self) -> Node:
        c = self.char("unexpected end")
        if c == "(":
            return self.group()
        if c == "[":
            return Chars(self.char_class())
        if c == ".":
            return Chars(self.alphabet - frozenset("\n\r\x85\u2028\u2029"))
        if c in "^$":
            return _NOTHING
        if c == "\\":
            found = self.escape()
            return self.one(found) if isinstance(found, str) else found
        if c in "*+?{":
            self.at -= 1
            raise self.wrong(f"nothing to repeat before {c!r} (write \\{c} for the character itself)")
        return self.one(c)

    def quantified(self, item: Node) -> Node:
        if self.next("*"):
            least, most = 0, None
        elif self.next("+"):
            least, most = 1, None
        elif self.next("?"):
            least, most = 0, 1
        elif self.pattern.startswith("{", self.at):
            least, most = self.counts()
        else:
            return item
        repeat = Repeat(item, least, most)
        if self.next("+"):
            return Atomic(repeat)
        self.next("?")
        return repeat

    def counts(self) -> tuple[int, int | None]:
        found = _QUANTIFIER.match(self.pattern, self.at)
        if found is None:
            raise self.wrong("expected {n}, {n,} or {n,m} (write \\{ for the brace itself)")
        least = int(found.group(1))
        most = least if found.group(2) is None else int(found.group(3)) if found.group(3) else None
        if most is not None and most < least:
            raise self.wrong(f"{found.group(0)} asks for more than it allows")
        self.at = found.end()
        return least, most

    def group(self) -> Node:
        if not self.next("?"):
            return self.closed(lambda item: item)
        if self.next(":"):
            return self.closed(lambda item: item)
        if self.next(">"):
            return self.closed(Atomic)
        if self.next("=") or self.next("!"):
            return self.closed(Look)
        if self.next("<=") or self.next("<!"):
            look = self.closed(Look)
            if isinstance(look, Look) and longest(look.item) is None:
                raise self.wrong("Java cannot look behind without a limit; use {0,n} in place of * and +")
            return look
        if self.next("<"):
            name = self.until(">", "a group's name needs its '>'")
            if not _NAME.fullmatch(name) or name in self.names:
                raise self.wrong(f"{name!r} cannot name a group (again)")
            self.names.add(name)
            return self.closed(lambda item: item)
        if self.pattern.startswith("P<", self.at):
            raise self.wrong("Java writes a named group (?<name>…)")
        return self.flags()

    def flags(self) -> Node:
        found = _FLAGS.match(self.pattern, self.at)
        if found is None:
            raise self.wrong("unknown kind of group '(?'")
        on, off, end = found.group(1), found.group(2) or "", found.group(3)
        if "x" in on:
            raise self.wrong("comments in patterns, (?x), are not supported")
        self.at = found.end()
        before = self.fold
        self.fold = (self.fold or "i" in on) and "i" not in off
        if end == ")":
            return _NOTHING  # holds until the enclosing group ends
        item = self.closed(lambda item: item)
        self.fold = before
        return item

    def closed(self, made: Callable[[Node], Node]) -> Node:
        item = self.choice()
        if not self.next(")"):
            raise self.wrong("a '(' is never closed")
        return made(item)

    # Characters

    def one(self, c: str) -> Chars:
        return Chars(frozenset({c, c.lower(), c.upper()}) if self.fold else frozenset({c}))

    def where(self, test: Callable[[str], bool]) -> frozenset[str]:
        return frozenset(c for c in self.alphabet if test(c))

    def escape(self, in_class: bool = False) -> str | Node:
        c = self.char("a pattern cannot end with a single backslash")
        if c.lower() in _SETS:
            inside = self.where(_SETS[c.lower()])
            return Chars(inside if c.islower() else self.alphabet - inside)
        if c in "pP":
            name = self.until("}", "expected '}'") if self.next("{") else self.char("expected a property")
            inside = self.property(name)
            return Chars(inside if c == "p" else self.alphabet - inside)
        if c in _CONTROL:
            return _CONTROL[c]
        if c in "x0uc":
            return self.coded(c)
        if not in_class:
            if c in "bBAGZz":
                self.next("{g}")
                return _NOTHING
            if c in "RXN":
                if c == "N":
                    self.until("}", r"expected \N{name}")
                return Chars(self.alphabet)
            if c.isdigit():
                return Repeat(Chars(self.alphabet), 0, 1)  # what a group matched may be anything
            if c == "k":
                name = self.until(">", r"expected \k<name>") if self.next("<") else ""
                if name not in self.names:
                    raise self.wrong(f"there is no group {name!r} before this")
                return Repeat(Chars(self.alphabet), 0, 1)
        if c.isascii() and c.isalnum():
            raise self.wrong(f"Java knows no escape \\{c}" + (" here" if in_class else ""))
        return c

    def coded(self, kind: str) -> str:
        if kind == "c":
            return chr(ord(self.char(r"expected \cX")) ^ 64)
        digits = r"[0-3]?[0-7]{1,2}" if kind == "0" else r"[0-9A-Fa-f]{4}" if kind == "u" else r"[0-9A-Fa-f]{2}"
        if kind == "x" and self.next("{"):
            code = self.until("}", "expected '}'")
            if not re.fullmatch(r"[0-9A-Fa-f]{1,6}", code) or int(code, 16) > 0x10FFFF:
                raise self.wrong(f"{code!r} is no character's number")
            return chr(int(code, 16))
        found = re.compile(digits).match(self.pattern, self.at)
        if found is None:
            raise self.wrong(f"expected digits after \\{kind}")
        self.at = found.end()
        return chr(int(found.group(), 8 if kind == "0" else 16))

    def property(self, name: str) -> frozenset[str]:
        if name in _POSIX:
            return frozenset(_POSIX[name])
        bare = name.removeprefix("Is").removeprefix("gc=").removeprefix("general_category=")
        if _CATEGORY.match(bare):
            return self.where(partial(_in_category, category=bare))
        if name in _JAVA:
            return self.where(_JAVA[name])
        if re.match(r"(Is|In|java|(script|sc|block|blk)=)\w", name):
            return self.where(lambda c: c.isalnum() or not c.isascii())  # some script; none has ASCII signs
        raise self.wrong(f"Java knows no property {name!r}")

    def char_class(self) -> frozenset[str]:
        negated = self.next("^")
        operands: list[set[str]] = [set()]
        first = True
        while first or not self.next("]"):
            if self.next("&&"):
                operands.append(set())
            elif self.next("["):
                operands[-1] |= self.char_class()
            else:
                operands[-1] |= self.members()
            first = False
        inside = frozenset.intersection(*(frozenset(operand) for operand in operands))
        return self.alphabet - inside if negated else inside

    def members(self) -> frozenset[str]:
        low = self.member()
        if isinstance(low, frozenset):
            return low
        rest = self.pattern[self.at : self.at + 2]
        if not rest.startswith("-") or rest in ("-", "-]", "-["):
            return self.one(low).allowed
        self.at += 1
        high = self.member()
        if isinstance(high, frozenset) or high < low:
            raise self.wrong(f"{low}-{high if isinstance(high, str) else '…'} is no range of characters")
        inside = self.where(lambda c: low <= c <= high)
        return inside | {d for c in inside for d in (c.lower(), c.upper())} if self.fold else inside

    def member(self) -> str | frozenset[str]:
        c = self.char("a '[' is never closed")
        if c != "\\":
            return c
        found = self.escape(in_class=True)
        return found.allowed if isinstance(found, Chars) else str(found)


def _in_category(c: str, category: str) -> bool:
    found = unicodedata.category(c)
    if category in ("LC", "L1", "LD"):
        return found.startswith("L")
    return found.startswith(category)
