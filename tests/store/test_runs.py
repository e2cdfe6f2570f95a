"""Runs and phases."""

from __future__ import annotations

import pytest

from lazaretto.store import Run, RunState, Store, StoreError, runs

RUN = {"suite": "core", "suite_version": "1.0.0", "asset": "silver.transactions"}


def test_a_run_and_its_phases(store: Store) -> None:
    with store.begin_run("nightly", **RUN) as run:
        with run.phase("stage"):
            pass
        with run.phase("publish"):
            pass
    (record,) = store.runs()
    assert (record.run_id, record.state, record.detail) == ("nightly", RunState.FINISHED, None)
    assert record.ended_at is not None
    assert record.started_at <= record.ended_at
    first, second = store.phases(record.key)
    assert (first.position, first.name, second.position, second.name) == (1, "stage", 2, "publish")
    assert first.seconds is not None
    assert first.ended_at is not None
    assert first.started_at <= first.ended_at <= second.started_at


def test_a_run_that_was_killed_shows_where(store: Store) -> None:
    run = store.begin_run("nightly", **RUN)
    with run.phase("read"):
        pass
    killed = run.phase("stage")
    killed.__enter__()
    (record,) = store.runs()
    assert record.state is RunState.RUNNING
    assert [(phase.name, phase.ended_at is None) for phase in store.phases(record.key)] == [
        ("read", False),
        ("stage", True),
    ]


def test_an_exception_fails_the_run_and_keeps_its_values_out(store: Store) -> None:
    with pytest.raises(ValueError, match="secret"), store.begin_run("nightly", **RUN) as run:  # noqa: SIM117
        with run.phase("stage"):
            raise ValueError("secret value 4711")
    (record,) = store.runs()
    assert (record.state, record.detail) == (RunState.FAILED, "ValueError")
    assert store.phases(record.key)[0].ended_at is not None


def test_a_run_id_is_a_label(store: Store) -> None:
    store.begin_run("nightly", **RUN).end()
    store.begin_run("nightly", **RUN).end(RunState.FAILED, "again")
    store.begin_run("other", **RUN)
    assert {run.state for run in store.runs("nightly")} == {RunState.FINISHED, RunState.FAILED}
    assert len(store.runs(limit=2)) == 2


def test_the_first_end_stands(store: Store) -> None:
    run = store.begin_run("nightly", **RUN)
    run.end(RunState.FAILED, "first")
    run.end()
    Run(store._ledger, run.key, "nightly").end()
    assert store.runs()[0].detail == "first"


def test_a_lost_store_does_not_hide_the_error_of_a_phase(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: object) -> None:
        raise StoreError("gone.")

    run = store.begin_run("nightly", **RUN)
    monkeypatch.setattr(runs.Run, "_end_phase", lost)
    monkeypatch.setattr(runs.Run, "end", lost)
    with pytest.raises(ZeroDivisionError), run, run.phase("stage"):
        _ = 1 / 0
    with pytest.raises(StoreError), run.phase("publish"):
        pass
