"""What is worse than what, said once.

Statuses are ordered only in part. PASS is better than anything else. More failing rows are worse than fewer. An
ERROR on some rows is better than one of the whole check (`errored` is 0), because rows can be kept out and a whole
check cannot. FAIL and ERROR are different words and neither is the milder one: a rule may ask for different things
in the two cases. A check that is expected and was skipped, or has no result, is an ERROR.
"""

from __future__ import annotations

from collections.abc import Iterable

from lazaretto.model.words import GateAction, Publication

ACTIONS = (
    GateAction.PASS,
    GateAction.SUPERSEDE,
    GateAction.WARN,
    GateAction.DEGRADE_CONSUMER,
    GateAction.QUARANTINE_RECORDS,
    GateAction.QUARANTINE_BATCH,
    GateAction.BLOCK_PUBLICATION,
    GateAction.FAIL_CLOSED,
)
"""From mild to severe."""

PUBLICATIONS = (
    Publication.PUBLISHED_CERTIFIED,
    Publication.PUBLISHED_PARTIAL,
    Publication.PUBLISHED_DEGRADED,
    Publication.NOT_PUBLISHED,
)
"""From trusted to withheld."""


def rank(action: GateAction) -> int:
    """0 for PASS up to 7 for FAIL_CLOSED."""
    return action.rank


def severest(actions: Iterable[GateAction]) -> GateAction:
    """The most severe of some actions; PASS where there is none."""
    return max(actions, key=rank, default=GateAction.PASS)


def holds(action: GateAction) -> bool:
    """Whether the action keeps the whole batch from being published."""
    return rank(action) >= rank(GateAction.QUARANTINE_BATCH)
