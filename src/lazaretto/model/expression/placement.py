"""Keywords that stand in an unusual place.

Spark takes almost any keyword for a name where its grammar leaves no other reading: `a in` is the column a
under the name "in", `a = NOT b` compares with a column called "NOT", `b = and (c)` calls a function. sqlglot
reads these differently, and so do people. Where readings could differ, nothing is guessed: it is refused.
"""

from collections.abc import Iterator, Sequence

from .functions import ALLOWED, names
from .lexer import Token
from .problem import ExpressionProblem

# Words that may stand before a parenthesis without being a call.
BEFORE_PARENTHESIS = names("""
    and as between both case distinct div else escape for from ilike in leading like not or placing
    regexp rlike then trailing when
""")
_INFIX = names("and between collate div escape ilike in is like or regexp rlike")
_QUANTIFIERS = names("all any some")
_GENERIC_TYPES = names("array map struct")
_INSIDE = {
    "as": names("cast try_cast"),
    "for": names("substring substr overlay"),
    "placing": names("overlay"),
}
_NEVER_ALONE = names("if isnull notnull")
_BEFORE_NOT = names("and or not when then else case ( [ , -> => !")
_AFTER_QUANTIFIER = names("and or when then else end ) ] ,")
_AFTER_NOT = names("between ilike in like regexp rlike")
_AFTER_IS_NOT = names("null true false unknown distinct")


def ends_operand(token: Token | None) -> bool:
    """True if a value may end with this token, so that an operator or a path can follow."""
    if token is None:
        return False
    if token.kind == "symbol":
        return token.text in (")", "]")
    return token.kind != "word" or token.lower not in BEFORE_PARENTHESIS


def placement_problems(tokens: Sequence[Token], index: int, calls: Sequence[str]) -> Iterator[ExpressionProblem]:
    """The problem, if any, of the bare word at this place; `calls` are the calls around it."""
    word = tokens[index].lower
    before = tokens[index - 1] if index else None
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    called = after is not None and after.is_symbol("(")
    path = after is not None and after.is_symbol(".")
    if word in _INFIX:
        if before is not None and before.lower == "not" and word not in ("and", "or", "is"):
            before = tokens[index - 2] if index > 1 else None
        misplaced = not ends_operand(before) and not (called and word in ALLOWED)
        misplaced |= word == "in" and not called and not (calls and calls[-1] == "position")
        misplaced |= word == "collate" and not called and not _plain_collation(tokens, index)
    elif word == "not":
        misplaced = not _plain_not(tokens, index)
    elif word == "interval":
        misplaced = not path and not called and not _plain_interval(tokens, index)
    elif word in _QUANTIFIERS:
        misplaced = not (called and _plain_quantifier(tokens, index)) and not path
    elif word in _INSIDE:
        misplaced = not (calls and calls[-1] in _INSIDE[word] and ends_operand(before))
    elif word in _GENERIC_TYPES and after is not None and after.is_symbol("<"):
        in_type = before is not None and (before.lower == "as" or before.is_symbol("::", ":", "<", ","))
        misplaced = not in_type and not ends_operand(before)
    elif word in _NEVER_ALONE:
        misplaced = not called and not path
    else:
        return
    if misplaced:
        yield ExpressionProblem(
            f"`{tokens[index].text}` stands where it has no meaning", tokens[index].start, _advice(word)
        )


def _plain_not(tokens: Sequence[Token], index: int) -> bool:
    before = tokens[index - 1] if index else None
    following = tokens[index + 1].lower if index + 1 < len(tokens) else ""
    if before is not None and before.lower == "and" and _belongs_to_between(tokens, index - 1):
        return False
    if before is None or before.lower in _BEFORE_NOT:
        return True
    if before.lower == "is":
        return following in _AFTER_IS_NOT
    return ends_operand(before) and following in _AFTER_NOT


def _belongs_to_between(tokens: Sequence[Token], index: int) -> bool:
    """True if this AND is the second half of BETWEEN … AND …"""
    depth = 0
    for token in reversed(tokens[:index]):
        if token.is_symbol(")", "]") or token.lower == "end":
            depth += 1
        elif token.is_symbol("(", "[") or token.lower == "case":
            depth -= 1
            if depth < 0:
                return False
        elif depth == 0 and token.lower in ("and", "or", "between"):
            return token.lower == "between"
    return False


def _plain_quantifier(tokens: Sequence[Token], index: int) -> bool:
    """True for `ANY (…)` that ends there. If an operator follows, Spark takes ANY for the aggregate."""
    depth = 0
    for position in range(index + 1, len(tokens)):
        if tokens[position].is_symbol("(", "["):
            depth += 1
        elif tokens[position].is_symbol(")", "]"):
            depth -= 1
        if depth == 0:
            return position + 1 == len(tokens) or tokens[position + 1].lower in _AFTER_QUANTIFIER
    return False


def _plain_collation(tokens: Sequence[Token], index: int) -> bool:
    name, rest = tokens[index + 1 : index + 2], tokens[index + 2 : index + 3]
    if not name or name[0].kind != "word" or name[0].lower in BEFORE_PARENTHESIS | _INFIX:
        return False
    return not (rest and rest[0].is_symbol(".", ":", "[", "("))


def _plain_interval(tokens: Sequence[Token], index: int) -> bool:
    before = tokens[index - 1] if index else None
    if before is not None and (before.lower == "as" or before.is_symbol("::", ":")):
        return True  # a type
    if before is not None and before.is_symbol("<") and tokens[index - 2].lower in ("array", "map"):
        return True
    following = tokens[index + 1 : index + 4]
    if following and following[0].is_symbol("-", "+"):
        following = following[1:]
        if len(following) < 2 or following[1].kind != "word" or following[1].lower in _INFIX:
            return False
    return bool(following) and following[0].kind in ("number", "string")


def _advice(word: str) -> str:
    if word in ("isnull", "notnull"):
        return "write IS NULL or IS NOT NULL"
    if word == "as":
        return "a name has no use here; for a struct use named_struct('name', value)"
    return "put it into backticks if it is a column"
