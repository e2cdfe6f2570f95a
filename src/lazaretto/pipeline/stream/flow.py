"""What is known of a micro-batch before its rows are read: how the stream stands, and verdicts on all of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lazaretto.checks.structure import BuiltInFile, BuiltInWindow
from lazaretto.engine.events import Events
from lazaretto.engine.plan import Instance
from lazaretto.model.fingerprint import rule_fingerprint
from lazaretto.model.stream import OF_EVENT_TIME, measures
from lazaretto.model.suite import Suite
from lazaretto.model.words import Severity
from lazaretto.pipeline.sources import Stood, Taken
from lazaretto.pipeline.stream.windows import Watch


def watched(taken: Taken, suite: Suite, watch: Watch | None, lag: Callable[[], int]) -> Taken:
    """A micro-batch with what the suite's windows ask of it: measurements, and whether it is to be held."""
    settings = suite.stream
    wanted = measures(settings)
    stood = Stood(
        recover_after=settings.recover_after,
        lag=lag() if "lag" in wanted else None,
        events=_events(suite, watch) if wanted & OF_EVENT_TIME else None,
    )
    demands = taken.demands
    if watch is not None and any(window.action == "hold" for window in settings.windows):
        # It holds the batch and says nothing of its rows: they are judged like any others.
        demands = (*demands, replace(verdict(suite, BuiltInWindow, watch.holding()), verdict=None))
    return replace(taken, stood=stood, demands=demands)


def _events(suite: Suite, watch: Watch | None) -> Events | None:
    if suite.event_time is None:
        return None
    return Events(suite.event_time, watch.newest_event if watch is not None else None, suite.stream.lateness)


def verdict(suite: Suite, built_in: type[BuiltInFile] | type[BuiltInWindow], finding: str | None) -> Instance:
    """What was found before anybody read a row, as a rule like any other: the batch is the problem."""
    configured = next((rule for rule in suite.rules if rule.id == built_in.name), None)
    rule = configured or built_in(id=built_in.name, severity=Severity.HIGH)
    return Instance(
        rule=rule,
        columns=(),
        ok="true",
        applies=None,
        shown=rule.expects(),
        actual="cast(NULL as string)",
        on_fail=rule.on_fail,
        fingerprint=rule_fingerprint(rule),
        version=suite.rule_version(rule),
        verdict=finding is None,
        finding=finding,
    )
