"""The first look at an expression: its characters, before anyone tries to read it."""

import unicodedata
from collections.abc import Iterator

from .problem import ExpressionProblem

MAX_LENGTH = 10_000

_SPACES = frozenset("\t\n\r")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_HIDDEN_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that Unicode calls letters or marks and that show nothing."""


def character_problems(text: str) -> Iterator[ExpressionProblem]:
    """Problems of length, of invisible characters and of Spark's own text substitution."""
    if not text.strip():
        yield ExpressionProblem("The expression is empty", 0)
        return
    if len(text) > MAX_LENGTH:
        yield ExpressionProblem(
            f"The expression has {len(text):,} characters; at most {MAX_LENGTH:,} are allowed",
            MAX_LENGTH,
            "split it into several rules",
        )
        return
    for offset, character in enumerate(text):
        if character not in _SPACES and _hidden(character):
            yield ExpressionProblem(
                f"The invisible character U+{ord(character):04X} hides what the expression says",
                offset,
                f"remove it, or write it as '\\u{ord(character):04x}' inside a text"
                if ord(character) < 65536
                else None,
            )
            return
    # Spark replaces ${…} in the text of an expression before parsing it, inside quotes too, and so reads
    # environment variables and settings of the driver: '${env:HOME}'.
    if (offset := text.find("${")) >= 0:
        yield ExpressionProblem(
            "A parameter ${…} is left in the expression; Spark would replace it by its own settings",
            offset,
            "define the variable, or write '\\u0024{' if the text itself is meant",
        )


def _hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN_CATEGORIES or character in _HIDDEN_LETTERS
