"""Appending rejects happens once, and the table they go to is what it has to be."""

from __future__ import annotations

import shutil
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lazaretto.quarantine import append as append_module
from lazaretto.quarantine.append import append, appended
from lazaretto.quarantine.records import (
    QuarantineTableAltered,
    QuarantineTableDropped,
    ensure,
    examine,
    repair,
)
from lazaretto.quarantine.shape import NAMES, PROPERTIES
from lazaretto.spark.delta_log import DeltaLogs
from quarantine.staged import stage

TWINS = "SELECT 1 AS id, -1 AS amount UNION ALL SELECT 1, -1 UNION ALL SELECT 2, -5"


def versions(spark: SparkSession, path: Path) -> int:
    return DeltaLogs(spark).facts(str(path)).version


def test_a_batch_is_appended_once_however_often_it_is_repeated(spark: SparkSession, tmp_path: Path) -> None:
    records = tmp_path / "lake with space" / "records"
    seal = stage(spark, tmp_path / "target", spark.sql(TWINS))
    assert append(spark, seal, str(records)) == 3
    after = versions(spark, records)
    assert appended(spark, seal, str(records))
    assert append(spark, seal, str(records)) == 3
    shutil.rmtree(tmp_path / "target" / seal.folder)  # a crash came after the files were deleted
    assert append(spark, seal, str(records)) == 3
    assert versions(spark, records) == after == 1

    rows = spark.read.format("delta").load(str(records)).orderBy("payload_hash", "record_id").collect()
    assert len(rows) == 3
    assert len({row.record_id for row in rows}) == 3  # two equal rows are two records
    assert len({row.payload_hash for row in rows}) == 2
    first = rows[0].asDict()
    assert list(first) == list(NAMES)
    expected: dict[str, Any] = {
        "place": "inbox",
        "asset": "silver.orders",
        "source_table": "bronze.orders",
        "source_system": "shop",
        "entity": "orders",
        "source_position": "file 1",
        "payload_policy": "inline",
        "severity": "HIGH",
        "status": "QUARANTINED",
        "attempt": 0,
        "run_id": "run 1",
        "batch_id": seal.batch_id,
        "suite": "orders",
        "suite_version": "1.0.0",
        "rule_set_fingerprint": "set1",
        "quarantined_at": datetime(2026, 11, 17, 23, 30, tzinfo=UTC).replace(tzinfo=None),
        "quarantined_date": date(2026, 11, 17),
        "updated_at": None,
        "error": None,
    }
    assert {name: first[name] for name in expected} == expected
    assert first["failures"][0].rule_id == "positive_amount"
    assert first["failures"][0].metadata == {"team": "payments"}


def test_without_the_transaction_id_a_replay_would_double(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard of the test above: two writers that both saw nothing appended must still append once."""
    records = str(tmp_path / "records")
    seal = stage(spark, tmp_path / "target", spark.sql(TWINS))
    append(spark, seal, records)
    monkeypatch.setattr(append_module, "appended", lambda *_: False)
    append(spark, seal, records)
    assert spark.read.format("delta").load(records).count() == 3


def test_identity_does_not_depend_on_the_folder_or_the_session(spark: SparkSession, tmp_path: Path) -> None:
    seal = stage(spark, tmp_path / "target", spark.sql(TWINS))
    append(spark, seal, str(tmp_path / "a"))
    held = tmp_path / "held [1] {x}" / seal.folder  # characters that Hadoop would take for a pattern
    shutil.copytree(tmp_path / "target" / seal.folder, held)
    append(spark, seal, str(tmp_path / "b"), stage=str(held))

    def ids(name: str) -> set[str]:
        return {row.record_id for row in spark.read.format("delta").load(str(tmp_path / name)).collect()}

    assert ids("a") == ids("b")


def test_only_sealed_files_count_and_none_may_be_missing(spark: SparkSession, tmp_path: Path) -> None:
    seal = stage(spark, tmp_path / "target", spark.sql(TWINS).repartition(2))
    files = seal.files_of("quarantined")
    assert len(files) == 2
    folder = tmp_path / "target" / seal.folder
    left_over = folder / "lz_route=quarantined" / "part-of-a-failed-task.parquet"
    shutil.copy(folder / files[0]["path"], left_over)
    append(spark, seal, str(tmp_path / "records"))
    assert spark.read.format("delta").load(str(tmp_path / "records")).count() == 3

    other = stage(spark, tmp_path / "target", spark.sql(TWINS).repartition(2), name="two")
    (tmp_path / "target" / other.folder / other.files[0]["path"]).unlink()
    with pytest.raises(Exception, match="PATH_NOT_FOUND"):
        append(spark, other, str(tmp_path / "records"))
    assert not appended(spark, other, str(tmp_path / "records"))


def test_no_rejects_no_commit(spark: SparkSession, tmp_path: Path) -> None:
    seal = stage(spark, tmp_path / "target", spark.sql(f"SELECT * FROM ({TWINS}) WHERE false"), accepted=2)
    assert seal.counts.accepted == 2
    assert append(spark, seal, str(tmp_path / "records")) == 0
    assert not (tmp_path / "records").exists()


def test_an_altered_table_is_named_and_mended(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "records")
    ensure(spark, path)
    ensure(spark, path)
    table = f"delta.`{path}`"
    facts = DeltaLogs(spark).facts(path)
    assert facts.version == 0
    assert {name: facts.configuration[name] for name in PROPERTIES} == PROPERTIES
    assert facts.partition_columns == ("quarantined_date", "severity")
    spark.sql(
        f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name', "
        "'delta.enableChangeDataFeed' = 'false')"
    )
    spark.sql(f"ALTER TABLE {table} DROP COLUMN correction")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN note string")  # an addition harms nobody
    with pytest.raises(QuarantineTableAltered) as altered:
        ensure(spark, path)
    assert altered.value.findings == (
        "the column correction is missing",
        "the property delta.enableChangeDataFeed is false instead of true",
    )
    assert "lazaretto quarantine repair" in str(altered.value)
    assert repair(spark, path) == ("added correction", "restored delta.enableChangeDataFeed")
    examine(spark, path)
    seal = stage(spark, tmp_path / "target", spark.sql(TWINS))
    assert append(spark, seal, path) == 3


def test_a_dropped_table_is_not_taken_for_a_new_lake(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "records"
    seal = stage(spark, tmp_path / "target", spark.sql(TWINS))
    append(spark, seal, str(path))
    shutil.rmtree(path)
    with pytest.raises(QuarantineTableDropped, match="it is gone"):
        append(spark, seal, str(path))
    assert repair(spark, str(path)) == ("made an empty table",)
    assert append(spark, seal, str(path)) == 3
    shutil.rmtree(path)
    spark.sql(f"CREATE TABLE delta.`{path}` (record_id int) USING delta")
    with pytest.raises(QuarantineTableAltered) as altered:
        ensure(spark, str(path))
    assert altered.value.findings[0] == "it is another table than before, so records may be gone"
    assert "the column record_id is int instead of string" in altered.value.findings
    with pytest.raises(QuarantineTableAltered, match="cannot be mended in place"):
        repair(spark, str(path))


def test_a_session_that_enforces_reserved_keywords_will_do(spark: SparkSession, tmp_path: Path) -> None:
    session: Any = spark.newSession()
    session.conf.set("spark.sql.ansi.enforceReservedKeywords", "true")
    session._jvm.SparkSession.setActiveSession(session._jsparkSession)
    path = str(tmp_path / "records")
    ensure(session, path)
    examine(session, path)
    seal = stage(session, tmp_path / "target", session.sql(TWINS))
    assert append(session, seal, path) == 3
