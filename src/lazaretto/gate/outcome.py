"""What follows from a decision: the state of the asset, and the exit code of the command."""

from __future__ import annotations

from lazaretto.model.results import GateDecision
from lazaretto.model.words import AssetState, GateAction, Mode, Publication, WriteMode

DONE, REFUSED, CLOSED, NOT_CERTIFIED = 0, 3, 4, 5

_STATES = {
    Publication.PUBLISHED_CERTIFIED: AssetState.CERTIFIED,
    Publication.PUBLISHED_PARTIAL: AssetState.PARTIAL,
    Publication.PUBLISHED_DEGRADED: AssetState.DEGRADED,
}


def asset_state_after(decision: GateDecision) -> AssetState | None:
    """How far the asset can be trusted once the decision is carried out; None: as before."""
    if not decision.publishes:
        return AssetState.LOCKED if decision.action is GateAction.FAIL_CLOSED else None
    state = _STATES[decision.publication]
    context = decision.context
    if context.mode is Mode.ANNOTATE:
        # A clean batch does not cleanse the faulty rows that earlier ones left beside it.
        cleansed = state is AssetState.CERTIFIED and context.write is WriteMode.REPLACE
        return state if cleansed else AssetState.UNCERTIFIED
    if context.recycled and state is not AssetState.DEGRADED:
        return None  # a few recovered rows say nothing of all the others, for better or worse
    return state


def exit_code(decision: GateDecision, strict: bool = False) -> int:
    """0 published · 3 refused · 4 fail closed · 5 with `strict`: published, but degraded or partial."""
    if not decision.publishes:
        return CLOSED if decision.action is GateAction.FAIL_CLOSED else REFUSED
    certified = decision.publication is Publication.PUBLISHED_CERTIFIED
    return NOT_CERTIFIED if strict and not certified else DONE
