"""A statement with a word of ours in the table's history.

Delta takes the metadata of an UPDATE, DELETE or MERGE from a setting of the session only. The session is the caller's,
and other threads may write with it: so such statements run in a clone of it that nobody else has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lazaretto.spark.reach import see_that_jvm_is_in_reach

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NOTE = "spark.databricks.delta.commitInfo.userMetadata"


def noting(spark: SparkSession, note: Mapping[str, Any]) -> SparkSession:
    """A clone of the session whose commits carry this note."""
    from pyspark.sql import SparkSession

    see_that_jvm_is_in_reach(spark, "a change of records with a word in the table's history")
    java: Any = spark._jsparkSession
    clone = SparkSession(spark.sparkContext, java.cloneSession())
    clone.conf.set(_NOTE, json.dumps(note, ensure_ascii=False))
    return clone


def vacuuming(spark: SparkSession, *, at_once: bool = False, noted: bool = True) -> SparkSession:
    """A clone of the session for VACUUM: Delta lists a table in as many tasks as a setting made for clusters says, ten
    thousand, which takes minutes here. `at_once` allows old files to go at once; `noted` says in the history that it
    was ours."""
    clone = noting(spark, {"lazaretto": 1, "vacuum": True})
    if not noted:
        clone.conf.unset(_NOTE)
    clone.conf.set(
        "spark.sql.sources.parallelPartitionDiscovery.parallelism", 4 * spark.sparkContext.defaultParallelism
    )
    if at_once:
        clone.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    return clone


def seen_by(session: SparkSession, frame: DataFrame) -> DataFrame:
    """A frame of another session of the same application, for this one."""
    from pyspark.sql import DataFrame

    java: Any = frame._jdf
    jvm: Any = session._jvm
    plan = java.queryExecution().logical()
    moved = jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan)
    return DataFrame(moved, session)
