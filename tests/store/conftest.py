"""Every test that asks for a store runs on SQLite and on a real PostgreSQL, each time on an empty one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from lazaretto.model.results import Approval, CheckResult, GateContext, GateDecision, Sample, Scope
from lazaretto.model.values import parse_threshold
from lazaretto.model.words import CheckStatus
from lazaretto.store import Store, open_store

NOW = datetime(2026, 11, 18, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that does not exist yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/made by us/control.db"
    new_database: Callable[[], str] = request.getfixturevalue("postgres")
    return new_database()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url, environment="test") as store:
        yield store


@pytest.fixture
def tamper(url: str) -> Iterator[Callable[..., int]]:
    """Change the database behind the store's back; gives the number of rows hit."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)

    def execute(statement: str, **values: Any) -> int:
        with engine.begin() as connection:
            return connection.execute(sa.text(statement), values).rowcount

    yield execute
    engine.dispose()


@pytest.fixture
def make_decision() -> Callable[..., GateDecision]:
    """A decision with two results and everything that is hard to store."""

    def make(decision_id: str = "d1", *, asset: str = "silver.transactions", **changes: Any) -> GateDecision:
        scope = Scope(
            asset=asset,
            partition={"day": "2026-11-18", "Straße \U0001f6a2": "ÿ"},
            run_id=changes.pop("run_id", "run 1: a/b"),
            batch_id=changes.pop("batch_id", f"batch-{decision_id}"),
        )
        result = CheckResult(
            tool_version="0.1.0",
            suite="core",
            suite_version="1.0.0",
            rule_id="amount_in_range",
            rule_version="1.0.0",
            rule_fingerprint="f" * 64,
            check="range",
            column="amount",
            dimension="VALIDITY",
            severity="HIGH",
            scope=scope,
            status="FAIL",
            checked=1000,
            failed=7,
            observed_value=Decimal("0.0070"),
            threshold=Decimal("0.05"),
            on_fail="quarantine_records",
            on_error="block_publication",
            block_above=parse_threshold("5%"),
            reason_code="range",
            message="nul \x00, surrogate \ud800, quote ', percent %",
            owner="payments",
            measurements={
                "max": float("inf"),
                "mean": 0.1,
                "sum": 2**70,
                "large": 1e300,
                "sixteen": 1e16,
                "$odd": {"": None},
            },
            samples=(Sample(record_id="r1", reason_code="range", payload_hash="0" * 64),),
            evaluated_at=NOW,
        )
        other = result.model_copy(update={"column": "fee", "status": CheckStatus.PASS, "failed": 0})
        context = GateContext(
            suite="core",
            suite_version="1.0.0",
            rule_set_fingerprint="a" * 64,
            scope=scope,
            owner="payments",
            tier="regulatory",
            mode=changes.pop("mode", "quarantine"),
            recover_after=changes.pop("recover_after", 1),
            certify_below=parse_threshold("1%"),
            quarantine_batch_above=parse_threshold("50%"),
            rows=1000,
            rows_failing=7,
            rows_quarantined=7,
            expected=(("amount_in_range", "amount"), ("amount_in_range", "fee"), ("whole", None)),
        )
        keys: dict[str, Any] = {
            "decision_id": decision_id,
            "scope": scope,
            "suite": "core",
            "suite_version": "1.0.0",
            "rule_set_fingerprint": "a" * 64,
            "action": "QUARANTINE_RECORDS",
            "publication": "PUBLISHED_CERTIFIED",
            "max_severity": "HIGH",
            "reason_code": "range",
            "explanation": "7 of 1000 rows",
            "reasons": ("amount_in_range failed",),
            "policy": "built-in 0123",
            "results": (result, other),
            "context": context,
            "approvals": (Approval(approver="ann", reason="seen", rules=("x",), expires_at=NOW),),
        }
        return GateDecision.model_validate(keys | changes)

    return make
