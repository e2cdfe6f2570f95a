"""A suite: the rules that guard one asset, and how the asset is fed."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, field_validator, model_validator

from lazaretto.model import catalogue
from lazaretto.model.landing import Landing
from lazaretto.model.rule import RESERVED_PREFIX, Rule
from lazaretto.model.stream import OF_EVENT_TIME, StreamSettings, measures
from lazaretto.model.values import Location, OneOrMany, RateField, TableName, Threshold, Version, parse_rate
from lazaretto.model.words import Consumers, Mode, OnNewColumn, Tier, WriteMode

_SUITE_ID = re.compile(r"\A[A-Za-z0-9][A-Za-z0-9_.\-]*\Z")

OperationalColumn = Literal[
    "run_id", "batch_id", "loaded_at", "suite_version", "file", "reprocessed", "attempt", "original_run_id"
]


class Source(BaseModel):
    """Where the rows come from."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, populate_by_name=True)

    format: Literal["delta", "parquet", "csv", "json", "kafka", "landing"]
    """delta, parquet, csv, json, kafka or landing (a folder for file drops)."""
    table: str | None = None
    """`schema.table`, under the lake root or in the project's catalog."""
    path: str | None = None
    """Folder or file, instead of a table name."""
    schema_: str | None = Field(default=None, alias="schema")
    """Columns and types as in SQL: `txn_id STRING, amount DECIMAL(18,2)`."""
    schemas: dict[str, str] = Field(default_factory=dict)
    """For framed Kafka messages (a zero byte, then a schema id): id → columns and types of that version."""
    landing: Landing = Landing()
    """For a landing folder: how a file shows that it is complete, and what it says of itself."""
    options: dict[str, str] = Field(default_factory=dict)
    """Options for Spark's reader; secrets as ${secret:scope/key}."""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.table is not None and self.path is not None:
            raise ValueError("give `table` or `path`, not both")
        if self.format != "kafka" and self.table is None and self.path is None:
            raise ValueError("a source needs a `table` or a `path`")
        if self.format in ("csv", "json") and self.schema_ is None:
            raise ValueError(f"a {self.format} source needs its `schema` declared, e.g. schema: id STRING, amount INT")
        if self.schemas and (self.format != "kafka" or not all(key.isdigit() for key in self.schemas)):
            raise ValueError("`schemas` is for Kafka, and its keys are the numbers of schemas")
        return self

    @property
    def name(self) -> str:
        """How the source is called in records and messages."""
        return self.table or self.path or self.options.get("subscribe", self.format)


class Payload(BaseModel):
    """How much of a quarantined row is kept, and in which form."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    policy: Literal["inline", "masked", "encrypted", "reference"] = "inline"
    """inline: as it is; masked: some columns hidden; encrypted: AES-GCM; reference: position and hash only."""
    columns: tuple[str, ...] = ()
    """Columns to mask."""
    key: str | None = None
    """Key for `encrypted`, as ${secret:scope/key}: 16, 24 or 32 bytes in base64."""

    @model_validator(mode="before")
    @classmethod
    def _just_the_name(cls, data: Any) -> Any:
        return {"policy": data} if isinstance(data, str) else data

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.policy == "masked" and not self.columns:
            raise ValueError("`policy: masked` needs `columns`: which ones to hide")
        if self.policy == "encrypted" and not self.key:
            raise ValueError("`policy: encrypted` needs a `key` such as ${secret:quarantine/key}")
        return self


class Recycle(BaseModel):
    """When corrected records go back through the front door, and how often."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    at_start: bool = False
    """At the start of each run, before it takes what is new."""
    between_batches: bool = False
    """Between the batches of a stream."""
    max_attempts: int = Field(default=3, ge=1)
    """After so many attempts only a person can send a record again, no automatic correction."""
    limit: int | None = Field(default=None, ge=1)
    """At most so many records in one batch."""


