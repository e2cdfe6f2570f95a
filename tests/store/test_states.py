"""Asset states: the action table's column, with the version each state belongs to."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lazaretto.model.results import Counts, GateDecision
from lazaretto.model.words import AssetState
from lazaretto.store import Store

Make = Callable[..., GateDecision]
ASSET = "silver.transactions"


@pytest.fixture
def batch(store: Store, make_decision: Make) -> Callable[..., None]:
    """One batch, decided and confirmed."""

    def run(name: str, action: str, publication: str, version: int | None, **changes: str) -> None:
        store.record_decision(make_decision(name, action=action, publication=publication, **changes))
        store.record_confirmation(f"batch-{name}", name, published_version=version, counts=Counts())

    return run


@pytest.mark.parametrize(
    ("action", "publication", "mode", "state"),
    [
        ("PASS", "PUBLISHED_CERTIFIED", "quarantine", "certified"),
        ("QUARANTINE_RECORDS", "PUBLISHED_CERTIFIED", "quarantine", "certified"),
        ("QUARANTINE_RECORDS", "PUBLISHED_PARTIAL", "quarantine", "partial"),
        ("WARN", "PUBLISHED_DEGRADED", "quarantine", "degraded"),
        ("DEGRADE_CONSUMER", "PUBLISHED_DEGRADED", "quarantine", "degraded"),
        ("SUPERSEDE", "PUBLISHED_CERTIFIED", "quarantine", "certified"),
        ("WARN", "PUBLISHED_DEGRADED", "annotate", "uncertified"),
    ],
)
def test_what_is_published_sets_the_state(
    store: Store, batch: Callable[..., None], action: str, publication: str, mode: str, state: str
) -> None:
    batch("d1", action, publication, 3, mode=mode)
    standing = store.asset_state(ASSET)
    assert standing is not None
    assert (standing.state, standing.version, standing.last_attempt_refused) == (AssetState(state), 3, False)
    assert (standing.decision_id, standing.batch_id) == ("d1", "batch-d1")
    assert store.last_version(ASSET, [AssetState(state)]) == 3


@pytest.mark.parametrize("action", ["QUARANTINE_BATCH", "BLOCK_PUBLICATION"])
def test_a_refused_batch_leaves_the_state(store: Store, batch: Callable[..., None], action: str) -> None:
    batch("d1", "PASS", "PUBLISHED_CERTIFIED", 3)
    batch("d2", action, "NOT_PUBLISHED", None)
    standing = store.asset_state(ASSET)
    assert standing is not None
    assert (standing.state, standing.version, standing.last_attempt_refused) == (
        AssetState.CERTIFIED,
        3,
        True,
    )
    batch("d3", "WARN", "PUBLISHED_DEGRADED", 5)
    standing = store.asset_state(ASSET)
    assert standing is not None
    assert (standing.state, standing.version, standing.last_attempt_refused) == (
        AssetState.DEGRADED,
        5,
        False,
    )


def test_a_first_batch_that_is_refused(store: Store, batch: Callable[..., None]) -> None:
    batch("d1", "BLOCK_PUBLICATION", "NOT_PUBLISHED", None)
    standing = store.asset_state(ASSET)
    assert standing is not None
    assert (standing.state, standing.version, standing.last_attempt_refused) == (
        AssetState.UNCERTIFIED,
        None,
        True,
    )
    assert store.last_version(ASSET, list(AssetState)) is None


def test_a_lock_says_nothing_of_what_is_published(store: Store, batch: Callable[..., None]) -> None:
    batch("d1", "PASS", "PUBLISHED_CERTIFIED", 3)
    batch("d2", "FAIL_CLOSED", "NOT_PUBLISHED", None)
    standing = store.asset_state(ASSET)
    assert standing is not None
    assert (standing.state, standing.version, standing.last_attempt_refused) == (AssetState.LOCKED, 3, True)
    assert store.last_version(ASSET) == 3
    store.record_transition(ASSET, AssetState.CERTIFIED, version=3, reason="looked at it", actor="ann")
    standing = store.asset_state(ASSET)
    assert standing is not None
    assert (standing.state, standing.reason) == (AssetState.CERTIFIED, "looked at it")
    assert [event.action for event in store.events(ASSET)] == ["state:certified"]


GOOD, PARTLY, BAD = (
    ("PASS", "PUBLISHED_CERTIFIED", 3),
    ("QUARANTINE_RECORDS", "PUBLISHED_PARTIAL", 3),
    ("WARN", "PUBLISHED_DEGRADED", 3),
)
REFUSED = ("BLOCK_PUBLICATION", "NOT_PUBLISHED", None)


@pytest.mark.parametrize(
    ("asked", "states"),
    [
        ([GOOD, BAD, GOOD, GOOD, GOOD], "certified degraded degraded degraded certified"),
        ([BAD, GOOD, BAD, GOOD, GOOD, GOOD], "degraded degraded degraded degraded degraded certified"),
        ([BAD, PARTLY, GOOD, PARTLY, GOOD, GOOD], "degraded degraded degraded partial partial partial"),
        ([BAD, GOOD, REFUSED, GOOD, GOOD, GOOD], "degraded degraded degraded degraded degraded certified"),
        ([REFUSED, GOOD], "uncertified certified"),  # nothing was published before
        ([GOOD, REFUSED, GOOD], "certified certified certified"),
    ],
)
def test_a_state_gets_better_only_after_several_good_batches(
    store: Store, batch: Callable[..., None], asked: list[tuple[str, str, int | None]], states: str
) -> None:
    for number, (action, publication, version) in enumerate(asked):
        batch(f"d{number}", action, publication, version, recover_after=3)
    assert " ".join(entry.state for entry in reversed(store.asset_history(ASSET))) == states
    store.record_transition(ASSET, AssetState.DEGRADED, version=3, reason="a window", actor="lazaretto")
    for number, state in enumerate(("degraded", "degraded", "certified")):
        batch(f"e{number}", *GOOD, recover_after=3)
        assert store.asset_state(ASSET).state == state  # type: ignore[union-attr]


def test_readers_get_the_last_version_they_accept(store: Store, batch: Callable[..., None]) -> None:
    batch("d1", "PASS", "PUBLISHED_CERTIFIED", 3)
    batch("d2", "WARN", "PUBLISHED_DEGRADED", 4)
    assert store.last_version(ASSET) == 3
    assert store.last_version(ASSET, [AssetState.CERTIFIED, AssetState.DEGRADED]) == 4
    store.record_transition(ASSET, AssetState.UNCERTIFIED, version=3, reason="restored", actor="verify")
    assert store.last_version(ASSET) is None


def test_superseded_versions_are_no_longer_certified(store: Store, batch: Callable[..., None]) -> None:
    batch("d1", "PASS", "PUBLISHED_CERTIFIED", 3)
    batch("d2", "SUPERSEDE", "PUBLISHED_CERTIFIED", 4)
    standing = store.asset_state(ASSET)
    assert standing is not None
    assert (standing.version, standing.supersedes) == (4, 3)
    assert store.last_version(ASSET, [AssetState.SUPERSEDED]) == 3
    store.record_transition(ASSET, AssetState.UNCERTIFIED, version=4, reason="restored", actor="verify")
    assert store.last_version(ASSET) is None


def test_history_and_all_assets(store: Store, batch: Callable[..., None]) -> None:
    batch("d1", "PASS", "PUBLISHED_CERTIFIED", 3)
    batch("d2", "WARN", "PUBLISHED_DEGRADED", 4)
    batch("d3", "PASS", "PUBLISHED_CERTIFIED", 0, asset="gold.cases")
    assert [entry.state for entry in store.asset_history(ASSET)] == [
        AssetState.DEGRADED,
        AssetState.CERTIFIED,
    ]
    assert [(entry.asset, entry.version) for entry in store.asset_states()] == [("gold.cases", 0), (ASSET, 4)]
    assert store.asset_state("no.such") is None
