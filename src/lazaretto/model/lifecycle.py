"""The life of a quarantined record: who may bring it from where to where. Pure; SQL is drawn from the same table.

::

    QUARANTINED ◄──release── UNDER_REVIEW
        │  ▲ ╲────claim──────────▲ │
        │  │                       │
        └──┴──correct, resubmit────┴──► CORRECTED ──send──► RESUBMITTED ──publish──► RECOVERED ──archive──► ARCHIVED
           ▲           (withdraw back)                        │
           └───────────────fail again (attempt + 1)───────────┘        reject from any open one ──► REJECTED

A record is in flight from the outbox commit that took it until its outcome is on record. Its status column may lag
behind both, so what counts is `standing`: the outbox beats the column.
"""

from __future__ import annotations

from collections.abc import Mapping

from lazaretto.model.errors import LazarettoError
from lazaretto.model.words import RecordStatus, Word


class Step(Word):
    """What can happen to a record."""

    CLAIM = "claim"
    RELEASE = "release"
    CORRECT = "correct"
    RESUBMIT = "resubmit"
    WITHDRAW = "withdraw"
    REJECT = "reject"
    ARCHIVE = "archive"
    # Steps that nobody takes by hand: they follow from the outbox and the target's log.
    SEND = "send"
    RECOVER = "recover"
    FAIL = "fail"

    @property
    def by_hand(self) -> bool:
        """Whether a person may ask for it."""
        return self not in (Step.SEND, Step.RECOVER, Step.FAIL)


_OPEN_AT_REST = (RecordStatus.QUARANTINED, RecordStatus.UNDER_REVIEW, RecordStatus.CORRECTED)

STEPS: Mapping[Step, tuple[tuple[RecordStatus, ...], RecordStatus]] = {
    # A claim on a claimed record takes it over, once the time of the first one is up.
    Step.CLAIM: (_OPEN_AT_REST, RecordStatus.UNDER_REVIEW),
    Step.RELEASE: ((RecordStatus.UNDER_REVIEW,), RecordStatus.QUARANTINED),
    Step.CORRECT: (_OPEN_AT_REST, RecordStatus.CORRECTED),
    Step.RESUBMIT: (_OPEN_AT_REST, RecordStatus.CORRECTED),
    Step.WITHDRAW: ((RecordStatus.CORRECTED,), RecordStatus.QUARANTINED),
    Step.REJECT: (_OPEN_AT_REST, RecordStatus.REJECTED),
    Step.ARCHIVE: ((RecordStatus.RECOVERED, RecordStatus.REJECTED), RecordStatus.ARCHIVED),
    Step.SEND: ((RecordStatus.CORRECTED,), RecordStatus.RESUBMITTED),
    Step.RECOVER: ((RecordStatus.RESUBMITTED,), RecordStatus.RECOVERED),
    Step.FAIL: ((RecordStatus.RESUBMITTED,), RecordStatus.QUARANTINED),
}
"""From where each step starts, and where it ends."""

CLOSED = (RecordStatus.RECOVERED, RecordStatus.REJECTED, RecordStatus.ARCHIVED)
"""Where nothing is left to be done."""

OPEN = (*_OPEN_AT_REST, RecordStatus.RESUBMITTED)
"""Where a record still waits for its end."""


class IllegalStep(LazarettoError):
    """A record cannot take this step from where it stands; the message names those it can."""

    def __init__(self, step: Step, status: RecordStatus, record: str = "a record") -> None:
        super().__init__(f"{record} is {status} and cannot be {_DONE[step]}: {_possible(status)}")
        self.step = step
        self.status = status


_DONE = {
    Step.CLAIM: "claimed",
    Step.RELEASE: "released",
    Step.CORRECT: "corrected",
    Step.RESUBMIT: "resubmitted",
    Step.WITHDRAW: "withdrawn",
    Step.REJECT: "rejected",
    Step.ARCHIVE: "archived",
    Step.SEND: "sent",
    Step.RECOVER: "recovered",
    Step.FAIL: "failed",
}


def after(step: Step, status: RecordStatus, record: str = "a record") -> RecordStatus:
    """Where a step leads. IllegalStep if it does not start here."""
    starts, end = STEPS[step]
    if status not in starts:
        raise IllegalStep(step, status, record)
    return end


def possible(status: RecordStatus) -> tuple[Step, ...]:
    """What a person may do with a record that stands here."""
    return tuple(step for step, (starts, _) in STEPS.items() if step.by_hand and status in starts)


def _possible(status: RecordStatus) -> str:
    if status is RecordStatus.RESUBMITTED:
        return "it is in flight, and what comes next follows from its batch"
    steps = ", ".join(possible(status))
    return f"possible from there is {steps}" if steps else "nothing is possible from there"


def standing(status: RecordStatus, attempt: int, sent: int | None, *, archived: bool = False) -> RecordStatus:
    """Where a record stands: the archive beats the outbox, the outbox beats the status column.

    `sent` is the highest attempt the outbox has of the record: beyond the record's own, it is in flight.
    """
    if archived:
        return RecordStatus.ARCHIVED
    if sent is not None and sent > attempt and status not in CLOSED:
        return RecordStatus.RESUBMITTED
    return status


def standing_sql(status: str, attempt: str, sent: str) -> str:
    """`standing` as SQL, for a record that is not archived."""
    closed = ", ".join(f"'{each}'" for each in CLOSED)
    return (
        f"CASE WHEN {sent} > {attempt} AND {status} NOT IN ({closed}) THEN '{RecordStatus.RESUBMITTED}' "
        f"ELSE {status} END"
    )


def edited_to(known: RecordStatus, found: RecordStatus) -> RecordStatus:
    """What a status written by plain SQL comes to, given the last one on record.

    A person may do by SQL what a command could do. Anything else is put back: above all, a record that was published
    does not go out a second time.
    """
    if found is known:
        return known
    ends = {STEPS[step][1] for step in possible(known) if step is not Step.ARCHIVE}
    if found is RecordStatus.RESUBMITTED and RecordStatus.CORRECTED in ends:  # asked for, not done
        return RecordStatus.CORRECTED
    return found if found in ends else known


def edited_to_sql(known: str, found: str) -> str:
    """`edited_to` as SQL."""
    cases = [
        f"WHEN {known} = '{k}' AND {found} = '{f}' THEN '{edited_to(k, f)}'"
        for k in RecordStatus
        for f in RecordStatus
        if edited_to(k, f) is not k
    ]
    return f"CASE {' '.join(cases)} ELSE {known} END"


def outcome(edited: RecordStatus | None, *, published: bool) -> RecordStatus:
    """Where a record goes when its batch has ended. What was edited in flight counts only if it did not get through."""
    if published:
        return RecordStatus.RECOVERED
    if edited is None:
        return RecordStatus.QUARANTINED
    return edited_to(RecordStatus.QUARANTINED, edited)


def may_be_sent(attempt: int, most: int, *, by_person: bool) -> bool:
    """Whether another attempt is allowed: after so many, only if a person asks for it."""
    return by_person or attempt < most
