"""What a run tells its caller."""

from __future__ import annotations

from lazaretto.gate.message import lines
from lazaretto.gate.outcome import exit_code
from lazaretto.model.fingerprint import rule_set_fingerprint
from lazaretto.model.results import Counts, GateDecision
from lazaretto.model.run import RunResult
from lazaretto.model.seal import Seal
from lazaretto.model.suite import Suite
from lazaretto.model.words import Publication
from lazaretto.pipeline.finish import Finished
from lazaretto.pipeline.order import Clock, Order


def result_of(suite: Suite, finished: Finished, order: Order, before: list[Finished], clock: Clock) -> RunResult:
    """The result of a run whose batch is where it belongs."""
    result = told(suite, finished.seal, finished.decision, finished.counts, order, clock)
    return result.model_copy(
        update={
            "action": finished.action,
            "publication": finished.publication,
            "published_version": None if finished.publication is Publication.NOT_PUBLISHED else finished.version,
            "rolled_forward": tuple(f.seal.batch_id for f in before),
        }
    )


def told(
    suite: Suite,
    seal: Seal,
    decision: GateDecision | None,
    counts: Counts,
    order: Order,
    clock: Clock,
) -> RunResult:
    """What a sealed batch and its decision come to."""
    return RunResult(
        run_id=order.run_id,
        batch_id=seal.batch_id,
        suite=suite.suite,
        suite_version=suite.version,
        rule_set_fingerprint=seal.rule_set_fingerprint,
        asset=suite.asset,
        scope=order.slice.described(),
        action=decision.action if decision else None,
        publication=decision.publication if decision else None,
        reason_code=decision.reason_code if decision else "",
        max_severity=decision.max_severity if decision else None,
        counts=counts,
        message="\n".join(lines(decision)) if decision else "",
        decision=decision,
        seconds=clock.seconds,
        exit_code=exit_code(decision, order.strict) if decision else 0,
    )


_WORDS = {
    "nothing_new": "Nothing new in the source since the last batch; nothing was published.",
    "already_published": "This very batch was published before; nothing was done. Repeat it on purpose with --again.",
    "locked": "The asset is locked: a privacy, security or fail-closed rule failed and nobody has approved yet.",
}


def without_batch(
    suite: Suite,
    outcome: str,
    order: Order,
    before: list[Finished],
    clock: Clock,
    batch_id: str | None = None,
) -> RunResult:
    """The result of a run that took nothing."""
    return RunResult(
        run_id=order.run_id,
        outcome=outcome,  # type: ignore[arg-type]
        batch_id=batch_id,
        suite=suite.suite,
        suite_version=suite.version,
        rule_set_fingerprint=rule_set_fingerprint(suite),
        asset=suite.asset,
        scope=order.slice.described(),
        message=_WORDS[outcome],
        seconds=clock.seconds,
        rolled_forward=tuple(f.seal.batch_id for f in before),
        exit_code=4 if outcome == "locked" else 0,
    )
