"""Tampering: whatever is changed behind the store's back is named, the first broken link first."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

import lazaretto as lz
from lazaretto.model.results import Approval, Counts, GateDecision
from lazaretto.model.words import AssetState
from lazaretto.store import ChainHead, Flaw, Store
from lazaretto.store.chain import hash_of
from lazaretto.store.tables import evidence, metadata
from lazaretto.store.types import UtcTimestamp

Tamper = Callable[..., int]
ASSET = "silver.transactions"


@pytest.fixture
def store(store: Store, make_decision: Callable[..., GateDecision]) -> Store:
    """Seven records: three batches and an approval; another asset beside it."""
    for number in (1, 2, 3):
        store.record_decision(make_decision(f"d{number}"), details={"seal": "0" * 64})
        store.record_confirmation(
            f"batch-d{number}", f"d{number}", published_version=number, counts=Counts(input=1, accepted=1)
        )
    store.record_approval(Approval(approver="ann", reason="seen"), ASSET, requested_by="bob")
    store.record_decision(make_decision("other", asset="gold.cases"))
    assert store.verify_chain(ASSET) == ()
    return store


def flaws(store: Store) -> list[tuple[Flaw, int | None]]:
    return [(finding.flaw, finding.sequence) for finding in store.verify_chain(ASSET)]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("kind", "'transition'"),
        ("record_key", "'d9'"),
        ("batch_id", "'batch-d9'"),
        ("batch_id", "NULL"),
        ("recorded_at", "'2020-01-01T00:00:00.000000Z'"),
        ("payload", "'{}'"),
        ("hash", "'abc'"),
        ("previous_hash", "'abc'"),
    ],
)
def test_any_altered_column(store: Store, tamper: Tamper, column: str, value: str) -> None:
    assert tamper(f"UPDATE evidence SET {column} = {value} WHERE asset = '{ASSET}' AND sequence = 3") == 1
    assert flaws(store)[0] == (Flaw.ALTERED, 3)
    assert store.verify_chain("gold.cases") == ()


def test_one_altered_word_in_a_payload(store: Store, tamper: Tamper, url: str) -> None:
    text = "payload" if url.startswith("sqlite") else "payload::text"
    back = "" if url.startswith("sqlite") else "::jsonb"
    changed = f"replace({text}, 'PUBLISHED_CERTIFIED', 'PUBLISHED_PARTIAL'){back}"
    assert tamper(f"UPDATE evidence SET payload = {changed} WHERE asset = '{ASSET}' AND sequence = 3") == 1
    assert flaws(store) == [(Flaw.ALTERED, 3)]
    assert "decision record d2 was altered" in str(store.verify_chain(ASSET)[0])


@pytest.mark.parametrize("garbage", ["{", '{"a": 1, "a": 2}', "not json"])
def test_a_payload_that_is_no_longer_json(store: Store, tamper: Tamper, url: str, garbage: str) -> None:
    if not url.startswith("sqlite"):
        return  # JSONB does not take it
    for table, flaw in (("evidence", (Flaw.ALTERED, 3)), ("quality_gate_result", (Flaw.ALTERED, 1))):
        where = "asset = :asset AND sequence = 3" if table == "evidence" else "gate_result_id = 'd1'"
        tamper(f"UPDATE {table} SET payload = :garbage WHERE {where}", garbage=garbage, asset=ASSET)
        assert flaw in flaws(store)


@pytest.mark.parametrize(("column", "value"), [("sequence", "'abc'"), ("recorded_at", "'yesterday'")])
def test_a_value_of_the_wrong_type(store: Store, tamper: Tamper, url: str, column: str, value: str) -> None:
    if not url.startswith("sqlite"):
        return  # PostgreSQL does not take it
    assert tamper(f"UPDATE evidence SET {column} = {value} WHERE asset = '{ASSET}' AND sequence = 3") == 1
    assert Flaw.ALTERED in {flaw for flaw, _ in flaws(store)}


@pytest.mark.parametrize("sequence", [1, 3, 7])
def test_a_removed_record(store: Store, tamper: Tamper, sequence: int) -> None:
    assert tamper(f"DELETE FROM evidence WHERE asset = '{ASSET}' AND sequence = {sequence}") == 1
    assert flaws(store)[0] == (Flaw.REMOVED, sequence)


def test_two_removed_records(store: Store, tamper: Tamper) -> None:
    tamper(f"DELETE FROM evidence WHERE asset = '{ASSET}' AND sequence IN (3, 4)")
    assert store.verify_chain(ASSET)[0].problem == "records 3 to 4 were removed"


def test_swapped_records(store: Store, tamper: Tamper) -> None:
    for old, new in ((3, 99), (5, 3), (99, 5)):
        tamper(f"UPDATE evidence SET sequence = {new} WHERE asset = '{ASSET}' AND sequence = {old}")
    assert flaws(store)[:2] == [(Flaw.REORDERED, 3), (Flaw.REORDERED, 5)]
    assert "written as number 5" in str(store.verify_chain(ASSET)[0])


def test_a_removed_record_with_the_rest_moved_up(store: Store, tamper: Tamper) -> None:
    tamper(f"DELETE FROM evidence WHERE asset = '{ASSET}' AND sequence = 3")
    for sequence in (4, 5, 6, 7):
        tamper(f"UPDATE evidence SET sequence = {sequence - 1} WHERE asset = '{ASSET}' AND sequence = {sequence}")
    assert flaws(store)[0][1] == 3


def rewrite(url: str, first: int, last: int, *, head: bool = False, **forged: object) -> None:
    """What somebody would do who has read chain.py: alter a record and make its hash fit again."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        previous = None
        for sequence in range(first, last + 1):
            where = (evidence.c.asset == ASSET) & (evidence.c.sequence == sequence)
            row = dict(connection.execute(sa.select(evidence).where(where)).mappings().one())
            if sequence == first:
                row |= forged or {"batch_id": "forged"}
            row["previous_hash"] = previous or row["previous_hash"]
            row["hash"] = previous = hash_of(row)
            connection.execute(sa.update(evidence).where(where).values(row))
        if head:
            connection.execute(
                sa.text("UPDATE evidence_head SET hash = :hash WHERE asset = :asset"),
                {"hash": previous, "asset": ASSET},
            )
    engine.dispose()


