"""Deciding again what was decided before, from what was stored with it. No Spark."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from lazaretto.gate.decide import decide
from lazaretto.model.policy import BUILT_IN, Policy
from lazaretto.model.results import GateDecision
from lazaretto.store import Store

_COMPARED = ("decision_id", "action", "publication", "max_severity", "reason_code", "held_by")


@dataclass(frozen=True)
class Replayed:
    """A decision, and what came of deciding again."""

    decision_id: str
    asset: str
    before: str
    after: str | None
    """None where the policy that decided is not at hand."""
    differences: tuple[str, ...]
    """What is not the same, in words."""


def policy_of(store: Store, decision: GateDecision) -> Policy | None:
    """The policy that decided, as it was attested; None if it is not on record as its digest says."""
    wanted = decision.policy.rpartition("@")[2]
    if wanted == BUILT_IN.digest:
        return BUILT_IN
    kept = store.decision_details(decision.decision_id).get("policy")
    try:
        policy = Policy.model_validate(kept)
    except ValidationError:
        return None
    return policy if policy.digest == wanted else None


def replay(store: Store, decision_id: str, policy: Policy | None = None) -> Replayed:
    """Decide again by the policy that decided, or say what another one would have done."""
    stored = store.decision(decision_id)
    asset, before = stored.scope.asset, stored.action.value
    by = policy or policy_of(store, stored)
    if by is None:
        why = f"the policy {stored.policy} is not on record, so it cannot be asked again"
        return Replayed(decision_id, asset, before, None, (why,))
    again = decide(by, stored.results, stored.context, stored.approvals)
    compared = _COMPARED if policy is None else ("action", "publication")
    differences = tuple(
        f"{name}: {getattr(stored, name)} on record, {getattr(again, name)} now"
        for name in compared
        if getattr(stored, name) != getattr(again, name)
    )
    return Replayed(decision_id, asset, before, again.action.value, differences)
