# ruff: noqa: S608 - SQL is what is made here; names and literals go through checks.sql
"""Views of the quarantine, with the names and columns people expect of one.

They are temporary views made from SQL text, so each query sees the table as it is then. None can be written
to: `lazaretto sql` translates changes to the table (see `changes`).
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from lazaretto.checks import sql
from lazaretto.model.words import Place, RecordStatus
from lazaretto.quarantine.fields import Field, fields_of
from lazaretto.quarantine.payload import decoded, overlaid
from lazaretto.quarantine.records import exists
from lazaretto.quarantine.shape import COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INBOX = "inbox"
DEAD_LETTER = "dead_letter"
RECORDS = "quarantine_records"
UNIVERSAL = "universal_dlq"
OUTBOX = "universal_dlq_outbox"
DATASET_PREFIX = "quarantine_"

VIEWS = (INBOX, DEAD_LETTER, RECORDS, UNIVERSAL, OUTBOX)
"""The views that are always there; one for each dataset comes besides."""

OUTBOX_COLUMNS = {
    "record_id": "string",
    "asset": "string",
    "payload": "variant",
    "correction": "variant",
    "recycled_at": "timestamp",
}
"""What the view of the outbox needs of that table."""

CORRECTED = f"CASE WHEN correction IS NULL THEN payload ELSE {overlaid('payload', 'correction')} END"
"""SQL of a record's row with its correction laid over it; the plain payload for most."""

_FAILED = "filter(failures, f -> NOT coalesce(f.warning, false))"
_FIXED = (RecordStatus.CORRECTED, RecordStatus.RESUBMITTED)
_OPEN = (RecordStatus.QUARANTINED, RecordStatus.UNDER_REVIEW)

UNIVERSAL_COLUMNS = {
    "_dlq_sk": "record_id",
    "_dlq_source_table": "asset",
    "_dlq_status": (
        f"CASE WHEN status IN ({sql.literals(_OPEN, 'string')}) THEN 'quarantined' "
        f"WHEN status IN ({sql.literals(_FIXED, 'string')}) THEN 'fixed' ELSE lower(status) END"
    ),
    "_dlq_timestamp": "quarantined_at",
    "_dlq_failed_rules": f"transform({_FAILED}, f -> named_struct('name', f.rule_id, 'rule', f.expression))",
    "_dlq_rescued_data": "rescued_data",
    "_row_data": CORRECTED,
}
"""The dead letter queue that all datasets share, as its operators know it."""

_DQ_RULE = (
    "rule_id",
    "rule_type",
    "column_name",
    "expected_value",
    "actual_value",
    "severity",
    "dimension",
    "message",
    "status",
)
_DQ_STRUCT = ", ".join(f"'{name}', f.{name}" for name in _DQ_RULE)

DQ_COLUMNS = {
    "dq_run_id": "run_id",
    "dq_failed_rules": f"transform({_FAILED}, f -> named_struct({_DQ_STRUCT}))",
    "dq_failure_timestamp": "quarantined_at",
    "dq_source_table": "source_table",
    "dq_severity": "severity",
    "dq_status": "status",
}
"""What a dataset's quarantine table has besides the original columns."""


def register_views(
    spark: SparkSession,
    records_path: str,
    *,
    outbox_path: str | None = None,
    archive_path: str | None = None,
    datasets: bool = True,
) -> tuple[str, ...]:
    """Create (or refresh) the temporary views; returns their names.

    Where a table does not exist yet, its views are there and empty. `datasets=False` leaves out the views of
    the single datasets, which cost a query over the records to learn what datasets there are. `archive_path` is
    given while a move to the archive is open: what it has is left out.
    """
    source = _source(spark, records_path, {column.name: column.type for column in COLUMNS})
    if archive_path is not None and exists(spark, archive_path):
        archive = f"delta.{sql.identifier(archive_path)}"
        source = f"(SELECT r.* FROM {source} AS r LEFT ANTI JOIN {archive} AS a ON r.record_id = a.record_id)"
    outbox = _source(spark, outbox_path, OUTBOX_COLUMNS)
    selects = {
        RECORDS: f"SELECT * FROM {source}",
        INBOX: f"SELECT *, {_results()} FROM {source} WHERE place = '{Place.INBOX}'",
        DEAD_LETTER: f"SELECT *, {_results()} FROM {source} WHERE place = '{Place.DEAD_LETTER}'",
        UNIVERSAL: f"SELECT {_selected(UNIVERSAL_COLUMNS)} FROM {source}",
        OUTBOX: (
            f"SELECT record_id AS _dlq_sk, asset AS _dlq_source_table, {CORRECTED} AS _row_data, "
            f"recycled_at AS _dlq_recycled_at FROM {outbox}"
        ),
    }
    if datasets:
        selects |= _of_datasets(spark, source)
    for name, select in selects.items():
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {sql.identifier(name)} AS {select}")
    return tuple(selects)