class Target(BaseModel):
    """How the asset is made if it does not exist."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    create: bool = True
    """Whether the first run may create it."""
    partition_by: tuple[str, ...] = ()
    """Partition columns."""
    cluster_by: tuple[str, ...] = ()
    """Clustering columns."""
    properties: dict[str, str] = Field(default_factory=dict)
    """Delta table properties."""

    @model_validator(mode="after")
    def _one_layout(self) -> Self:
        if self.partition_by and self.cluster_by:
            raise ValueError("give `partition_by` or `cluster_by`, not both")
        return self


class Suite(BaseModel):
    """The rules for one asset. Immutable: a change is a new version."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    suite: str
    """Name of the suite, unique in the project."""
    version: Version
    """Version of the suite; bump it with every change of a rule."""
    asset: TableName
    """The table this suite guards, as `schema.table`."""
    owner: str = Field(min_length=1)
    """Who answers for the data."""
    source_system: str | None = None
    """The system the rows come from."""
    entity: str | None = None
    """What the rows are."""
    layer: Literal["bronze", "silver", "gold", "export"] | None = None
    """Where in the lake the asset stands."""
    tier: Tier = Tier.STANDARD
    """How much is at stake: exploratory, standard or regulatory."""
    consumers: Consumers = Consumers.NORMAL
    """How much depends on those who read the asset: normal, important or critical."""
    description: str = ""
    """What the asset is, for whoever reads the suite."""
    source: Source | None = None
    """Where the rows come from."""
    stream: StreamSettings = StreamSettings()
    """How `lazaretto stream` takes the source: every, limit, limit_bytes, on_block, compact_every, retries, windows,
    lateness, recover_after."""
    path: str | None = None
    """Folder of the asset, where it is not under the lake root."""
    write: WriteMode = WriteMode.APPEND
    """append, replace or replace_partitions."""
    mode: Mode = Mode.QUARANTINE
    """quarantine: bad rows are kept out of the asset; annotate: all rows are written, with their faults attached."""
    target: Target = Target()
    """How the asset is made if it does not exist."""
    publish: Literal["auto", "zero_copy", "copy"] = "auto"
    """zero_copy: the staged files themselves become part of the asset; copy: they are read and appended."""
    payload: Payload = Payload()
    """How much of a quarantined row is kept: inline, masked, encrypted or reference."""
    result_columns: bool = False
    """Add `_warnings` to the asset, for rows that were published with a warning."""
    records_independent: bool = True
    """False: a batch with a bad row is wrong as a whole."""
    partial_allowed: bool = True
    """False: consumers need all rows of a batch or none."""
    feeds_aggregates: bool = False
    """True: a missing row would silently falsify what is calculated from the asset."""
    key: OneOrMany = ()
    """Columns that identify a row for people."""
    event_id: str | None = None
    """Column with the id of the event."""
    event_time: str | None = None
    """Column with the time of the event."""
    certify_below: RateField = Threshold(parse_rate("1%").value, True)
    """How much may be quarantined and the result still be called certified."""
    quarantine_batch_above: RateField = Threshold(parse_rate("50%").value, True)
    """Share of rows with any failure above which the whole batch is held."""
    on_new_column: OnNewColumn = OnNewColumn.FAIL
    """What to do with a source column the asset does not know: add, ignore or fail."""
    operational_metadata: dict[str, OperationalColumn] = Field(default_factory=dict)
    """Columns to add to the asset: name → run_id, batch_id, loaded_at, suite_version, file, reprocessed, attempt or
    original_run_id. The last three tell recycled rows from others."""
    recycle: Recycle = Recycle()
    """When corrected records are sent back, and how often."""
    corrections: Literal["on_command", "after_quarantine"] = "on_command"
    """When the project's corrections are tried: by `lazaretto correct` only, or also at the end of each run."""
    metadata: dict[str, str] = Field(default_factory=dict)
    """Free key-value pairs."""
    extends: OneOrMany = ()
    """Presets this suite builds on; already merged in when a suite is loaded."""
    rules: tuple[SerializeAsAny[Rule], ...] = Field(min_length=1)
    """The rules."""
    location: Location | None = Field(default=None, exclude=True, repr=False)
    project_root: PurePath | None = Field(default=None, exclude=True, repr=False)
    environment: str | None = Field(default=None, exclude=True, repr=False)

    @field_validator("suite")
    @classmethod
    def _suite_is_a_name(cls, value: str) -> str:
        if not _SUITE_ID.match(value):
            raise ValueError("expected a name of letters, digits, '_', '-' and '.'")
        return value

    @field_validator("rules", mode="before")
    @classmethod
    def _rules_by_check(cls, value: Any) -> Any:
        """Rules given as plain mappings become the check they name."""
        if not isinstance(value, list | tuple):
            return value
        return tuple(make_rule(**rule) if isinstance(rule, dict) else rule for rule in value)

    @model_validator(mode="after")
    def _rules_make_a_suite(self) -> Self:
        seen: set[str] = set()
        for rule in self.rules:
            if rule.id in seen:
                raise ValueError(f"two rules have the id {rule.id}")
            seen.add(rule.id)
        if not any(rule.active for rule in self.rules if not rule.id.startswith(RESERVED_PREFIX)):
            raise ValueError("no rule is active: a suite that inspects nothing would certify everything")
        return self

    @model_validator(mode="after")
    def _windows_can_be_measured(self) -> Self:
        if self.event_time is None and (lost := measures(self.stream) & OF_EVENT_TIME):
            raise ValueError(f"a window of {', '.join(sorted(lost))} needs `event_time`: the column with the time")
        return self

    @property
    def active_rules(self) -> tuple[Rule, ...]:
        """The rules that judge rows."""
        return tuple(rule for rule in self.rules if rule.active)

    def rule_version(self, rule: Rule) -> str:
        """A rule's own version, or the suite's."""
        return rule.version or self.version


def make_rule(check: str, **keys: Any) -> Rule:
    """A rule from the name of its check and the keys a suite file would have."""
    try:
        found = catalogue.find(check)
    except catalogue.UnknownCheck as unknown:
        raise ValueError(str(unknown)) from None
    return found.model_validate(keys)
