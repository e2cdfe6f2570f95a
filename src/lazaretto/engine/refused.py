"""Rules that Spark cannot evaluate at all, found before the batch is: each breaks alone, and no other with it.

Most are refused by the analyser, which costs nothing. A constant pattern is compiled later, with the code of the whole
plan and before any try begins; so rules with such patterns are tried on one row of NULLs first.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from lazaretto.engine import masks
from lazaretto.engine.plan import Instance, Plan
from lazaretto.spark.frames import error_class, hushed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WITH_PATTERNS = re.compile(r"rlike|regexp|like|split|date|timestamp|time|format|number|char", re.IGNORECASE)
"""What functions that take a pattern are called; a rule too many here costs a little time."""
_JAVA_REFUSALS = re.compile(r"\bjava\.[a-z.]+\.(PatternSyntaxException|IllegalArgumentException)\b")

Refusal = Callable[[list[Instance]], str | None]


def without_refused(frame: DataFrame, laid_out: Plan) -> Plan:
    """The plan, with the rules that Spark refuses known as broken."""
    analysed = _breaking(laid_out, lambda instance: True, lambda some: _by_the_analyser(frame, some))
    return _breaking(analysed, _has_patterns, lambda some: _on_nothing(frame, some))


def _breaking(laid_out: Plan, concerned: Callable[[Instance], bool], refusal: Refusal) -> Plan:
    """Ask for all at once, and for halves where the answer is no, until the culprits are alone."""
    broken: dict[int, str] = {}

    def bisect(numbers: list[int]) -> None:
        reason = refusal([laid_out.instances[n] for n in numbers]) if numbers else None
        if reason is None:
            return
        if len(numbers) == 1:
            broken[numbers[0]] = reason
            return
        middle = len(numbers) // 2
        bisect(numbers[:middle])
        bisect(numbers[middle:])

    bisect([n for n, i in enumerate(laid_out.instances) if masks.needs_the_row(i) and concerned(i)])
    return laid_out.breaking(broken)


def _by_the_analyser(frame: DataFrame, instances: list[Instance]) -> str | None:
    from pyspark.errors import AnalysisException, ParseException

    try:
        with hushed():  # what is refused is said in the results
            judged = frame.selectExpr(*(i.ok for i in instances), *(i.actual for i in instances))
            _ = judged.schema  # analysis only; .schema asks for it on Connect too
    except (AnalysisException, ParseException) as error:
        return f"Spark refuses its expression ({error_class(error)})"
    return None


def _has_patterns(instance: Instance) -> bool:
    return any(_WITH_PATTERNS.search(text) for text in instance.rule.expressions())


def _on_nothing(frame: DataFrame, instances: list[Instance]) -> str | None:
    from pyspark.sql import functions as F

    # NULLs that the optimiser cannot foresee: of what it knows to be NULL, no code would be made.
    unforeseen = [
        F.get(F.array_repeat(F.lit(None).cast(field.dataType), F.col("id").cast("int")), F.lit(0)).alias(field.name)
        for field in frame.schema.fields
    ]
    tried = (masks.attempt(f"if({instance.ok}, 0, 1)", "int") for instance in instances)
    try:
        with hushed():
            frame.sparkSession.range(1).select(*unforeseen).selectExpr(*tried).collect()
    except Exception as error:
        if (reason := _about_a_pattern(error)) is None:
            raise
        return f"Spark cannot evaluate its expression ({reason})"
    return None


def _about_a_pattern(error: Exception) -> str | None:
    """Why a pattern is refused; None for all that has nothing to do with the expression. Java's own refusals reach us
    inside of a failed job."""
    from pyspark.errors import PySparkException

    if isinstance(error, PySparkException) and error.getCondition() is not None:
        return error_class(error)
    java = _JAVA_REFUSALS.search(str(error))
    return java[1] if java else None
