"""What can be learnt of a DataFrame without running a job, on classic Spark and on Connect."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_UNKNOWN = 2**60
"""Spark's stand-in for "no idea" (frames made in memory) is near the greatest long."""


def estimated_bytes(frame: DataFrame) -> int | None:
    """Size of a frame as the optimiser estimates it from file statistics; None where that is unknown."""
    try:
        plan = frame._jdf.queryExecution().optimizedPlan()
    except Exception:  # Connect raises one of several errors for any touch of the JVM
        return None
    size = int(str(plan.stats().sizeInBytes()))
    return size if size < _UNKNOWN else None


def error_class(error: Exception) -> str:
    """Spark's stable name of an error; its text may carry data and stays out of messages."""
    from pyspark.errors import PySparkException

    condition = error.getCondition() if isinstance(error, PySparkException) else None
    return condition or type(error).__name__


def query_logger() -> logging.Logger:
    """The logger to which PySpark writes every refused query, with values and stack.

    Asked from PySpark: a logger of that name made by the standard library first would not know PySpark's arguments,
    and every later refusal would end in a TypeError.
    """
    from pyspark.logger import PySparkLogger

    return PySparkLogger.getLogger("SQLQueryContextLogger")


@contextmanager
def hushed() -> Iterator[None]:
    """Keep PySpark from logging an error, values and stack included, that we expect and handle."""
    logger = query_logger()
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before
