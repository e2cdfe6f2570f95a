"""What came of a batch: results of checks, counts of rows, the decision of the gate. Frozen; plain data."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from lazaretto.model.values import ThresholdField
from lazaretto.model.words import (
    CheckStatus,
    Consumers,
    Dimension,
    GateAction,
    Mode,
    OnError,
    OnFail,
    Publication,
    Severity,
    Tier,
    WriteMode,
)


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Scope(_Frozen):
    """What a result speaks of."""

    asset: str
    partition: dict[str, str] = Field(default_factory=dict)
    run_id: str
    batch_id: str
    backfill_id: str | None = None


class Sample(_Frozen):
    """A failing record, sanitised: where it is, never what is in it."""

    record_id: str | None = None
    position: str | None = None
    reason_code: str
    payload_hash: str | None = None


class CheckResult(_Frozen):
    """What one rule (at one column) found in one batch, whichever tool looked."""

    tool: str = "lazaretto"
    tool_version: str
    suite: str
    suite_version: str
    rule_id: str
    rule_version: str
    rule_fingerprint: str
    check: str
    column: str | None = None
    dimension: Dimension
    severity: Severity
    scope: Scope
    kind: Literal["row", "schema", "dataset"] = "row"
    status: CheckStatus
    checked: int = 0
    """Rows the rule applied to."""
    failed: int = 0
    """Rows that broke it."""
    errored: int = 0
    """Rows on which it could not be evaluated. An ERROR with 0 here was not evaluated at all."""
    observed_value: Decimal | None = None
    threshold: Decimal | None = None
    on_fail: OnFail
    on_error: OnError
    optional: bool = False
    warn_above: ThresholdField | None = None
    block_above: ThresholdField | None = None
    reason_code: str
    message: str = ""
    owner: str
    runbook: str | None = None
    measurements: dict[str, JsonValue] = Field(default_factory=dict)
    """What else was measured. JSON values only: evidence has to come back from the store as it went in."""
    samples: tuple[Sample, ...] = ()
    evaluated_at: datetime


class Counts(_Frozen):
    """Where the rows of a batch are. `input` is always the sum of the others."""

    input: int = 0
    accepted: int = 0
    quarantined: int = 0
    dead_lettered: int = 0
    held: int = 0

    @property
    def balanced(self) -> bool:
        """Whether every row is in exactly one place."""
        return self.input == self.accepted + self.quarantined + self.dead_lettered + self.held


class Flow(_Frozen):
    """How a stream stood when a micro-batch was sealed: what its windows look at, kept with the decision."""

    lag: int | None = None
    """What the source had beyond the batch: messages (Kafka), versions (Delta), files."""
    newest_event: datetime | None = None
    """The newest event of this batch and all before it: the watermark."""
    watermark_delay: float | None = None
    """Seconds that the watermark was behind the clock."""
    late: int | None = None
    """Rows whose event was older than the watermark, by more than `lateness`."""


class GateContext(_Frozen):
    """All that the gate may look at besides the results. No clock, no I/O: it can be replayed."""

    suite: str
    suite_version: str
    rule_set_fingerprint: str
    scope: Scope
    owner: str
    tier: Tier
    consumers: Consumers = Consumers.NORMAL
    mode: Mode = Mode.QUARANTINE
    write: WriteMode = WriteMode.APPEND
    certify_below: ThresholdField
    quarantine_batch_above: ThresholdField
    rows: int
    """Rows of the batch."""
    rows_failing: int
    """Rows with any failure, warned ones included; rows that only break an observed rule do not count."""
    rows_quarantined: int
    """Rows routed to quarantine (or dead letter) at staging."""
    rows_with_errors: int | None = None
    """Rows with a failure that is more than a warning; None where nobody counted."""
    rows_with_warnings: int | None = None
    """Rows with a warning, whether they have more than that or not."""
    expected: tuple[tuple[str, str | None], ...]
    """(rule id, column) of every result that has to be there."""
    key: tuple[str, ...] = ()
    records_independent: bool = True
    partial_allowed: bool = True
    feeds_aggregates: bool = False
    null_keys: int | None = None
    """Rows to be accepted whose key is NULL; None where the suite has no key. Rejected rows do not count."""
    duplicate_keys: int | None = None
    """Rows to be accepted that share their key with another one; None where the suite has no key, and where no row
    was set aside: then nobody has to find his place again."""
    missing_references: tuple[str, ...] = ()
    """Reference tables that could not be read."""
    schema_incompatible: str | None = None
    """Why the batch does not fit the asset's schema, in words without values of data."""
    recycled: bool = False
    """A batch of corrected records: batch-wide rates do not apply."""
    replaces_published: bool = False
    """The batch takes the place of rows already published."""
    inputs: tuple[str, ...] = ()
    """What was read, with versions, as words for a person."""
    recover_after: int = 1
    """The asset's state gets better only after so many good batches in a row. Says nothing of this batch."""
    flow: Flow | None = None
    """How the stream stood. The gate does not look at it: a window that holds the batch is a rule of its own."""


class Approval(_Frozen):
    """A person's word that softens the gate, on record."""

    approver: str
    assurance: Literal["asserted", "authenticated"] = "asserted"
    rules: tuple[str, ...] = ()
    """Ids of the rules it speaks of; for a release, all of the decision's `held_by`. Empty: of none."""
    batch_id: str | None = None
    """The held batch it releases. None: a standing exception to PRIVACY or SECURITY rules, nothing more."""
    reason: str
    expires_at: datetime | None = None


class GateDecision(_Frozen):
    """What the platform may do with a batch, and why."""

    decision_id: str
    scope: Scope
    suite: str
    suite_version: str
    rule_set_fingerprint: str
    action: GateAction
    publication: Publication
    max_severity: Severity | None
    reason_code: str
    explanation: str
    reasons: tuple[str, ...] = ()
    """Every ground for the action, the weightiest first."""
    held_by: tuple[str, ...] = ()
    """What an approval has to name to release the batch: rules, and the gate's own grounds (`lz.gate.…`).

    An incompatible schema is not among them: no approval can release that."""
    policy: str
    """Name and digest of the policy that decided."""
    results: tuple[CheckResult, ...]
    context: GateContext
    approvals: tuple[Approval, ...] = ()

    @property
    def publishes(self) -> bool:
        """Whether the accepted rows become visible."""
        return self.publication is not Publication.NOT_PUBLISHED