def test_a_record_altered_together_with_its_hash(store: Store, url: str) -> None:
    rewrite(url, 3, 3)
    assert flaws(store)[0] == (Flaw.REWRITTEN, 4)


def test_a_chain_rewritten_to_its_end(store: Store, url: str) -> None:
    rewrite(url, 3, 7)
    assert flaws(store)[0] == (Flaw.REWRITTEN, 7)


def test_a_chain_rewritten_with_its_head_is_found_by_the_lake(store: Store, url: str) -> None:
    noted = store.chain_heads(ASSET)
    rewrite(url, 7, 7, head=True)
    assert Flaw.REWRITTEN not in {flaw for flaw, _ in flaws(store)}
    assert [finding.flaw for finding in store.verify_chain(ASSET, noted)] == [Flaw.REWRITTEN]


def test_an_older_copy_of_the_store_is_found_by_the_lake(store: Store, tamper: Tamper) -> None:
    (head,) = store.chain_heads(ASSET)
    later = ChainHead(ASSET, head.sequence + 2, "f" * 64)
    (finding,) = store.verify_chain(ASSET, [head, later])
    assert (finding.flaw, finding.sequence) == (Flaw.REMOVED, 8)
    assert "the lake knows of record 9" in finding.problem


def test_an_earlier_head_in_the_lake_is_no_flaw(store: Store) -> None:
    noted = store.chain_heads()
    store.record_transition(ASSET, AssetState.DEGRADED, version=3, reason="why not", actor="ann")
    assert store.verify_chain(ASSET, noted) == ()


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (
            "UPDATE quality_gate_result SET payload = '{}' WHERE gate_result_id = 'd2'",
            "the content of the decision d2",
        ),
        ("UPDATE quality_gate_result SET decision = 'PASS' WHERE gate_result_id = 'd2'", "column decision"),
        (
            "UPDATE quality_gate_result SET asset_version = '9' WHERE gate_result_id = 'd2'",
            "column asset_version",
        ),
        (
            "UPDATE quality_gate_result SET environment = 'x' WHERE gate_result_id = 'd2'",
            "column environment",
        ),
        (
            "UPDATE quality_gate_result SET evaluated_at = '2020-01-01T00:00:00Z' WHERE run_id LIKE 'run%'",
            "column evaluated_at",
        ),
        ("UPDATE quality_check_result SET failed_count = 0 WHERE gate_result_id = 'd2'", "a check result"),
        ("DELETE FROM quality_check_result WHERE column_name = 'fee'", "a check result"),
    ],
)
def test_a_decision_that_is_not_what_was_attested(store: Store, tamper: Tamper, statement: str, problem: str) -> None:
    assert tamper(statement) > 0
    assert any(finding.flaw is Flaw.ALTERED and problem in finding.problem for finding in store.verify_chain(ASSET))


