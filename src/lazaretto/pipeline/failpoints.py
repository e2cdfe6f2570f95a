"""Named moments at which a test can end the process, to prove that no moment matters.

`LAZARETTO_FAILPOINT=after_seal:both` kills Python and the JVM when that point is reached; `python`, `jvm` and
`raise` are the other ways to go. Without the variable a point costs one dictionary look-up.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VARIABLE = "LAZARETTO_FAILPOINT"
REACHED = "lazaretto reached failpoint"
"""Said on standard error, so that a test knows its moment came."""

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
"""Of a run."""

ENDS = (
    "after_bring_back",
    "after_resolution",
    "before_resolution_commit",
    "after_resolution_commit",
    "after_resolution_quarantine",
    "after_resolution_confirm",
    "after_unlock",
)
"""Of what people do with a held batch or a locked asset."""

REVIEWS = (
    "before_records_commit",
    "after_records_commit",
    "after_send",
    "before_outcome",
    "after_outcome",
)
"""Of what is done with records: an action accepted and not applied, applied and not attested; records in the outbox,
published and without their outcome, with it and without its evidence."""

STREAM = ("after_offsets", "mid_stage", "before_batch_commit", "after_batch_commit")
"""Of a stream: Spark has planned a micro-batch; it is being written; it is done; Spark has noted that it is done."""

CHORES = ("after_archived", "after_brought_back", "after_overwritten")
"""Of retention, restoring and erasure: records in both tables; overwritten, and old files still there."""

KNOWN = POINTS + ENDS + REVIEWS + STREAM + CHORES


class FailpointReached(Exception):
    """Raised at a failpoint that asks for an exception."""


def reach(point: str, spark: SparkSession | None = None) -> None:
    """Do here what the environment asks for: `POINT:HOW`, or `POINT:HOW:N` for the Nth time it is reached."""
    wish = os.environ.get(VARIABLE)
    if not wish:
        return
    name, how, nth = [*wish.split(":"), "", "1"][:3]
    assert name in KNOWN, f"unknown failpoint {name}; known: {', '.join(KNOWN)}"
    if name != point:
        return
    _REACHED_BEFORE[point] = _REACHED_BEFORE.get(point, 0) + 1
    if _REACHED_BEFORE[point] != int(nth or 1):
        return
    os.write(2, f"{REACHED} {point}\n".encode())  # past every buffer: there is no later moment to flush one
    if how == "raise":
        _REACHED_BEFORE.clear()
        raise FailpointReached(point)
    if point.startswith("mid_"):  # strikes while the next statement is under way
        threading.Timer(0.3, _strike, (how, spark)).start()
        return
    _strike(how, spark)


_REACHED_BEFORE: dict[str, int] = {}


def _strike(how: str, spark: SparkSession | None) -> None:
    if how == "stop":  # until somebody sends SIGCONT
        os.kill(os.getpid(), signal.SIGSTOP)
        return
    if how in ("jvm", "both") and spark is not None:
        jvm: Any = spark._jvm
        os.kill(int(jvm.java.lang.ProcessHandle.current().pid()), signal.SIGKILL)
        if how == "jvm":
            time.sleep(0.5)
            return
    os.kill(os.getpid(), signal.SIGKILL)
