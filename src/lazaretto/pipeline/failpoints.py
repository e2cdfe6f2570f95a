"""Named moments at which a test can end the process, to prove that no moment matters.

`LAZARETTO_FAILPOINT=after_seal:both` kills Python and the JVM when that point is reached; `python`, `jvm` and
`raise` are the other ways to go. Without the variable a point costs one dictionary look-up.
"""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VARIABLE = "LAZARETTO_FAILPOINT"

POINTS = (
    "before_stage",
    "after_stage",
    "after_seal",
    "after_measure",
    "after_decision",
    "before_commit",
    "after_commit",
    "after_quarantine",
    "after_delete",
    "after_hold_copy",
    "after_confirm",
)


class FailpointReached(Exception):
    """Raised at a failpoint that asks for an exception."""


def reach(point: str, spark: SparkSession | None = None) -> None:
    """Do here what the environment asks for."""
    wish = os.environ.get(VARIABLE)
    if not wish:
        return
    name, _, how = wish.partition(":")
    assert name in POINTS, f"unknown failpoint {name}; known: {', '.join(POINTS)}"
    if name != point:
        return
    if how == "raise":
        raise FailpointReached(point)
    if how in ("jvm", "both") and spark is not None:
        jvm: Any = spark._jvm
        os.kill(int(jvm.java.lang.ProcessHandle.current().pid()), signal.SIGKILL)
        if how == "jvm":
            time.sleep(0.5)
            return
    os.kill(os.getpid(), signal.SIGKILL)