def test_a_removed_decision(store: Store, tamper: Tamper) -> None:
    tamper("DELETE FROM quality_check_result WHERE gate_result_id = 'd2'")
    tamper("DELETE FROM quality_gate_result WHERE gate_result_id = 'd2'")
    assert flaws(store) == [(Flaw.REMOVED, 3)]


def test_all_evidence_of_an_asset_removed(store: Store, tamper: Tamper) -> None:
    tamper("DELETE FROM evidence WHERE asset = 'gold.cases'")
    tamper("DELETE FROM evidence_head WHERE asset = 'gold.cases'")
    (finding,) = store.verify_chain("gold.cases")
    assert str(finding) == "gold.cases: the decision other has no evidence record"


@pytest.mark.parametrize(
    ("statement", "flaw"),
    [
        ("UPDATE asset_state SET state = 'certified' WHERE sequence = 2", None),
        ("UPDATE asset_state SET state = 'partial' WHERE sequence = 2", (Flaw.ALTERED, 2)),
        ("UPDATE asset_state SET delta_version = 9 WHERE sequence = 2", (Flaw.ALTERED, 2)),
        ("UPDATE asset_state SET decision_id = 'd9' WHERE sequence = 2", (Flaw.ALTERED, 2)),
        ("DELETE FROM asset_state WHERE sequence = 4", (Flaw.REMOVED, 4)),
        ("UPDATE asset_state SET sequence = 99 WHERE sequence = 6", (Flaw.CONTRADICTED, None)),
        ("UPDATE approval SET payload = '{}'", (Flaw.ALTERED, 7)),
        ("UPDATE approval SET requested_by = NULL", (Flaw.ALTERED, 7)),
        ("UPDATE approval SET expires_at = '2030-01-01T00:00:00.000000Z'", (Flaw.ALTERED, 7)),
        ("UPDATE approval SET approver = 'bob'", (Flaw.ALTERED, 7)),
        ("DELETE FROM approval", (Flaw.REMOVED, 7)),
        ("UPDATE approval SET approval_id = 'slipped in'", (Flaw.REMOVED, None)),
        ("DELETE FROM evidence_head", (Flaw.REMOVED, None)),
        ("UPDATE evidence_head SET sequence = 9", (Flaw.REMOVED, 8)),
    ],
)
def test_states_approvals_and_heads(
    store: Store, tamper: Tamper, statement: str, flaw: tuple[Flaw, int | None] | None
) -> None:
    assert tamper(statement) > 0
    assert flaws(store) == [] if flaw is None else flaw in flaws(store)


@pytest.mark.parametrize("payload", [{}, [], "", {"asset_state": 1, "approval": 2, "decision_sha256": 3}])
@pytest.mark.parametrize("sequence", [5, 6, 7])
def test_a_forged_payload_is_a_finding_and_no_crash(store: Store, url: str, sequence: int, payload: object) -> None:
    rewrite(url, sequence, 7, head=True, payload=payload)
    assert (Flaw.ALTERED, sequence) in flaws(store)


