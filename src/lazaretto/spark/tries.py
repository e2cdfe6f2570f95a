"""Catalyst's TryEval around any expression: what plain SQL offers only for a few functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


def tried(spark: SparkSession, expression: str) -> Column:
    """The value of an SQL expression, or NULL for a row on which evaluating it throws.

    Give it a conditional expression (CASE WHEN …): what is always evaluated may be hoisted out of the try.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.classic.column import Column

    jvm: Any = spark._jvm
    utils = jvm.org.apache.spark.sql.classic.ExpressionUtils
    inner = utils.expression(F.expr(expression)._jc)
    return Column(utils.column(jvm.org.apache.spark.sql.catalyst.expressions.TryEval(inner)))
