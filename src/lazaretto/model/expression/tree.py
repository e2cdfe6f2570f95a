"""The third look: the grammar, by sqlglot.

sqlglot gets a disarmed copy of the text, of the same length: the names of functions (judged already) are
replaced by `zzz`, what is inside quotes by digits. So its special treatment of hundreds of functions,
which changes with every version and takes exponential time for some (`struct(struct(…`, `date(date(…`),
never comes into play, and quoting is trivial. Only plain grammar remains, for which the list of allowed
node types is short.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .functions import UNIT_FIRST, names
from .lexer import Token
from .problem import ExpressionProblem
from .screen import is_call

if TYPE_CHECKING:
    from sqlglot import exp

MAX_CHAIN = 200
"""Operators under one another, as in a + a + a + …; AND and OR chains count once."""

# Functions with a syntax of their own inside the parentheses, which sqlglot must know.
_SPECIAL_SYNTAX = names("cast try_cast extract trim substring substr overlay position")
_UNITS = names("""
    microsecond millisecond second minute hour day dayofyear week month quarter year
""")

_ALLOWED_NODES = names("""
    Paren Column Identifier Dot Bracket Literal Null Boolean Tuple Var And Or Not EQ NEQ GT GTE
    LT LTE NullSafeEQ NullSafeNEQ Is In Between Like ILike RegexpLike Escape Any All Add Sub Mul Div
    IntDiv Mod Neg DPipe Concat BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitwiseLeftShift
    BitwiseRightShift Case If Cast TryCast DataType DataTypeParam ColumnDef Interval IntervalSpan
    Anonymous Lambda Kwarg JSONExtract JSONPath JSONPathRoot JSONPathKey JSONPathSubscript Extract Trim
    Substring StrPosition Overlay
""")
_NEVER_BOOLEAN = names("""
    Literal Null Tuple Add Sub Mul Div IntDiv Mod Neg DPipe Concat Interval Extract Trim
    Substring StrPosition Overlay BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitwiseLeftShift
    BitwiseRightShift
