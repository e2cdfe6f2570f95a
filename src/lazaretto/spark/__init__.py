"""Everything that knows a Spark or Delta internal.

Importing this package imports no pyspark: only calling `session` does.
"""

from lazaretto.spark.local import session

__all__ = ["session"]
