"""Catalyst's TryEval around any expression: what plain SQL offers only for a few functions.

Over Spark Connect no expression can be built but by SQL, whose only functions with a TryEval inside take and give text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazaretto.spark.reach import jvm_in_reach, jvm_of

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


def tried(spark: SparkSession, expression: str) -> Column:
    """The value of an SQL expression, or NULL for a row on which evaluating it throws.

    Give it a conditional expression (CASE WHEN …): what is always evaluated may be hoisted out of the try.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.classic.column import Column

    jvm = jvm_of(spark)
    utils = jvm.org.apache.spark.sql.classic.ExpressionUtils
    inner = utils.expression(F.expr(expression)._jc)
    return Column(utils.column(jvm.org.apache.spark.sql.catalyst.expressions.TryEval(inner)))


def tried_variant(spark: SparkSession, expression: str) -> Column:
    """The same of an expression that gives a VARIANT, on every session.

    Over Connect it is evaluated twice: once only to see whether it throws. That is asked inside a lambda, where nothing
    is hoisted and nothing shared with the evaluation that counts.
    """
    from pyspark.sql import functions as F

    if jvm_in_reach(spark):
        return tried(spark, expression)
    asked = f"CASE WHEN spark_partition_id() >= 0 THEN if(is_variant_null({expression}), 'n', 'v') END"
    sound = f"element_at(transform(array(0), lz_t -> try_to_binary({asked}, 'utf-8')), 1) IS NOT NULL"
    return F.expr(f"CASE WHEN {sound} THEN {expression} END")
