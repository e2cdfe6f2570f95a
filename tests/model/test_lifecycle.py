"""The life of a record as a table: every pair of step and status is either allowed or refused with what is possible."""

from __future__ import annotations

import pytest

from lazaretto.model.lifecycle import (
    CLOSED,
    OPEN,
    STEPS,
    IllegalStep,
    Step,
    after,
    edited_to,
    may_be_sent,
    outcome,
    possible,
    standing,
)
from lazaretto.model.words import RecordStatus

Q, U, C, S, R, X, A = RecordStatus
ALLOWED = {
    (Step.CLAIM, Q): U,
    (Step.CLAIM, U): U,
    (Step.CLAIM, C): U,
    (Step.RELEASE, U): Q,
    (Step.CORRECT, Q): C,
    (Step.CORRECT, U): C,
    (Step.CORRECT, C): C,
    (Step.RESUBMIT, Q): C,
    (Step.RESUBMIT, U): C,
    (Step.RESUBMIT, C): C,
    (Step.WITHDRAW, C): Q,
    (Step.REJECT, Q): X,
    (Step.REJECT, U): X,
    (Step.REJECT, C): X,
    (Step.ARCHIVE, R): A,
    (Step.ARCHIVE, X): A,
    (Step.SEND, C): S,
    (Step.RECOVER, S): R,
    (Step.FAIL, S): Q,
}


@pytest.mark.parametrize("step", Step)
@pytest.mark.parametrize("status", RecordStatus)
def test_each_step_from_each_status(step: Step, status: RecordStatus) -> None:
    if (step, status) in ALLOWED:
        assert after(step, status) is ALLOWED[step, status]
        return
    with pytest.raises(IllegalStep) as refused:
        after(step, status, "record 1")
    for legal in possible(status):
        assert legal in str(refused.value)


def test_every_status_is_open_or_closed_and_only_the_archive_is_an_end() -> None:
    assert {*OPEN, *CLOSED} == set(RecordStatus)
    assert not set(OPEN) & set(CLOSED)
    assert {status for status in RecordStatus if not any(status in starts for starts, _ in STEPS.values())} == {A}


def test_the_outbox_beats_the_status_and_the_archive_beats_both() -> None:
    assert standing(C, 0, None) is C
    assert standing(C, 0, 1) is S
    assert standing(Q, 1, 1) is Q
    assert standing(R, 0, 1) is R
    assert standing(C, 0, 1, archived=True) is A


def test_sql_may_do_what_a_command_could_and_nothing_goes_out_twice() -> None:
    assert edited_to(Q, C) is C
    assert edited_to(U, X) is X
    assert edited_to(Q, S) is C  # asked for, not done
    for closed in CLOSED:
        assert all(edited_to(closed, found) is closed for found in RecordStatus)
    for known in OPEN:
        assert edited_to(known, R) is known  # only the target's log makes a record recovered
        assert edited_to(known, A) is known


def test_an_edit_in_flight_waits_for_the_outcome() -> None:
    assert outcome(None, published=True) is R
    assert outcome(C, published=True) is R
    assert outcome(None, published=False) is Q
    assert outcome(C, published=False) is C
    assert outcome(X, published=False) is X


def test_after_so_many_attempts_only_a_person_sends_a_record() -> None:
    assert may_be_sent(1, 2, by_person=False)
    assert not may_be_sent(2, 2, by_person=False)
    assert may_be_sent(99, 2, by_person=True)