def dataset_view(asset: str) -> str:
    """Name of a dataset's view."""
    schema_and_table = asset.split(".")[-2:]
    return DATASET_PREFIX + re.sub(r"\W", "_", "_".join(schema_and_table)).lower()


def _source(spark: SparkSession, path: str | None, columns: dict[str, str]) -> str:
    if path is not None and exists(spark, path):
        return f"delta.{sql.identifier(path)}"
    nothing = ", ".join(f"cast(NULL as {kind}) AS {name}" for name, kind in columns.items())
    return f"(SELECT {nothing} WHERE false)"


def _selected(columns: dict[str, str]) -> str:
    return ", ".join(f"{value} AS {sql.identifier(name)}" for name, value in columns.items())


def _results() -> str:
    """`_errors` and `_warnings`, in the shape that annotated tables have."""
    element = (
        "f -> named_struct('name', f.rule_id, 'message', f.message, 'columns', f.columns, "
        "'filter', f.filter, "
        "'function', f.rule_type, 'run_time', quarantined_at, 'run_id', run_id, 'user_metadata', f.metadata, "
        "'rule_fingerprint', f.rule_fingerprint, 'rule_set_fingerprint', rule_set_fingerprint)"
    )
    warnings = "filter(failures, f -> f.warning)"
    return f"transform({_FAILED}, {element}) AS _errors, transform({warnings}, {element}) AS _warnings"


def _of_datasets(spark: SparkSession, source: str) -> dict[str, str]:
    rows = spark.sql(
        "SELECT asset, payload_schema, max(quarantined_at) AS newest "
        f"FROM {source} WHERE payload_schema IS NOT NULL GROUP BY ALL ORDER BY asset, newest DESC"
    ).collect()
    schemas: dict[str, list[str]] = {}
    for row in rows:
        schemas.setdefault(row["asset"], []).append(row["payload_schema"])
    selects: dict[str, str] = {}
    for asset, texts in schemas.items():
        name = dataset_view(asset)
        if name in selects or name in VIEWS:  # a.b_c and a_b.c would be the same
            name += "_" + hashlib.sha256(asset.encode()).hexdigest()[:6]
        columns = _distinct(decoded(_united(texts), "lz_payload"))
        listed = ", ".join(f"{value} AS {sql.identifier(column)}" for column, value in columns)
        rows_of_it = f"SELECT *, {CORRECTED} AS lz_payload FROM {source} WHERE asset = {sql.text(asset)}"
        selects[name] = f"SELECT {listed}, {_selected(DQ_COLUMNS)} FROM ({rows_of_it})"
    return selects


def _united(texts: list[str]) -> list[Field]:
    """The columns of a dataset over all its schemas; of a column whose type changed, the newest."""
    found: dict[str, Field] = {}
    for text in texts:
        for field in fields_of(text):
            found.setdefault(field.name, field)
    return list(found.values())


def _distinct(columns: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Columns renamed where a view would have two of a name, which it compares without regard to case."""
    taken = set(DQ_COLUMNS)
    renamed = []
    for name, value in columns:
        free = name
        while free.casefold() in taken:
            free = f"payload_{free}"
        taken.add(free.casefold())
        renamed.append((free, value))
    return renamed
