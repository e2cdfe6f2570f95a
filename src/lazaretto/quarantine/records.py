"""`quarantine.records`: the table of all rejected rows. Made when needed, examined before it is trusted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lazaretto.checks import sql
from lazaretto.model.errors import LazarettoError
from lazaretto.quarantine.fields import ddl, fields_of
from lazaretto.quarantine.shape import COLUMNS, PARTITIONS, PROPERTIES, RecordColumn
from lazaretto.spark.delta_log import TableFacts
from lazaretto.spark.files import Files
from lazaretto.spark.lock import table_lock
from lazaretto.spark.logs import logs_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPAIR = "lazaretto quarantine repair"
_NO_REPAIR = "This cannot be mended in place: restore an earlier version, or move the table away."
CHANGE_FEED = "delta.enableChangeDataFeed"


class QuarantineTableAltered(LazarettoError):
    """The table is not what it has to be: someone changed or dropped it. `findings` says what."""

    def __init__(self, path: str, findings: tuple[str, ...], remedy: str = f"Run: {REPAIR}") -> None:
        super().__init__(f"the quarantine table {path} was altered: {'; '.join(findings)}. {remedy}")
        self.path = path
        self.findings = findings


class QuarantineTableDropped(QuarantineTableAltered):
    """The table was there once and is gone."""

    def __init__(self, path: str) -> None:
        super().__init__(
            path,
            ("it is gone, with every record in it",),
            f"Restore it from a backup, or begin an empty one with: {REPAIR}",
        )


def exists(spark: SparkSession, path: str) -> bool:
    """Whether the table is there. The file system knows: Delta remembers tables dropped behind its back."""
    there = any(name.endswith(".json") for name in Files(spark).list(f"{path}/_delta_log"))
    if not there:
        logs_of(spark).forget(path)
    return there


def ensure(spark: SparkSession, path: str) -> None:
    """See that the table is there and as declared; make it if it never was."""
    if not exists(spark, path):
        with table_lock(spark, path):
            if not exists(spark, path):
                if Files(spark).exists(_marker(path)):
                    raise QuarantineTableDropped(path)
                _create(spark, path)
    examine(spark, path)


def examine(spark: SparkSession, path: str, *, change_feed: bool = True) -> None:
    """Compare the table with the declaration; QuarantineTableAltered says what is missing or changed.

    `change_feed=False` is for whoever gets along without it.
    """
    if not exists(spark, path):
        raise QuarantineTableDropped(path)
    facts = logs_of(spark).facts(path)
    findings = _findings(facts)
    if not change_feed:
        findings = tuple(finding for finding in findings if CHANGE_FEED not in finding)
    known = _mark(spark, path, facts.id)
    if known != facts.id:
        findings = ("it is another table than before, so records may be gone", *findings)
    if findings:
        raise QuarantineTableAltered(path, findings)


def waiting(spark: SparkSession, path: str, asset: str) -> int:
    """Records of an asset that nobody has dealt with yet."""
    if not exists(spark, path):
        return 0
    closed = "'RECOVERED', 'REJECTED', 'ARCHIVED'"
    rows = spark.read.format("delta").load(path).where(f"asset = {sql.text(asset)} AND status NOT IN ({closed})")
    return rows.count()


def repair(spark: SparkSession, path: str) -> tuple[str, ...]:
    """Bring the table back to the declaration as far as no record is touched by it; says what was done."""
    with table_lock(spark, path):
        done = []
        if not exists(spark, path):
            Files(spark).delete(_marker(path))
            _create(spark, path)
            done.append("made an empty table")
        table = f"delta.{sql.identifier(path)}"
        facts = logs_of(spark).facts(path)
        if missing := [column for column in _missing(facts) if not column.required]:
            spark.sql(f"ALTER TABLE {table} ADD COLUMNS ({', '.join(_definition(c) for c in missing)})")
            done.append("added " + ", ".join(column.name for column in missing))
            facts = logs_of(spark).facts(path)
        if left := _of_its_shape(facts):  # before anything is set that asks for the columns
            raise QuarantineTableAltered(path, left, _NO_REPAIR)
        if changed := _changed_properties(facts):
            pairs = ", ".join(f"'{name}' = '{PROPERTIES[name]}'" for name in changed)
            spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({pairs})")
            done.append("restored " + ", ".join(changed))
        facts = logs_of(spark).facts(path)
        if _mark(spark, path, facts.id) != facts.id:
            Files(spark).delete(_marker(path))
            _mark(spark, path, facts.id)
            done.append("accepted the table as it is now")
    if left := _findings(facts):
        raise QuarantineTableAltered(path, left, _NO_REPAIR)
    return tuple(done)


def _create(spark: SparkSession, path: str) -> None:
    columns = ", ".join(_definition(column) for column in COLUMNS)
    properties = ", ".join(f"'{name}' = '{value}'" for name, value in PROPERTIES.items())
    try:
        spark.sql(
            f"CREATE TABLE IF NOT EXISTS delta.{sql.identifier(path)} ({columns}) USING delta "
            f"PARTITIONED BY ({', '.join(PARTITIONS)}) TBLPROPERTIES ({properties})"
        )
    except Exception:
        # On an object store no lock of ours excludes a rival: whoever came first made the same table.
        if not exists(spark, path):
            raise


def _definition(column: RecordColumn) -> str:
    need = " NOT NULL" if column.required else ""
    return f"{column.name} {column.type}{need} COMMENT {sql.text(column.comment)}"


def _findings(facts: TableFacts) -> tuple[str, ...]:
    properties = [
        f"the property {name} is {facts.configuration.get(name, 'unset')} instead of {PROPERTIES[name]}"
        for name in _changed_properties(facts)
    ]
    return (*_of_its_shape(facts), *properties)


def _of_its_shape(facts: TableFacts) -> tuple[str, ...]:
    """What is wrong with columns and partitions: where a required column is gone, no repair brings it back."""
    findings = [f"the column {column.name} is missing" for column in _missing(facts)]
    found = {field["name"]: ddl(field["type"]) for field in facts.schema["fields"]}
    for name, wanted in _declared_types().items():
        if name in found and found[name] != wanted:
            findings.append(f"the column {name} is {found[name]} instead of {wanted}")
    if facts.partition_columns != PARTITIONS:
        listed = ", ".join(facts.partition_columns) or "nothing"
        findings.append(f"it is partitioned by {listed} instead of {', '.join(PARTITIONS)}")
    return tuple(findings)


def _missing(facts: TableFacts) -> list[RecordColumn]:
    found = {field["name"] for field in facts.schema["fields"]}
    return [column for column in COLUMNS if column.name not in found]


def _changed_properties(facts: TableFacts) -> list[str]:
    return [name for name, value in PROPERTIES.items() if facts.configuration.get(name) != value]


def _declared_types() -> dict[str, str]:
    from pyspark.sql.types import StructType

    declared = StructType.fromDDL(", ".join(f"{column.name} {column.type}" for column in COLUMNS))
    return {field.name: ddl(field.form) for field in fields_of(declared.json())}


def _marker(path: str) -> str:
    """A file beside the table that remembers it, so that a dropped table is not taken for a new lake."""
    folder, _, name = path.rstrip("/").rpartition("/")
    return f"{folder}/.{name}.lz-table"


def _mark(spark: SparkSession, path: str, table_id: str) -> str:
    """The id of the table that was made here; this one's, if nobody noted any."""
    files = Files(spark)
    text = files.read_text(_marker(path))
    if text is None:
        files.put_if_absent(_marker(path), json.dumps({"id": table_id}))
        text = files.read_text(_marker(path)) or "{}"
    return str(json.loads(text).get("id"))
