"""The guard of expressions that users write (`where:`, `custom_sql`): rules are code, only listed things run.

Three looks, each on what the one before let through: the characters, the tokens as Spark reads them, the
grammar as sqlglot reads it. Spark's analyser has the last word later, when the schema is known. Two
things only it can settle, so whoever knows the schema must also check that every path of `columns_of`
exists there: a name that is no column may be a session variable, and `user` then is the function.
"""

from typing import Annotated

from pydantic import AfterValidator

from .characters import MAX_LENGTH, character_problems
from .lexer import canonical, tokenize
from .problem import ExpressionProblem
from .screen import token_problems
from .tree import tree_columns, tree_problems

__all__ = ["MAX_LENGTH", "ExpressionProblem", "SqlExpression", "SqlValue", "canonical", "columns_of", "problems_of"]


def problems_of(text: str, *, condition: bool = True) -> tuple[ExpressionProblem, ...]:
    """Why the expression is refused, in order of appearance; empty if it is allowed. Never raises.

    With `condition=False` it need not be true or false: any value will do.
    """
    found = tuple(character_problems(text))
    if found:
        return found
    tokens = tokenize(text)
    found = tuple(token_problems(tokens)) or tree_problems(text, tokens, condition=condition)
    return tuple({problem.message: problem for problem in reversed(found)}.values())[::-1]


def columns_of(text: str) -> tuple[tuple[str, ...], ...]:
    """The column paths of an allowed expression, in order of first appearance, without lambda variables.

    `a.b.c` gives ("a", "b", "c"); what follows `[…]` or `:` is not part of the path. A refused text has none.
    """
    tokens = tokenize(text)
    if any(character_problems(text)) or any(token_problems(tokens)):
        return ()
    return tree_columns(text, tokens)


def _checked(text: str, *, condition: bool = True) -> str:
    problems = problems_of(text, condition=condition)
    if problems:
        raise ValueError("; ".join(str(problem) for problem in problems))
    return text


SqlExpression = Annotated[str, AfterValidator(_checked)]
"""A string that has passed the guard; pydantic reports the problems otherwise."""

SqlValue = Annotated[str, AfterValidator(lambda text: _checked(text, condition=False))]
"""The same for an expression that gives a value of any type."""
