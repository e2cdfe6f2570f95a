"""Windows and the circuit breaker. No Spark here."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from lazaretto.model.results import Flow
from lazaretto.model.stream import Window
from lazaretto.model.suite import Suite
from lazaretto.pipeline.stream.windows import Measured, Watch, finding
from stream.test_checkpoint import suite

START = datetime(2026, 1, 1, tzinfo=UTC)


def batch(minute: int, rows: int = 100, failing: int = 0, **more: Any) -> Measured:
    flow = Flow(lag=more.get("lag"), watermark_delay=more.get("delay"), late=more.get("late"))
    at = START + timedelta(minutes=minute)
    return Measured(at, rows, failing, more.get("poison", 0), more.get("twice", 0), flow)


def window(**keys: Any) -> Window:
    return Window.model_validate({"id": "w", "measure": "error_rate"} | keys)


@pytest.mark.parametrize(
    ("keys", "batches", "found"),
    [
        ({"above": "5%", "over": 2}, [batch(0, failing=90), batch(1, failing=5), batch(2, failing=5)], None),
        ({"above": "5%", "over": 2}, [batch(1, failing=5), batch(2, failing=6)], "11 of 200 rows in 2 batches"),
        ({"above": "5%", "within": "10m"}, [batch(0, failing=90), batch(11, failing=4), batch(20)], None),
        ({"above": "5%", "within": "30m"}, [batch(0, failing=90), batch(11), batch(20)], "90 of 300"),
        ({"measure": "poison_rate", "above": "1%"}, [batch(0, poison=2)], "2 of 100"),
        ({"measure": "duplicate_rate", "above": "1%"}, [batch(0, twice=2)], "2 of 100"),
        ({"measure": "volume", "below": 250, "over": 2}, [batch(0), batch(1)], "200 rows in 2 batches, fewer than 250"),
        ({"measure": "volume", "below": 250, "over": 3}, [batch(0), batch(1)], None),
        ({"measure": "late_events", "above": "1%"}, [batch(0, late=2), batch(1)], None),
        ({"measure": "late_events", "above": "1%"}, [batch(0, late=3), batch(1)], "3 of 200"),
        ({"measure": "lag", "above": 50, "over": 2}, [batch(0, lag=90), batch(1, lag=51)], "at least 51 in 2 batches"),
        ({"measure": "lag", "above": 50, "over": 2}, [batch(0, lag=90), batch(1, lag=50)], None),  # it was caught up
        ({"measure": "lag", "above": 50, "over": 2}, [batch(0, lag=90)], None),
        (
            {"measure": "watermark_delay", "behind": "10m", "over": 2},
            [batch(0, delay=900.0), batch(1, delay=660.0)],
            "at least 11m behind the clock in 2 batches",
        ),
        (
            {"measure": "watermark_delay", "behind": "10m", "over": 2},
            [batch(0, delay=900.0), batch(1, delay=599.0)],
            None,
        ),
    ],
)
def test_what_a_window_finds(keys: dict[str, Any], batches: list[Measured], found: str | None) -> None:
    said = finding(window(**keys), batches)
    assert (said is None) if found is None else (found in str(said))


def test_a_window_needs_a_limit_that_fits() -> None:
    for keys in (
        {},
        {"below": 3},
        {"measure": "volume", "above": "1%"},
        {"above": "1%", "below": 3},
        {"measure": "lag", "above": "1%"},
        {"measure": "watermark_delay", "above": 5},
    ):
        with pytest.raises(ValidationError):
            window(**keys)
    timed = {"windows": [{"id": "w", "measure": "late_events", "above": "1%"}]}
    with pytest.raises(ValidationError, match="needs `event_time`"):
        Suite.model_validate(dict(suite()) | {"stream": timed})
    assert Suite.model_validate(dict(suite()) | {"stream": timed, "event_time": "at"}).stream.recover_after == 3


def test_the_breaker_opens_probes_and_closes() -> None:
    waited: list[float] = []
    notes: list[str] = []

    def wait(_: threading.Event, seconds: float) -> bool:
        waited.append(seconds)
        return False

    pausing = window(above="10%", action="pause", over=3)
    watch = Watch((pausing,), notes.append, notes.append, lambda state, why: notes.append(state), wait)
    stop = threading.Event()
    watch.remember([batch(0), batch(1)])
    for number, (failing, state) in enumerate(
        [(0, "closed"), (50, "open"), (50, "open"), (9, "closed"), (9, "closed")]
    ):
        watch.before_batch(stop)
        watch.after_batch(batch(number + 2, failing=failing))
        assert watch.state == state
    assert waited == [30.0, 60.0]
    assert [note for note in notes if note in ("open", "half_open", "closed")] == [
        "open",
        "half_open",
        "open",
        "half_open",
        "closed",
    ]


def test_a_window_holds_what_comes_while_it_finds_something() -> None:
    holding = window(above="10%", action="hold", over=2)
    watch = Watch((holding,), lambda _: None, lambda _: None, lambda state, why: None)
    assert watch.holding() is None
    for failing, held in ((30, True), (0, True), (0, False)):
        watch.after_batch(batch(0, failing=failing))
        assert (watch.holding() is not None) is held
    assert watch.stopped_by is None


def test_windows_degrade_and_stop() -> None:
    degraded: list[str] = []
    windows = (window(above="1%"), window(id="s", above="50%", action="stop"))
    watch = Watch(windows, lambda _: None, degraded.append, lambda state, why: None)
    watch.after_batch(batch(0, failing=2))
    assert degraded == ["window w: 2 of 100 rows in 1 batches, more than 1%"]
    assert watch.stopped_by is None
    watch.after_batch(batch(1, failing=100))
    assert "window s: 102 of 200 rows" in str(watch.stopped_by)
