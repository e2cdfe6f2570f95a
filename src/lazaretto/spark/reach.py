"""What is in reach of a session: the JVM (classic Spark) or a server only (Spark Connect).

Everything that calls into the JVM asks `jvm_of`, so that nothing of it is silently left out where there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lazaretto.model.errors import LazarettoError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class OutOfReach(LazarettoError):
    """A Spark Connect session cannot do this; the message says why, and what to do instead."""


def jvm_in_reach(spark: SparkSession) -> bool:
    """Whether Spark's JVM can be called from this process. Connect raises for the mere question."""
    return getattr(spark, "_jvm", None) is not None


def see_that_jvm_is_in_reach(spark: SparkSession, what: str = "this") -> None:
    """OutOfReach on a Spark Connect session."""
    if not jvm_in_reach(spark):
        raise OutOfReach(
            f"{what} calls into Spark's JVM, which a Spark Connect session keeps out of reach: use the command line, "
            "or a classic session (lazaretto.spark.session() starts one)"
        )


def jvm_of(spark: SparkSession, what: str = "this") -> Any:
    """The JVM of a session; OutOfReach where there is none."""
    see_that_jvm_is_in_reach(spark, what)
    return spark._jvm
