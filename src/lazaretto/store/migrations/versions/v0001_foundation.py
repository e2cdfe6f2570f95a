"""The control store: suites, decisions, check results, runs, evidence, states, approvals, audit."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from lazaretto.store.types import Payload, UtcTimestamp

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _text(*names: str, null: bool = False) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=null) for name in names]


def _moment(name: str, *, null: bool = False) -> sa.Column[object]:
    return sa.Column(name, UtcTimestamp(), nullable=null)


def _number(name: str, *, null: bool = True) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=null)


def _payload(name: str = "payload") -> sa.Column[object]:
    return sa.Column(name, Payload(), nullable=False)


def _key(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*columns, name=f"pk_{table}")


def _index(table: str, *columns: str) -> None:
    op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))


def upgrade() -> None:
    """From nothing."""
    _suites_and_results()
    _runs()
    _evidence()
    _people()


def _suites_and_results() -> None:
    op.create_table(
        "quality_suite",
        *_text("environment", "suite_id", "suite_version", "asset_namespace", "asset_name", "owner"),
        *_text("rule_set_fingerprint"),
        _moment("created_at"),
        _payload(),
        _key("quality_suite", "environment", "suite_id", "suite_version"),
    )
    op.create_table(
        "quality_gate_result",
        *_text("gate_result_id", "environment", "run_id", "batch_id", "asset_namespace", "asset_name"),
        *_text("asset_version", null=True),
        *_text("suite_id", "suite_version", "rule_set_fingerprint", "policy", "decision", "publication"),
        *_text("max_severity", null=True),
        *_text("reason_code"),
        _moment("evaluated_at"),
        _payload(),
        _key("quality_gate_result", "gate_result_id"),
    )
    op.create_index(
        "ix_quality_gate_result_asset",
        "quality_gate_result",
        ["environment", "asset_namespace", "asset_name", "evaluated_at"],
    )
    _index("quality_gate_result", "environment", "evaluated_at")
    _index("quality_gate_result", "environment", "batch_id")
    op.create_table(
        "quality_check_result",
        *_text("gate_result_id", "rule_id", "rule_version", "column_name", "rule_fingerprint"),
        *_text("tool", "tool_version", "check_name", "dimension", "severity", "status"),
        _number("checked_count"),
        _number("failed_count"),
        _number("errored_count"),
        sa.Column("observed_value", sa.Double()),
        sa.Column("threshold_value", sa.Double()),
        *_text("reason_code"),
        _key("quality_check_result", "gate_result_id", "rule_id", "rule_version", "column_name"),
        sa.ForeignKeyConstraint(
            ["gate_result_id"],
            ["quality_gate_result.gate_result_id"],
            name="fk_quality_check_result_quality_gate_result",
        ),
    )
    _index("quality_check_result", "rule_id", "column_name")


def _runs() -> None:
    op.create_table(
        "run",
        *_text("run_key", "environment", "run_id", "suite_id", "suite_version", "asset", "state"),
        _moment("started_at"),
        _moment("ended_at", null=True),
        *_text("detail", null=True),
        _key("run", "run_key"),
    )
    _index("run", "environment", "run_id")
    _index("run", "environment", "started_at")
    op.create_table(
        "run_phase",
        *_text("run_key"),
        sa.Column("position", sa.Integer(), nullable=False, autoincrement=False),
        *_text("phase"),
        _moment("started_at"),
        _moment("ended_at", null=True),
        sa.Column("duration_seconds", sa.Double()),
        _key("run_phase", "run_key", "position"),
        sa.ForeignKeyConstraint(["run_key"], ["run.run_key"], name="fk_run_phase_run"),
    )


def _evidence() -> None:
    op.create_table(
        "evidence",
        *_text("environment", "asset"),
        _number("sequence", null=False),
        *_text("kind", "record_key"),
        *_text("batch_id", null=True),
        _moment("recorded_at"),
        _payload(),
        *_text("previous_hash", "hash"),
        _key("evidence", "environment", "asset", "sequence"),
        sa.UniqueConstraint("environment", "kind", "record_key", name="uq_evidence_environment_kind_record_key"),
    )
    _index("evidence", "environment", "batch_id")
    op.create_table(
        "evidence_head",
        *_text("environment", "asset"),
        _number("sequence", null=False),
        *_text("hash"),
        _key("evidence_head", "environment", "asset"),
    )
    op.create_table(
        "asset_state",
        *_text("environment", "asset"),
        _number("sequence", null=False),
        *_text("state"),
        _number("delta_version"),
        _number("supersedes"),
        sa.Column("last_attempt_refused", sa.Boolean(), nullable=False),
        *_text("decision_id", "batch_id", null=True),
        *_text("reason"),
        _moment("recorded_at"),
        _key("asset_state", "environment", "asset", "sequence"),
    )


def _people() -> None:
    op.create_table(
        "approval",
        *_text("approval_id", "environment", "asset"),
        *_text("decision_id", "batch_id", null=True),
        *_text("approver", "assurance"),
        *_text("requested_by", null=True),
        *_text("reason"),
        _moment("expires_at", null=True),
        _moment("recorded_at"),
        _payload(),
        _key("approval", "approval_id"),
    )
    _index("approval", "environment", "asset")
    op.create_table(
        "audit_event",
        sa.Column(
            "event_id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            nullable=False,
            autoincrement=True,
        ),
        *_text("environment"),
        _moment("at"),
        *_text("actor", "assurance", "action"),
        *_text("asset", "subject", null=True),
        _payload("details"),
        _key("audit_event", "event_id"),
    )
    _index("audit_event", "environment", "at")
