"""The way back as a plain model, and an in-memory double of the tables that makes its decisions with the real rules.

The model knows nothing of outboxes, commits and crashes: it says what has to be true. The double has the same tables
and the same order of commits as the lake, and can be stopped between any two of them.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from lazaretto.model.lifecycle import CLOSED, IllegalStep, Step, after, edited_to, may_be_sent, outcome, standing
from lazaretto.model.words import RecordStatus

Q, U, C, S, R, X, A = RecordStatus
MOST = 3


class Lake(Protocol):
    """What can be done, on the double and on real tables alike."""

    def quarantine(self, record: int) -> None: ...
    def step(self, step: Step, records: list[int], right: bool | None = None) -> None: ...
    def sql(self, record: int, status: RecordStatus, right: bool) -> None: ...
    def recycle(self, stop_after: int | None = None) -> None: ...
    def archive(self, record: int) -> None: ...
    def restore(self, record: int) -> None: ...
    def places(self) -> dict[int, RecordStatus]: ...
    def published(self) -> Counter[int]: ...


@dataclass
class Model:
    """What has to be true."""

    status: dict[int, RecordStatus] = field(default_factory=dict)
    right: dict[int, bool] = field(default_factory=dict)
    before: dict[int, RecordStatus] = field(default_factory=dict)
    published: Counter[int] = field(default_factory=Counter)
    base: dict[int, tuple[RecordStatus, bool]] = field(default_factory=dict)
    """What SQL found when it began to edit a record: of several edits only the latest counts."""

    def quarantine(self, record: int) -> None:
        self.status[record], self.right[record] = Q, False

    def step(self, step: Step, records: list[int], right: bool | None = None) -> None:
        ends = {Step.CLAIM: U, Step.CORRECT: C, Step.RESUBMIT: C, Step.REJECT: X, Step.RELEASE: Q, Step.WITHDRAW: Q}
        starts = {Step.RELEASE: {U}, Step.WITHDRAW: {C}}.get(step, {Q, U, C})
        if any(self.status[r] not in starts for r in records):
            return  # all or none
        for record in records:
            self.base.pop(record, None)
            self.status[record] = ends[step]
            if right is not None:
                self.right[record] = right

    def sql(self, record: int, status: RecordStatus, right: bool) -> None:
        known, _ = self.base.setdefault(record, (self.status[record], self.right[record]))
        if known not in (Q, U, C):
            return
        self.right[record] = right
        reachable = {Q: (C, X, U), U: (Q, C, X), C: (Q, U, X)}[known]
        self.status[record] = status if status in reachable else known

    def recycle(self) -> None:
        self.base.clear()
        for record, status in self.status.items():
            if status is C:
                self.status[record] = R if self.right[record] else Q
                self.published[record] += self.right[record]

    def archive(self, record: int) -> None:
        self.base.clear()
        if self.status[record] in (R, X):
            self.before[record], self.status[record] = self.status[record], A

    def restore(self, record: int) -> None:
        if self.status[record] is A:
            self.status[record] = self.before.pop(record)


@dataclass
class Row:
    """A row of `quarantine.records`."""

    status: RecordStatus = Q
    attempt: int = 0
    right: bool = False
    known: RecordStatus = Q
    known_right: bool = False

    @property
    def edited(self) -> bool:
        return self.status is not self.known or self.right != self.known_right

    def note(self) -> None:
        """An entry in the record's history."""
        self.known, self.known_right = self.status, self.right


