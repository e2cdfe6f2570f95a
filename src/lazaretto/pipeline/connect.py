"""What a run can do on a Spark Connect session, asked before anything is read or written.

The run is the same; Delta is reached in another way (`spark/logs.py`). What has no other way is refused here, with the
reason, and where something was missed, `OutOfReach` ends it when it asks for the JVM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazaretto.model.suite import Suite
from lazaretto.pipeline.places import Places
from lazaretto.spark.reach import OutOfReach, jvm_in_reach
from lazaretto.spark.shared import see_that_it_is_here, see_that_it_is_shared

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INSTEAD = "use the command line, or a classic session (lazaretto.spark.session() starts one)"


def see_that_it_can_run(spark: SparkSession, suite: Suite, places: Places, *, scratch: str | None = None) -> None:
    """OutOfReach if the session is one of Spark Connect and this suite cannot be run on it.

    `scratch` is where a rehearsal stages, which leaves nothing in the lake.
    """
    if jvm_in_reach(spark):
        return
    if suite.publish == "zero_copy":
        raise OutOfReach(
            f"{suite.suite} asks for `publish: zero_copy`, which needs Spark's JVM: leave it out and over Connect "
            f"rows are copied; or {_INSTEAD}"
        )
    if suite.recycle.at_start:
        raise OutOfReach(
            f"{suite.suite} sends corrected records first (`recycle: {{at_start: true}}`), which needs Spark's JVM: "
            f"{_INSTEAD}"
        )
    path = places.asset(spark, suite)
    for rule in suite.rules:
        lookup = rule.lookup() if rule.active else None
        if lookup is None:
            continue
        reference = lookup.reference
        where = reference.path or places.located(spark, str(reference.table))
        if where.rstrip("/") == path.rstrip("/"):
            raise OutOfReach(
                f"the rule {rule.id} of {suite.suite} reads the asset itself, and over Connect nothing keeps such "
                f"an answer from growing old before the batch is published: {_INSTEAD}"
            )
    see_that_it_is_here(path)
    see_that_it_is_here(places.lake)
    elsewhere = [] if path.startswith(f"{places.lake}/") else [path.rpartition("/")[0]]
    for folder in [scratch] if scratch else [places.lake, *elsewhere]:
        see_that_it_is_shared(spark, folder)
