"""The second look: the tokens. Names of functions, forbidden words and symbols, depth.

This look alone must keep out everything dangerous, because it reads the text as Spark will read it. The
third look (`tree`) adds the grammar.
"""

import re
from collections.abc import Iterator, Sequence

from .functions import ALLOWED, BARE_FUNCTIONS, READS_DATES, REFUSED, names, refusal_of
from .lexer import Token
from .placement import BEFORE_PARENTHESIS, ends_operand, placement_problems
from .problem import ExpressionProblem

MAX_DEPTH = 30
"""Brackets, CASEs, nested types and signs in a row. sqlglot needs some 20 stack frames for each."""

_SIZED_TYPES = names("char character dec decimal numeric string time varchar")
_FROM_INSIDE = frozenset(("extract", "trim", "substring", "substr", "overlay"))
_OPERATOR_WORDS = names("and between div ilike in is like not or regexp rlike collate")
_STATEMENTS = names("""
    alter analyze begin cache call comment copy create declare delete desc describe drop execute explain
    from grant insert load merge msck optimize refresh replace reset restore revoke set show table
    truncate update use vacuum values with
""")
_SUBQUERY_STARTS = names("from map reduce select table values with")
_FILE_FORMATS = names("avro binaryfile csv delta iceberg jdbc json orc parquet text xml")
_CLOCK_TEXTS = frozenset(("now", "today", "tomorrow", "yesterday"))
_ORDERINGS = ("<", "<=", ">", ">=")
_SYMBOLS = names("""
    = == <=> <> != < <= > >= + - * / % & | ^ ~ ! || -> => :: : . , ( ) [ ] << >> >>>
""")
_SYMBOL_PROBLEMS: dict[str, tuple[str, str | None]] = {
    ";": ("A semicolon ends a statement; a rule is one single expression", "remove it"),
    "--": ("A comment can hide a part of the expression", "use the rule's description instead"),
    "/*": ("A comment or hint can hide a part of the expression", "use the rule's description instead"),
    "?": ("A parameter `?` has no value here", "use ${name}, which is replaced when the suite is loaded"),
    "@": ("A session variable depends on the session and not on the row", None),
    "&&": ("`&&` is not an operator of Spark SQL", "use AND"),
}
_NUMBER = re.compile(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?(l|s|y|d|f|bd)?", re.IGNORECASE)


def token_problems(tokens: Sequence[Token]) -> Iterator[ExpressionProblem]:
    """Everything that can be said against the tokens, in order of appearance."""
    deep = _too_deep(tokens)
    if deep is not None:
        yield deep
        return
    calls: list[str] = []  # the names of the calls around the current token, "" for plain brackets
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else None
        after = tokens[index + 1] if index + 1 < len(tokens) else None
        match token.kind:
            case "open":
                yield ExpressionProblem(f"The quote {token.text[0]} is never closed", token.start)
            case "number":
                yield from _number_problems(token)
            case "string":
                yield from _clock_text_problems(token, before, after, calls)
            case "name":
                yield from _name_problems(token, before, after)
            case "symbol":
                yield from _symbol_problems(token, before, after)
            case "word":
                yield from _word_problems(tokens, index, calls)
        if after is not None and after.is_symbol("("):
            yield from _call_problems(tokens, index)
        if token.is_symbol("(", "["):
            calls.append(before.lower if token.text == "(" and before is not None else "")
        elif token.is_symbol(")", "]"):
            if not calls:
                yield ExpressionProblem(f"`{token.text}` closes nothing", token.start)
                return
            calls.pop()
    if calls:
        yield ExpressionProblem("A bracket is never closed", _last_open(tokens))


def type_size(tokens: Sequence[Token], index: int) -> bool:
    """True if the word is a type with its size, `DECIMAL(18, 2)`, where a type may stand."""
    if tokens[index].lower not in _SIZED_TYPES or not index:
        return False
    inside = tokens[index + 2 : index + 6]
    closing = next((position for position, token in enumerate(inside) if token.is_symbol(")")), -1)
    if closing not in (1, 3) or any(token.kind != "number" and not token.is_symbol(",") for token in inside[:closing]):
        return False
    before = tokens[index - 1]
    if before.lower == "as" or before.is_symbol("::", "<", ":", ","):
        return True
    return index > 1 and before.kind in ("word", "name") and tokens[index - 2].is_symbol("<", ",")


def is_call(tokens: Sequence[Token], index: int) -> bool:
    """True if the token is the name of a function being called."""
    if index + 1 >= len(tokens) or not tokens[index + 1].is_symbol("("):
        return False
    token = tokens[index]
    if token.kind in ("symbol", "open"):
        return False
    if token.lower in ("any", "some", "all"):
        return not (index and tokens[index - 1].lower in ("like", "ilike"))
    if token.kind == "word" and token.lower in BEFORE_PARENTHESIS:
        # Many of these are functions too, like(a, b); they are operators where something stands before them.
        before = tokens[index - 1] if index else None
        return token.lower in ALLOWED and not (ends_operand(before) or (before and before.lower == "not"))
    return not type_size(tokens, index)


def _too_deep(tokens: Sequence[Token]) -> ExpressionProblem | None:
    depth = types = signs = 0
    for index, token in enumerate(tokens):
        word = token.lower
        signs = signs + 1 if word in ("not", "!", "-", "+", "~") else 0
        if token.is_symbol("(", "[") or word == "case":
            depth += 1
        elif token.is_symbol(")", "]") or word == "end":
            depth = max(depth - 1, 0)
        elif token.is_symbol("<") and index and tokens[index - 1].lower in ("array", "map", "struct"):
            types += 1
        elif token.is_symbol(">", ">>", ">>>"):
            types = max(types - len(token.text), 0)
        if depth + types + signs > MAX_DEPTH:
            return ExpressionProblem(
                f"The expression is nested too deeply (more than {MAX_DEPTH} levels)",
                token.start,
                "split it up",
            )
    return None


def _last_open(tokens: Sequence[Token]) -> int | None:
    opened: list[int] = []
    for token in tokens:
        if token.is_symbol("(", "["):
            opened.append(token.start)
        elif token.is_symbol(")", "]") and opened:
            opened.pop()
    return opened[-1] if opened else None


def _number_problems(token: Token) -> Iterator[ExpressionProblem]:
    if not _NUMBER.fullmatch(token.text):
        yield ExpressionProblem(
            f"`{token.text}` is neither a number nor a name",
            token.start,
            "put a column name that begins with a digit into backticks",
        )


def _clock_text_problems(
    token: Token, before: Token | None, after: Token | None, calls: Sequence[str]
) -> Iterator[ExpressionProblem]:
    """Spark turns 'now' into the clock where a date or timestamp is expected: TIMESTAMP'now', ts < 'now'."""
    if token.text.strip("rR\"'").strip().lower() not in _CLOCK_TEXTS:
        return
    left, right = (before.lower if before else ""), (after.lower if after else "")
    if (
        left.startswith(("date", "time", "between"))
        or left in _ORDERINGS
        or right in (*_ORDERINGS, "::", "between")
        or (calls and calls[-1] in READS_DATES)
    ):
        yield ExpressionProblem(
            f"The text {token.text} reads the clock when it becomes a date or timestamp",
            token.start,
            "the clock is passed in: use the event_time check",
        )


def _name_problems(token: Token, before: Token | None, after: Token | None) -> Iterator[ExpressionProblem]:
    if token.text == "``":
        yield ExpressionProblem("A name in backticks is empty", token.start)
    bare = token.text[1:-1].lower()
    alone = not (before and before.is_symbol(".")) and not (after and after.is_symbol(".", "("))
    if alone and bare in BARE_FUNCTIONS - {"user"}:
        yield ExpressionProblem(
            f"Spark takes {token.text} for the function when there is no such column",
            token.start,
            "rename the column",
        )


def _symbol_problems(token: Token, before: Token | None, after: Token | None) -> Iterator[ExpressionProblem]:
    if token.text in _SYMBOL_PROBLEMS:
        message, suggestion = _SYMBOL_PROBLEMS[token.text]
        yield ExpressionProblem(message, token.start, suggestion)
    elif token.text not in _SYMBOLS:
        what = "put column names with other letters than a-z into backticks" if token.text > "\x7f" else None
        yield ExpressionProblem(f"`{token.text}` has no meaning in an expression", token.start, what)
    elif token.text == "," and (
        after is None or after.is_symbol(",", ")", "]") or not before or before.is_symbol("(", "[")
    ):
        yield ExpressionProblem("Something is missing beside the comma", token.start)
    elif token.text == ":" and not ends_operand(before):
        yield ExpressionProblem(
            "A parameter `:name` has no value here",
            token.start,
            "use ${name}, which is replaced when the suite is loaded",
        )


def _word_problems(tokens: Sequence[Token], index: int, calls: Sequence[str]) -> Iterator[ExpressionProblem]:
    token, word = tokens[index], tokens[index].lower
    before = tokens[index - 1] if index else None
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    if before is not None and before.is_symbol("."):
        return  # a field of a struct may have any name
    yield from placement_problems(tokens, index, calls)
    opens = before is not None and before.is_symbol("(")
    follows = after is not None and (after.kind != "symbol" and after.lower not in _OPERATOR_WORDS)
    if index == 0 and (word == "select" or (word in _STATEMENTS and follows)):
        yield ExpressionProblem(
            f"`{token.text}` begins a statement; a rule is one expression that is true or false for a row",
            token.start,
        )
    elif word == "select" or (opens and word in _SUBQUERY_STARTS and follows):
        yield ExpressionProblem(
            "A subquery reads other tables; a row rule sees one row only",
            token.start,
            "use the referential_integrity or query check",
        )
    elif word == "from" and not (before and before.lower == "distinct") and not (calls and calls[-1] in _FROM_INSIDE):
        yield ExpressionProblem("FROM reads a table; a row rule sees one row only", token.start)
    elif word == "lateral":
        yield ExpressionProblem(
            "LATERAL VIEW makes several rows out of one",
            token.start,
            "use exists(array, x -> …) to look into an array",
        )
    elif word == "using" and follows:
        yield ExpressionProblem("TRANSFORM … USING runs a program of the operating system", token.start)
    elif word in BARE_FUNCTIONS and not (after and after.is_symbol(".", "(")):
        family = REFUSED[word]
        yield ExpressionProblem(
            f"`{word}` {family.reason}",
            token.start,
            family.suggestion if word != "user" else "write the column as `user` in backticks",
        )
    elif word == "system" and [t.lower for t in tokens[index + 1 : index + 4]] == [".", "session", "."]:
        yield ExpressionProblem("A session variable depends on the session and not on the row", token.start)
    elif word in _FILE_FORMATS and after and after.is_symbol("."):
        path = tokens[index + 2] if index + 2 < len(tokens) else None
        if path is not None and path.kind == "name" and "/" in path.text:
            yield ExpressionProblem(f"{token.text}.{path.text} reads a file as a table", token.start)


def _call_problems(tokens: Sequence[Token], index: int) -> Iterator[ExpressionProblem]:
    """The token stands before a parenthesis: is it something that may?"""
    token = tokens[index]
    if token.is_symbol(")", "]"):
        yield ExpressionProblem("The result of a call cannot be called", token.start + 1)
        return
    if not is_call(tokens, index):
        return
    if token.kind in ("name", "string"):
        yield ExpressionProblem(
            f"{token.text} is a quoted name and cannot be called as a function",
            token.start,
            "write it without quotes",
        )
    elif index and tokens[index - 1].is_symbol("."):
        yield ExpressionProblem(
            f"`{token.text}` is called by a qualified name",
            token.start,
            "functions are called by their plain name",
        )
    elif token.lower == "unix_timestamp" and index + 2 < len(tokens) and tokens[index + 2].is_symbol(")"):
        family = REFUSED["unix_timestamp"]
        yield ExpressionProblem(f"`unix_timestamp()` {family.reason}", token.start, family.suggestion)
    elif (refusal := refusal_of(token.lower)) is not None:
        yield ExpressionProblem(refusal[0], token.start, refusal[1])