def test_a_version_without_a_confirmation(store: Store, tamper: Tamper) -> None:
    """Not a flaw of the decision: the removed record is what is named."""
    tamper(f"DELETE FROM evidence WHERE asset = '{ASSET}' AND sequence = 4")
    assert flaws(store)[0] == (Flaw.REMOVED, 4)
    assert Flaw.ALTERED not in {flaw for flaw, _ in flaws(store)}


def test_a_version_that_was_never_published(store: Store, tamper: Tamper) -> None:
    tamper("UPDATE quality_gate_result SET asset_version = '1' WHERE gate_result_id = 'other'")
    (finding,) = store.verify_chain("gold.cases")
    assert (finding.flaw, finding.sequence) == (Flaw.ALTERED, 1)


EVIDENCE_TABLES = (
    "quality_suite",
    "evidence",
    "evidence_head",
    "quality_gate_result",
    "quality_check_result",
    "asset_state",
    "approval",
)


@pytest.mark.parametrize("name", EVIDENCE_TABLES)
def test_any_field_of_any_evidence_row(
    store: Store, url: str, name: str, make_decision: Callable[..., GateDecision]
) -> None:
    """Each column of each row of the asset changed for itself: always a finding, or refused by the database."""
    rule = lz.rule("range", id="amount_in_range", column="amount", min=0)
    store.register_suite(lz.Suite(suite="core", version="1.0.0", asset=ASSET, owner="o", rules=(rule,)))
    store.record_decision(make_decision("by a suite"))
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    table = metadata.tables[name]

    def put(row: dict[str, Any], **changed: Any) -> None:
        this = sa.and_(*(each == row[each.name] for each in table.primary_key))
        with engine.begin() as connection:
            assert connection.execute(sa.update(table).where(this).values(changed)).rowcount == 1

    with engine.connect() as connection:
        rows = [dict(row) for row in connection.execute(sa.select(table)).mappings() if _of_the_asset(row)]
    assert rows
    for row in rows:
        for column in table.columns:
            forged = row | {column.name: _another(row[column.name], column)}
            try:
                put(row, **{column.name: forged[column.name]})
            except sa.exc.IntegrityError:
                continue
            assert store.verify_chain(ASSET), (column.name, row)
            put(forged, **{column.name: row[column.name]})
    assert store.verify_chain(ASSET) == ()
    engine.dispose()


def test_a_suite_that_is_registered_again_after_a_restore_is_no_flaw(
    store: Store, tamper: Tamper, make_decision: Callable[..., GateDecision]
) -> None:
    rule = lz.rule("range", id="amount_in_range", column="amount", min=0)
    suite = lz.Suite(suite="core", version="1.0.0", asset=ASSET, owner="o", rules=(rule,))
    store.register_suite(suite)
    store.record_decision(make_decision("by a suite"))
    tamper("DELETE FROM quality_suite")
    assert "the suite core 1.0.0 was removed" in str(store.verify_chain(ASSET)[0])
    store.register_suite(suite.model_copy(update={"description": "other words"}))
    assert "was altered" in str(store.verify_chain(ASSET)[0])
    store.record_event("lazaretto", "restored from the lake", asset=ASSET)
    assert store.verify_chain(ASSET) == ()


def _of_the_asset(row: Any) -> bool:
    return row.get("asset", ASSET) == ASSET and row.get("gate_result_id") != "other"


def _another(value: Any, column: Any) -> Any:
    """A value of the column's type that is not this one."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1000
        case datetime():
            return value + timedelta(microseconds=1)
        case dict() | list():
            return {"forged": value}
        case None if isinstance(column.type, UtcTimestamp):
            return datetime(2026, 1, 1, tzinfo=UTC)
        case None:
            return "x" if isinstance(column.type, sa.Text) else 7
    return f"{value} "
