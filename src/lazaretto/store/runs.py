"""Runs and their phases: when each began and ended, also of a run that was killed."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self

from sqlalchemy import RowMapping, Select, insert, select, update

from lazaretto.store.errors import StoreError
from lazaretto.store.ledger import Ledger
from lazaretto.store.records import PhaseRecord, RunRecord, RunState
from lazaretto.store.tables import run, run_phase


class Run:
    """A run being recorded. As a context manager it ends the run: FINISHED, or FAILED by an exception."""

    def __init__(self, ledger: Ledger, key: str, run_id: str) -> None:
        self.key = key
        self.run_id = run_id
        self._ledger = ledger
        self._position = 0
        self._ended = False

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Record one phase: its start at once, so that a killed run shows where it died, then its end."""
        self._position += 1
        this = {"run_key": self.key, "position": self._position}
        row = this | {"phase": name, "started_at": self._ledger.clock()}
        self._ledger.database.write(lambda connection: connection.execute(insert(run_phase).values(row)))
        began = time.monotonic()
        try:
            yield
        except BaseException:
            with suppress(StoreError):  # the error of the phase itself is the one to hear of
                self._end_phase(this, began)
            raise
        self._end_phase(this, began)

    def _end_phase(self, this: dict[str, Any], began: float) -> None:
        done = {"ended_at": self._ledger.clock(), "duration_seconds": time.monotonic() - began}
        statement = update(run_phase).filter_by(**this).values(done)
        self._ledger.database.write(lambda connection: connection.execute(statement))

    def end(self, state: RunState = RunState.FINISHED, detail: str | None = None) -> None:
        """Record how the run ended; the first word stands."""
        if self._ended:
            return
        done = {"state": state.value, "ended_at": self._ledger.clock(), "detail": detail}
        statement = update(run).where(run.c.run_key == self.key, run.c.ended_at.is_(None)).values(done)
        self._ledger.database.write(lambda connection: connection.execute(statement))
        self._ended = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.end()
            return
        with suppress(StoreError):  # as in `phase`
            # The class only: the text of an exception may carry values of the data.
            self.end(RunState.FAILED, kind.__name__)


def begin(ledger: Ledger, run_id: str, *, suite: str, suite_version: str, asset: str) -> Run:
    """Record that a run has begun. A run id may come again: each run is a row of its own."""
    key = uuid.uuid4().hex
    row = {
        "run_key": key,
        "environment": ledger.environment,
        "run_id": run_id,
        "suite_id": suite,
        "suite_version": suite_version,
        "asset": asset,
        "state": RunState.RUNNING.value,
        "started_at": ledger.clock(),
    }
    ledger.database.write(lambda connection: connection.execute(insert(run).values(row)))
    return Run(ledger, key, run_id)


def listing(ledger: Ledger, run_id: str | None = None, *, limit: int = 50) -> tuple[RunRecord, ...]:
    """Runs, the latest first."""
    query: Select[Any] = select(run).where(run.c.environment == ledger.environment)
    if run_id is not None:
        query = query.where(run.c.run_id == run_id)
    with ledger.database.read() as connection:
        rows = connection.execute(query.order_by(run.c.started_at.desc(), run.c.run_key).limit(limit)).mappings()
        return tuple(_run(row) for row in rows)


def phases(ledger: Ledger, key: str) -> tuple[PhaseRecord, ...]:
    """The phases of one run, in order."""
    query = select(run_phase).where(run_phase.c.run_key == key).order_by(run_phase.c.position)
    with ledger.database.read() as connection:
        return tuple(
            PhaseRecord(row["position"], row["phase"], row["started_at"], row["ended_at"], row["duration_seconds"])
            for row in connection.execute(query).mappings()
        )


def _run(row: RowMapping) -> RunRecord:
    return RunRecord(
        key=row["run_key"],
        run_id=row["run_id"],
        suite=row["suite_id"],
        suite_version=row["suite_version"],
        asset=row["asset"],
        state=RunState(row["state"]),
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        detail=row["detail"],
    )