@dataclass
class Double:
    """The tables in memory."""

    records: dict[int, Row] = field(default_factory=dict)
    archived: dict[int, Row] = field(default_factory=dict)
    outbox: list[list[tuple[int, int, bool]]] = field(default_factory=list)
    target: dict[int, list[int]] = field(default_factory=dict)

    def quarantine(self, record: int) -> None:
        self.records[record] = Row()

    def sent(self, record: int) -> int | None:
        return max((attempt for batch in self.outbox for r, attempt, _ in batch if r == record), default=None)

    def standing(self, record: int) -> RecordStatus:
        if record in self.archived:
            return standing(Q, 0, None, archived=True)
        row = self.records[record]
        return standing(edited_to(row.known, row.status), row.attempt, self.sent(record))

    def step(self, step: Step, records: list[int], right: bool | None = None) -> None:
        self.recycle_open()
        try:
            ends = [after(step, self.standing(record)) for record in records]
        except IllegalStep:
            return
        for record, end in zip(records, ends, strict=True):
            row = self.records[record]
            row.status, row.right = end, row.right if right is None else right
            row.note()

    def sql(self, record: int, status: RecordStatus, right: bool) -> None:
        if record in self.records:
            self.records[record].status, self.records[record].right = status, right

    def take_up(self) -> None:
        for record, row in self.records.items():
            flying = standing(row.known, row.attempt, self.sent(record)) is S
            if row.edited and not flying:
                if row.known in CLOSED:
                    row.right = row.known_right
                row.status = edited_to(row.known, row.status)
                row.note()

    def recycle(self, stop_after: int | None = None) -> None:
        """One commit after the other, stopped after so many of them."""
        for number, commit in enumerate((self.recycle_open, self.take_up, self.send, self.publish, self.settle)):
            if number == stop_after:
                return
            commit()

    def recycle_open(self) -> None:
        self.publish()
        self.settle()

    def send(self) -> None:
        batch = [
            (record, row.attempt + 1, row.right)
            for record, row in self.records.items()
            if row.status is C is row.known
            and may_be_sent(row.attempt, MOST, by_person=True)
            and (self.sent(record) or 0) <= row.attempt
        ]
        if batch:
            self.outbox.append(batch)

    def publish(self) -> None:
        for version, batch in enumerate(self.outbox):
            if version not in self.target:  # the commit's transaction id
                self.target[version] = [record for record, _, right in batch if right]

    def settle(self) -> None:
        for version, batch in enumerate(self.outbox):
            for record, attempt, _ in batch:
                row = self.records.get(record)
                if row is None or row.attempt >= attempt or version not in self.target:
                    continue
                through = record in self.target[version]
                row.status = outcome(row.status if row.edited else None, published=through)
                row.attempt = attempt
                row.known = R if through else Q
                if through:
                    row.known_right = row.right

    def archive(self, record: int) -> None:
        self.recycle_open()
        self.take_up()
        row = self.records.get(record)
        if row is not None and row.status in (R, X):
            self.archived[record] = self.records.pop(record)

    def restore(self, record: int) -> None:
        if record in self.archived:
            self.records[record] = self.archived.pop(record)

    def places(self) -> dict[int, RecordStatus]:
        both = self.records.keys() & self.archived.keys()
        assert not both, both
        return {record: self.standing(record) for record in (*self.records, *self.archived)}

    def published(self) -> Counter[int]:
        return Counter(record for rows in self.target.values() for record in rows)


def play(lake: Lake, rng: random.Random, steps: int, *, archives: bool = True) -> Model:
    """Random operations on a lake and on the model; after each, every record is in one place and the right one."""
    model = Model()
    for number in range(steps):
        known = list(model.status)
        wish = rng.choice(
            ["quarantine", "step", "bulk", "sql", "sql", "recycle", "crash", "flight", "archive", "replay"]
        )
        told = f"step {number}: {wish}"
        if wish == "quarantine" or len(known) < 3:
            model.quarantine(number)
            lake.quarantine(number)
        elif wish in ("step", "bulk"):
            step = rng.choice([Step.CLAIM, Step.CORRECT, Step.RESUBMIT, Step.REJECT, Step.RELEASE, Step.WITHDRAW])
            records = rng.sample(known, 1 if wish == "step" else 2)
            right = rng.random() < 0.6 if step is Step.CORRECT else None
            told += f" {step} {records} {right}"
            lake.step(step, records, right)
            model.step(step, records, right)
        elif wish == "sql":
            record, status, right = rng.choice(known), rng.choice([C, C, C, X, R, Q]), rng.random() < 0.5
            told += f" {record} {status} {right}"
            lake.sql(record, status, right)
            model.sql(record, status, right)
        elif wish == "recycle":
            lake.recycle()
            model.recycle()
        elif wish == "replay":
            lake.recycle()
            model.recycle()
            lake.recycle()  # nothing is left: the same again changes nothing
        elif wish == "crash":
            stop = rng.randrange(5)
            told += f" after {stop}"
            lake.recycle(stop)
            assert max(lake.published().values(), default=0) <= 1, told
            lake.recycle()
            model.recycle()
        elif wish == "flight":
            # Sent, then edited by SQL before the outcome: what got through stays through, else the edit counts.
            sent = [r for r, s in model.status.items() if s is C]
            lake.recycle(3)
            if sent:
                record, right = rng.choice(sent), rng.random() < 0.5
                told += f" {record} {right}"
                lake.sql(record, C, right)
                got_through = model.right[record]
                lake.recycle(1)
                model.recycle()
                if not got_through and right:  # an edit that changes nothing is none
                    model.sql(record, C, right)
            lake.recycle()
            model.recycle()
        elif archives:
            record = rng.choice(known)
            if model.status[record] is A:
                lake.restore(record)
                model.restore(record)
            else:
                lake.archive(record)
                model.archive(record)
        found = lake.places()
        wrong = {r: (s, found.get(r)) for r, s in model.status.items() if found.get(r) is not s}
        assert not wrong, f"{told}: {wrong}"
        assert found.keys() == model.status.keys(), told
        assert +lake.published() == +model.published, told
        assert max(model.published.values(), default=0) <= 1, told
    return model
