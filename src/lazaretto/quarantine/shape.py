"""The shape of `quarantine.records`: the one place that declares its columns and properties."""

from __future__ import annotations

from dataclasses import dataclass

from lazaretto.checks.ddl import parse_type
from lazaretto.engine.details import FAILURE_TYPE
from lazaretto.model.words import RecordStatus
from lazaretto.quarantine.history import HISTORY

FAILURES = FAILURE_TYPE
FAILURE_NAMES = tuple(name for name, _ in parse_type(FAILURE_TYPE).parts[0][1].parts)
"""What is kept of a broken rule: all that any of the shapes of the views needs."""

ERROR = "struct<class:string,message:string,trace:string,phase:string>"


@dataclass(frozen=True)
class RecordColumn:
    """A column of the table."""

    name: str
    type: str
    comment: str
    required: bool = False


def _column(name: str, type_: str, comment: str, *, required: bool = False) -> RecordColumn:
    return RecordColumn(name, type_, comment, required)


COLUMNS = (
    _column(
        "record_id",
        "string",
        "SHA-256 of batch, staged file and row: minted once, kept for good",
        required=True,
    ),
    _column("place", "string", "inbox or dead_letter", required=True),
    _column("asset", "string", "the table the row was meant for", required=True),
    _column("source_table", "string", "the table or file it came from"),
    _column("source_system", "string", "the system it came from"),
    _column("entity", "string", "what it is"),
    _column("source_position", "string", "where in the source it was, for information"),
    _column("record_key", "string", "the key by which people know the row"),
    _column("event_id", "string", "id of the event"),
    _column("payload", "variant", "the original row, as far as the payload policy keeps it; never changed"),
    _column("payload_schema", "string", "JSON form of the original row's Spark schema"),
    _column("payload_hash", "string", "SHA-256 of the original row"),
    _column("payload_policy", "string", "inline, masked, encrypted or reference"),
    _column("rescued_data", "string", "what the reader could not fit into the declared schema"),
    _column("failures", FAILURES, "every rule the row broke, warnings too"),
    _column("severity", "string", "the highest severity among the failures"),
    _column("status", "string", ", ".join(RecordStatus), required=True),
    _column("attempt", "int", "how often the record was resubmitted"),
    _column("run_id", "string", "the run that rejected it"),
    _column("batch_id", "string", "the batch it came with"),
    _column("suite", "string", "the suite that rejected it"),
    _column("suite_version", "string", "and the suite's version"),
    _column("rule_set_fingerprint", "string", "SHA-256 of the rules that judged it"),
    _column("quarantined_at", "timestamp", "when it was judged", required=True),
    _column("quarantined_date", "date", "the same as a day in UTC", required=True),
    _column("updated_at", "timestamp", "when the record last changed; NULL if never"),
    _column("updated_by", "string", "who changed it"),
    _column("reject_reason_code", "string", "why it was rejected for good"),
    _column("correction", "variant", "an object whose fields are laid over the payload"),
    _column("corrected_at", "timestamp", "when the correction was made"),
    _column("claimed_by", "string", "who reviews it"),
    _column("claimed_until", "timestamp", "when that claim ends by itself"),
    _column("recovered_version", "bigint", "the version of the asset that published it"),
    _column("history", HISTORY, "every step it took, never changed"),
    _column("error", ERROR, "for a dead letter: what went wrong, values scrubbed"),
)

NAMES = tuple(column.name for column in COLUMNS)
PARTITIONS = ("quarantined_date", "severity")

STATISTICS = "record_id,place,asset,source_system,entity,status,attempt,run_id,batch_id,suite,quarantined_at,updated_at"
"""Columns of which the log may hold the least and greatest values: none that could tell something of a row's, because
what once is in the log no erasure reaches."""

PROPERTIES = {
    "delta.enableChangeDataFeed": "true",
    "delta.enableRowTracking": "true",
    "delta.enableDeletionVectors": "true",
    "delta.dataSkippingStatsColumns": STATISTICS,
    "delta.deletedFileRetentionDuration": "interval 90 days",
    "delta.logRetentionDuration": "interval 90 days",  # Delta wants it to last as long as the deleted files
}
