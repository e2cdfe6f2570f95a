"""Splits an expression into tokens exactly as Spark's own lexer does, and derives the canonical text.

Everything the guard says about names and calls is said about these tokens, not about another parser's
idea of them: where two parsers disagree about the end of a string, an attacker hides. It is our own also
because fingerprints are taken over `canonical`, which may not change when a library is upgraded.
"""

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["word", "number", "string", "name", "symbol", "open"]
"""`name` is a backtick-quoted identifier; `open` is a quote that never closes, with all that follows it."""

_TOKEN = re.compile(
    r"""
      (?P<gap>    [ \t\r\n\f\v]+ )
    | (?P<string> [rR](?:'[^']*'|"[^"]*")
                | '(?:[^'\\]+|\\.|'')*+'
                | "(?:[^"\\]+|\\.|"")*+" )
    | (?P<name>   `(?:[^`]+|``)*+` )
    | (?P<open>   ['"`].* )
    | (?P<number> (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[A-Za-z0-9_]* )
    | (?P<word>   [A-Za-z_][A-Za-z0-9_]* )
    | (?P<symbol> <=> | >>> | -> | => | :: | <= | >= | <> | != | == | \|\| | \|> | << | >>
                | -- | /\* | \*/ | && | . )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One lexical element; `gap` says that white space stood before it."""

    kind: Kind
    text: str
    start: int
    gap: bool

    @property
    def lower(self) -> str:
        """The text in lower case if it is a bare word, else the text as it stands."""
        return self.text.lower() if self.kind == "word" else self.text

    def is_symbol(self, *texts: str) -> bool:
        """True if this is one of the given symbols (and not a quoted text that looks like one)."""
        return self.kind == "symbol" and self.text in texts


def tokenize(text: str) -> list[Token]:
    """All tokens in order; never raises, every character that is not white space belongs to one."""
    tokens: list[Token] = []
    gap = False
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "gap":
            gap = True
            continue
        tokens.append(Token(kind, match.group(), match.start(), gap))  # type: ignore[arg-type]
        gap = False
    return tokens


def canonical(text: str) -> str:
    """The expression with uniform white space between tokens, for fingerprints.

    `a  =\\n1`, `a=1` and `a = 1` give the same text. Nothing inside '…', "…" or `…` changes; case stays.
    """
    parts: list[str] = []
    before: Token | None = None
    for token in tokenize(text):
        if before is not None and _apart(before, token):
            parts.append(" ")
        parts.append(token.text)
        before = token
    return "".join(parts)


def _apart(left: Token, right: Token) -> bool:
    """Whether one space stands between two neighbours. Joining may never make two tokens into one."""
    if left.is_symbol(".", ":") or right.is_symbol(".", ":") or right.text.startswith("."):
        return right.gap  # `1 .5` and `1.5` are different things
    if left.is_symbol("(", "[", "::") or right.is_symbol(")", "]", ",", "[", "::"):
        return False
    if right.is_symbol("("):
        return left.kind not in ("word", "name")
    return True
