"""The seal: what was staged, so that everything after it follows without ever evaluating again.

It is written once, beside the staged files. From it and from the one commit in the target's log, anyone can finish
a batch at any time: it holds the rules as they were, the counts, and the source range. A rule file, a clock or a
lookup that changes afterwards cannot tear the batch in two.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any, Literal
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field

from lazaretto.model.results import Counts, Flow
from lazaretto.model.values import ThresholdField
from lazaretto.model.words import Consumers, Dimension, Mode, OnError, OnFail, Severity, Tier, WriteMode

ROUTE = "lz_route"
ACCEPTED = "accepted"
QUARANTINED = "quarantined"
PAYLOAD = "lz_payload"
"""Column of staged quarantined rows: the row itself."""
REJECT = "lz_reject"
"""Column of staged quarantined rows: why it is there and all else that is known of it."""
SEAL_FILE = "seal.json"
RECYCLE: Literal["recycle"] = "recycle"
"""Kind of a source that is a batch of the outbox: corrected records on their way back."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class SealedRule(_Frozen):
    """One rule instance as it judged the batch."""

    word: int
    bit: int
    rule_id: str
    rule_version: str
    rule_fingerprint: str
    check: str
    column: str | None
    kind: Literal["row", "schema"]
    dimension: Dimension
    severity: Severity
    on_fail: OnFail
    on_error: OnError
    optional: bool
    warn_above: ThresholdField | None
    block_above: ThresholdField | None
    reason_code: str
    owner: str
    runbook: str | None
    broken: str | None = None
    """Why it could not be evaluated at all."""
    finding: str | None = None
    """What a check of the schema found wrong."""
    checked: int | None = None
    """Rows it applied to, where that is not all of them."""


class SealedTarget(_Frozen):
    """The table the batch is for, as it was when the batch was staged."""

    asset: str
    path: str
    table_id: str
    version: int
    table_schema: str
    partition_columns: tuple[str, ...]


class SealedMark(_Frozen):
    """How far one part of a source was taken: by one number under an application id, in the target's log."""

    app: str
    since: int
    """Where the batch begins; -1: at the beginning. Another number in the log means that somebody else went on."""
    until: int


class SealedStream(_Frozen):
    """The stretch of a stream that a micro-batch is."""

    query_id: str
    batch: int
    """Spark's number of the micro-batch."""
    start: str | None
    """The source's offset before it, as Spark writes it; None: the beginning."""
    end: str
    shown: str
    """The stretch for a person."""
    marks: tuple[SealedMark, ...]


class SealedSource(_Frozen):
    """What was taken from where."""

    name: str
    kind: Literal["delta", "files", "frame", "kafka", "landing", "recycle"]
    path: str | None = None
    table_id: str | None = None
    since_version: int | None = None
    """Last version taken before (exclusive); None: from the beginning."""
    version: int | None = None
    """Version up to which was taken (inclusive)."""
    progress_app: str | None = None
    """Application id under which the target's log remembers how far this source was taken."""
    suite_app: str | None = None
    """Application id under which the target's log remembers that the suite took a Delta source at all."""
    stream: SealedStream | None = None
    """Where the batch is one of a stream."""
    files: tuple[str, ...] = ()
    references: dict[str, str] = Field(default_factory=dict)
    """Reference tables and the version each was pinned to."""

    def words(self) -> str:
        """The input for a person: name and version."""
        if self.stream is not None:
            return f"{self.name} {self.stream.shown}"
        if self.kind == "delta":
            since = f" after version {self.since_version}" if self.since_version is not None else ""
            return f"{self.name} version {self.version}{since}"
        if self.kind == RECYCLE:
            return f"corrected records, {self.name} version {self.version}"
        return f"{self.name} ({len(self.files)} files)" if self.kind == "files" else self.name


class Seal(_Frozen):
    """All that is known of a staged batch."""

    format: Literal[1] = 1
    batch_id: str
    """SHA-256 of what makes the batch the same batch."""
    folder: str
    """Name of the staged folder inside the target's."""
    run_id: str
    suite: str
    suite_version: str
    environment: str | None
    rule_set_fingerprint: str
    tier: Tier
    consumers: Consumers = Consumers.NORMAL
    mode: Mode
    write: WriteMode
    replaces: tuple[dict[str, str | None], ...] = ()
    """Partitions whose rows the batch takes the place of (`write: replace_partitions`)."""
    owner: str
    source_system: str | None = None
    entity: str | None = None
    certify_below: ThresholdField
    quarantine_batch_above: ThresholdField
    key: tuple[str, ...] = ()
    records_independent: bool = True
    partial_allowed: bool = True
    feeds_aggregates: bool = False
    target: SealedTarget
    source: SealedSource
    slice: dict[str, str] = Field(default_factory=dict)
    files: tuple[dict[str, Any], ...]
    """Delta's AddFile of every staged file, with statistics; paths relative to the staged folder."""
    counts: Counts
    rows_failing: int
    """Rows that broke some rule, or on which some rule broke; rules that are only observed do not count."""
    rows_marked: int
    """Rows with any bit set, observed rules included: where they are more than the rejects, accepted rows have some."""
    rows_with_errors: int | None = None
    """Rows that have `_errors`; None where nobody counted."""
    rows_with_warnings: int | None = None
    """Rows that have `_warnings`, whether they have `_errors` as well or not."""
    incompatible: str | None = None
    """Why the rows cannot go to the target at all."""
    null_keys: int | None = None
    why_dead: str | None = None
    """The stack of what its dead letters throw, without values."""
    rules: tuple[SealedRule, ...]
    payload: str = "inline"
    publisher: Literal["zero_copy", "copy"] = "zero_copy"
    metadata: dict[str, str] = Field(default_factory=dict)
    recover_after: int = 1
    flow: Flow | None = None
    user: str = ""
    """Who ran it, as the operating system says: not the one to release it."""
    sealed_at: datetime

    def text(self) -> str:
        """The file's content."""
        return self.model_dump_json()

    @property
    def recycled(self) -> bool:
        """Whether its rows are corrected records: no new input, and rates of a whole batch do not apply."""
        return self.source.kind == RECYCLE

    @property
    def hash(self) -> str:
        """Identifies the seal in the commit and in the evidence."""
        return hashlib.sha256(self.text().encode()).hexdigest()

    def files_of(self, route: str) -> tuple[dict[str, Any], ...]:
        """The staged files that hold accepted or quarantined rows."""
        return tuple(file for file in self.files if file["partitionValues"].get(ROUTE) == route)

    @property
    def stage(self) -> str:
        """Where the batch was staged."""
        return f"{self.target.path}/{self.folder}"

    def paths_of(self, *routes: str, stage: str | None = None) -> list[str]:
        """Paths of the staged files with these rows; Delta notes them as URLs. `stage`: where they lie by now."""
        folder = stage or self.stage
        return [f"{folder}/{unquote(file['path'])}" for route in routes for file in self.files_of(route)]

    def counts_if(self, *, published: bool) -> Counts:
        """Where the rows are once the decision is carried out: as routed, or held together."""
        return self.counts if published else Counts(input=self.counts.input, held=self.counts.input)

    @property
    def rows_set_aside(self) -> int:
        """Rows that do not go to the target even if the batch does."""
        return self.counts.quarantined + self.counts.dead_lettered

    @property
    def words(self) -> int:
        """How many longs hold the bits."""
        return max((rule.word for rule in self.rules), default=0) + 1