""")
_NODE_PROBLEMS: dict[str, tuple[str, str | None]] = {
    "Star": ("`*` does not say which columns are meant", "name the columns"),
    "Alias": ("AS gives a name, which has no use here", "use named_struct('name', value) for a struct"),
    "Window": ("A window (OVER) looks at other rows; a row rule sees one row only", "use a dataset rule"),
    "Distinct": ("DISTINCT belongs to aggregates; a row rule sees one row only", "use a dataset rule"),
    "Order": ("ORDER BY belongs to aggregates; a row rule sees one row only", "use a dataset rule"),
    "Filter": ("FILTER (WHERE …) belongs to aggregates; a row rule sees one row only", "use a dataset rule"),
    "IgnoreNulls": ("IGNORE NULLS belongs to aggregates; a row rule sees one row only", "use a dataset rule"),
    "RespectNulls": (
        "RESPECT NULLS belongs to aggregates; a row rule sees one row only",
        "use a dataset rule",
    ),
    "Placeholder": (
        "A parameter has no value here",
        "use ${name}, which is replaced when the suite is loaded",
    ),
    "Parameter": ("A parameter has no value here", "use ${name}, which is replaced when the suite is loaded"),
    "Array": (
        "`array[…]` is not an array in Spark SQL",
        "write array(…), or put the column name into backticks",
    ),
    "AtTimeZone": ("AT TIME ZONE is not part of Spark SQL", "use from_utc_timestamp or to_utc_timestamp"),
}


def tree_problems(text: str, tokens: Sequence[Token], *, condition: bool = True) -> tuple[ExpressionProblem, ...]:
    """Problems of grammar. The tokens must have passed the screen."""
    parsed = _parse(text, tokens)
    if isinstance(parsed, ExpressionProblem):
        return (parsed,)
    return tuple(_node_problems(parsed)) + (tuple(_result_problems(parsed)) if condition else ())


def tree_columns(text: str, tokens: Sequence[Token]) -> tuple[tuple[str, ...], ...]:
    """The column paths of the expression; none if it cannot be parsed."""
    parsed = _parse(text, tokens)
    if isinstance(parsed, ExpressionProblem):
        return ()
    written = {token.start: _name(token) for token in tokens if token.kind in ("word", "name")}
    found: dict[tuple[str, ...], int] = {}
    for node in parsed.walk():
        path = _path(node)
        if path is None:
            continue
        parts = tuple(_written(part, written) for part in path)
        if parts[0].lower() not in _lambda_variables(node, written):
            found.setdefault(parts, _start(path[0]) or 0)
            found[parts] = min(found[parts], _start(path[0]) or 0)
    return tuple(sorted(found, key=lambda parts: found[parts]))


def _parse(text: str, tokens: Sequence[Token]) -> exp.Expr | ExpressionProblem:
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import ParseError

    copy = _disarmed(text, tokens)
    try:
        return sqlglot.parse_one(copy, into=exp.Condition, dialect="databricks")
    except RecursionError:
        return ExpressionProblem("The expression is nested too deeply", None, "split it up")
    except ParseError as error:
        return _syntax_problem(text, copy, error.errors)
    except Exception:  # fail closed: whatever another parser trips over is refused
        return ExpressionProblem("The expression cannot be read as SQL")


def _disarmed(text: str, tokens: Sequence[Token]) -> str:
    copy = [" "] * len(text)
    for index, token in enumerate(tokens):
        size = len(token.text)
        match token.kind:
            case "string":
                raw = token.text[0] in "rR"
                shown = " " * raw + "'" + "1" * (size - 2 - raw) + "'"
            case "name":
                shown = "`" + "1" * (size - 2) + "`"
            case "symbol" if token.text == ">>>":  # unknown to sqlglot
                shown = " >>"
            case "word" if is_call(tokens, index) and token.lower not in _SPECIAL_SYNTAX:
                shown = "z" * size
            case "word" if token.lower == "x" and index + 1 < len(tokens) and tokens[index + 1].kind == "string":
                shown = " "  # bytes: x'1F'
            case "word" if "collate" in (
                token.lower,
                tokens[index - 1].lower if index else "",
            ) and not is_call(tokens, index):
                shown = " " * size  # sqlglot gives it another rank among the operators
            case "word" if index and tokens[index - 1].is_symbol("."):
                shown = "f" * size  # a field may be called null or false
            case "word" if _is_unit(tokens, index):
                shown = "1" * size
            case _:
                shown = token.text
        copy[token.start : token.start + size] = shown
    return "".join(copy)


def _is_unit(tokens: Sequence[Token], index: int) -> bool:
    """True for DAY in `dateadd(DAY, 1, d)`, and not for the column in `datediff(day, d)`."""
    if index < 2 or tokens[index].lower not in _UNITS or tokens[index - 2].lower not in UNIT_FIRST:
        return False
    if not tokens[index - 1].is_symbol("("):
        return False
    depth = commas = 0
    for token in tokens[index:]:
        if token.is_symbol("(", "["):
            depth += 1
        elif token.is_symbol(")", "]"):
            depth -= 1
            if depth < 0:
                break
        elif depth == 0 and token.is_symbol(","):
            commas += 1
    return commas == 2 and tokens[index + 1].is_symbol(",")


def _syntax_problem(text: str, copy: str, errors: Sequence[dict[str, object]]) -> ExpressionProblem:
    highlight = str(errors[0].get("highlight") or "") if errors else ""
    column = errors[0].get("col") if errors else None
    if not highlight or not isinstance(column, int):
        return ExpressionProblem("The expression cannot be read as SQL")
    offset = max(column - len(highlight), 0)  # the copy has one line
    shown = text[offset : offset + len(highlight)]
    if shown.lower() == "as":
        return ExpressionProblem(_NODE_PROBLEMS["Alias"][0], offset, _NODE_PROBLEMS["Alias"][1])
    if "missing" in str(errors[0].get("description")) and not copy[offset + len(highlight) :].strip():
        return ExpressionProblem(f"The expression ends too early after `{shown}`", offset)
    return ExpressionProblem(f"The expression cannot be read from `{shown}` on", offset)


def _node_problems(root: exp.Expr) -> Iterator[ExpressionProblem]:
    for node in root.walk():
        kind = type(node).__name__
        if kind in _ALLOWED_NODES and _fits(node, kind):
            continue
        message, suggestion = _NODE_PROBLEMS.get(kind, ("", None))
        yield ExpressionProblem(message or _unknown(kind), _first_offset(node), suggestion)
    if _depth_exceeds(root, MAX_CHAIN):
        yield ExpressionProblem(
            f"The expression is nested too deeply (more than {MAX_CHAIN} operators in one another)",
            None,
            "split it up",
        )


def _unknown(kind: str) -> str:
    if kind in ("JSONExtract", "JSONExtractScalar", "Lambda"):
        return "`->` belongs to a lambda in a call, as in exists(array, x -> x > 0)"
    if kind in ("DataType", "Anonymous"):
        return "A type stands where a value or a call was expected"
    return f"This part of the expression ({kind}) is not allowed in a rule"


def _fits(node: exp.Expr, kind: str) -> bool:
    """Nodes that are allowed in their place only."""
    parent = type(node.parent).__name__
    match kind:
        case "Anonymous":
            return not str(node.this).strip("z")
        case "JSONExtract":
            return bool(node.args.get("variant_extract"))
        case "Lambda":
            return parent == "Anonymous"
        case "DataType":
            return parent in ("Cast", "TryCast", "DataType", "ColumnDef")
        case "Any" | "All":
            return parent in ("Like", "ILike")
        case "Cast" | "TryCast":
            return not node.args.get("format")
    return True


def _result_problems(root: exp.Expr) -> Iterator[ExpressionProblem]:
    while type(root).__name__ == "Paren":
        root = root.this
    kind = type(root).__name__
    cast = kind in ("Cast", "TryCast") and "BOOLEAN" not in str(root.args["to"].this)
    if kind in _NEVER_BOOLEAN or cast:
        yield ExpressionProblem(
            "The expression must be true or false for a row, and this is a value",
            _first_offset(root),
            "compare it",
        )


def _depth_exceeds(root: exp.Expr, limit: int) -> bool:
    pending = [(root, 0)]
    while pending:
        node, depth = pending.pop()
        if depth > limit:
            return True
        for child in node.iter_expressions():
            chained = type(child) is type(node) and type(node).__name__ in ("And", "Or")
            pending.append((child, depth if chained else depth + 1))
    return False


def _path(node: exp.Expr) -> list[exp.Expr] | None:
    """The identifiers of a column reference, outermost first; None if the node is not (the whole of) one."""
    kind, parent = type(node).__name__, type(node.parent).__name__
    if kind == "Identifier" and parent not in ("Column", "Dot", "Lambda", "ColumnDef"):
        return [node]  # how sqlglot leaves a lambda variable; our own scopes decide
    if kind not in ("Column", "Dot") or parent in ("Dot", "DataType"):
        return None
    fields: list[exp.Expr] = []
    while type(node).__name__ == "Dot":
        if type(node.args["expression"]).__name__ != "Identifier":
            return None
        fields.insert(0, node.args["expression"])
        node = node.this
    if type(node).__name__ == "Identifier":
        return [node, *fields]
    if type(node).__name__ != "Column":
        return None
    parts = [node.args.get(part) for part in ("catalog", "db", "table", "this")]
    return [*(part for part in parts if part is not None), *fields]


def _lambda_variables(node: exp.Expr, written: dict[int, str]) -> set[str]:
    """The variables of all lambdas around the node, in lower case: Spark does not tell X from x."""
    found: set[str] = set()
    above = node.parent
    while above is not None:
        if type(above).__name__ == "Lambda":
            found.update(_written(variable, written).lower() for variable in above.expressions)
        above = above.parent
    return found


def _name(token: Token) -> str:
    return token.text[1:-1].replace("``", "`") if token.kind == "name" else token.text


def _written(identifier: exp.Expr, written: dict[int, str]) -> str:
    """The name as the user wrote it: the copy that was parsed has digits inside backticks."""
    start = _start(identifier)
    return identifier.name if start is None else written.get(start, identifier.name)


def _start(node: exp.Expr) -> int | None:
    start = node.meta.get("start")
    return start if isinstance(start, int) else None


def _first_offset(node: exp.Expr) -> int | None:
    starts = [start for part in node.walk() if (start := _start(part)) is not None]
    return min(starts, default=None)
