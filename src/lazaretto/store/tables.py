"""The tables. `migrations/` makes them; the tests compare the two.

Every row belongs to an environment: one server may hold the evidence of dev and prod, and
`silver.transactions` is another table in each.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

from lazaretto.store.types import Payload, UtcTimestamp

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _text(name: str, *, key: bool = False, null: bool = False) -> Column[str]:
    return Column(name, Text, primary_key=key, nullable=null)


def _moment(name: str, *, null: bool = False) -> Column[object]:
    return Column(name, UtcTimestamp, nullable=null)


quality_suite = Table(
    "quality_suite",
    metadata,
    _text("environment", key=True),
    _text("suite_id", key=True),
    _text("suite_version", key=True),
    _text("asset_namespace"),
    _text("asset_name"),
    _text("owner"),
    _text("rule_set_fingerprint"),
    _moment("created_at"),
    Column("payload", Payload, nullable=False),
)

quality_gate_result = Table(
    "quality_gate_result",
    metadata,
    _text("gate_result_id", key=True),
    _text("environment"),
    _text("run_id"),
    _text("batch_id"),
    _text("asset_namespace"),
    _text("asset_name"),
    # The published Delta version: the one blank that is filled in later, by the confirmation.
    _text("asset_version", null=True),
    _text("suite_id"),
    _text("suite_version"),
    _text("rule_set_fingerprint"),
    _text("policy"),
    _text("decision"),
    _text("publication"),
    _text("max_severity", null=True),
    _text("reason_code"),
    _moment("evaluated_at"),
    Column("payload", Payload, nullable=False),
    # Named by hand: PostgreSQL takes 63 characters.
    Index("ix_quality_gate_result_asset", "environment", "asset_namespace", "asset_name", "evaluated_at"),
    Index(None, "environment", "evaluated_at"),
    Index(None, "environment", "batch_id"),
)

quality_check_result = Table(
    "quality_check_result",
    metadata,
    Column("gate_result_id", Text, ForeignKey("quality_gate_result.gate_result_id"), primary_key=True),
    _text("rule_id", key=True),
    _text("rule_version", key=True),
    # Part of the key, because a rule may be applied to many columns; empty for a rule without one.
    _text("column_name", key=True),
    _text("rule_fingerprint"),
    _text("tool"),
    _text("tool_version"),
    _text("check_name"),
    _text("dimension"),
    _text("severity"),
    _text("status"),
    Column("checked_count", BigInteger),
    Column("failed_count", BigInteger),
    Column("errored_count", BigInteger),
    Column("observed_value", Double),
    Column("threshold_value", Double),
    _text("reason_code"),
    Index(None, "rule_id", "column_name"),
)

run = Table(
    "run",
    metadata,
    # Ours, because a run id is a label that people may use again.
    _text("run_key", key=True),
    _text("environment"),
    _text("run_id"),
    _text("suite_id"),
    _text("suite_version"),
    _text("asset"),
    _text("state"),
    _moment("started_at"),
    _moment("ended_at", null=True),
    _text("detail", null=True),
    Index(None, "environment", "run_id"),
    Index(None, "environment", "started_at"),
)

run_phase = Table(
    "run_phase",
    metadata,
    Column("run_key", Text, ForeignKey("run.run_key"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    _text("phase"),
    _moment("started_at"),
    _moment("ended_at", null=True),
    Column("duration_seconds", Double),
)

evidence = Table(
    "evidence",
    metadata,
    _text("environment", key=True),
    _text("asset", key=True),
    # The primary key is what forbids a fork: two records cannot both be the n-th.
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    _text("kind"),
    _text("record_key"),
    _text("batch_id", null=True),
    _moment("recorded_at"),
    Column("payload", Payload, nullable=False),
    _text("previous_hash"),
    _text("hash"),
    UniqueConstraint("environment", "kind", "record_key"),
    Index(None, "environment", "batch_id"),
)

evidence_head = Table(
    "evidence_head",
    metadata,
    _text("environment", key=True),
    _text("asset", key=True),
    Column("sequence", BigInteger, nullable=False),
    _text("hash"),
)

asset_state = Table(
    "asset_state",
    metadata,
    _text("environment", key=True),
    _text("asset", key=True),
    # Of the evidence record that brought the state about.
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    _text("state"),
    Column("delta_version", BigInteger),
    Column("supersedes", BigInteger),
    Column("last_attempt_refused", Boolean, nullable=False),
    _text("decision_id", null=True),
    _text("batch_id", null=True),
    _text("reason"),
    _moment("recorded_at"),
)

approval = Table(
    "approval",
    metadata,
    _text("approval_id", key=True),
    _text("environment"),
    _text("asset"),
    _text("decision_id", null=True),
    _text("batch_id", null=True),
    _text("approver"),
    _text("assurance"),
    _text("requested_by", null=True),
    _text("reason"),
    _moment("expires_at", null=True),
    _moment("recorded_at"),
    Column("payload", Payload, nullable=False),
    Index(None, "environment", "asset"),
)

audit_event = Table(
    "audit_event",
    metadata,
    # INTEGER on SQLite: only that type numbers itself there.
    Column("event_id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    _text("environment"),
    _moment("at"),
    _text("actor"),
    _text("assurance"),
    _text("action"),
    _text("asset", null=True),
    _text("subject", null=True),
    Column("details", Payload, nullable=False),
    Index(None, "environment", "at"),
)
