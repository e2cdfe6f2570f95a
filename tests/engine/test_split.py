"""`split` and `annotate` as callers meet them: the shapes, the arguments, laziness, streams and sessions."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lazaretto as lz
from engine.support import custom, failures, optimised, suite_of
from lazaretto.model.errors import FrameError
from lazaretto.model.fingerprint import rule_fingerprint, rule_set_fingerprint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = datetime(2026, 6, 1, 12, 30, 15, 123457, tzinfo=UTC)

PRESENT = {"id": "present", "check": "not_null", "column": "amount", "severity": "high"}
SMALL = {
    "id": "small",
    "check": "range",
    "column": "amount",
    "max": 10,
    "where": "currency = 'AED'",
    "on_fail": "warn",
    "version": "7",
    "severity": "low",
    "metadata": {"team": "o'neill", "no": "1"},
    "message": "{column} of {row.id} is {value}, not {expected}",
}
NUMBER = custom("number", "cast(note as int) > 0", on_null="pass", reason_code="NOT_A_NUMBER")
SUITE = suite_of(PRESENT, SMALL, NUMBER)
ROWS = [(1, 5, "AED", None), (2, None, "AED", None), (3, 50, "AED", "abc"), (4, 50, "USD", "1"), (5, 50, "AED", None)]


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, "id INT, amount INT, currency STRING, note STRING").coalesce(1)


# --- shapes ---------------------------------------------------------------------------------------------------

FAILED_RULE = [
    "rule_id",
    "rule_version",
    "rule_type",
    "column_name",
    "expected_value",
    "actual_value",
    "expression",
    "severity",
    "dimension",
    "message",
    "reason_code",
    "status",
    "rule_fingerprint",
]
SIX = ["dq_run_id", "dq_failed_rules", "dq_failure_timestamp", "dq_source_table", "dq_severity", "dq_status"]


def test_shape_of_split(frame: DataFrame) -> None:
    clean, quarantined = lz.split(frame, SUITE)
    assert clean.schema == frame.schema
    assert quarantined.columns == [*frame.columns, *SIX]
    types = dict(quarantined.dtypes)
    assert types["dq_failed_rules"] == f"array<struct<{','.join(f'{name}:string' for name in FAILED_RULE)}>>"
    assert types["dq_failure_timestamp"] == "timestamp"
    assert {types[name] for name in SIX} - {types["dq_failed_rules"], "timestamp"} == {"string"}


def test_content_of_split(frame: DataFrame) -> None:
    clean, quarantined = lz.split(frame, SUITE, run_id="run'1", run_time=NOW, source_table="bronze.t")
    rows = {row.id: row for row in clean.unionByName(quarantined, allowMissingColumns=True).collect()}
    assert {key for key, row in rows.items() if row.dq_status is None} == {1, 4, 5}
    two, three = rows[2], rows[3]
    assert (two.dq_run_id, two.dq_source_table, two.dq_severity, two.dq_status) == (
        "run'1",
        "bronze.t",
        "HIGH",
        "QUARANTINED",
    )
    assert two.dq_failure_timestamp == NOW.replace(tzinfo=None)
    assert three.dq_severity == "MEDIUM"
    rules = {rule.id: rule for rule in SUITE.rules}
    assert [f.asDict() for f in two.dq_failed_rules] == [
        {
            "rule_id": "present",
            "rule_version": "1.2.0",
            "rule_type": "not_null",
            "column_name": "amount",
            "expected_value": "a value",
            "actual_value": None,
            "expression": "`amount` IS NOT NULL",
            "severity": "HIGH",
            "dimension": "COMPLETENESS",
            "message": "amount: expected a value, found NULL",
            "reason_code": "not_null",
            "status": "FAIL",
            "rule_fingerprint": rule_fingerprint(rules["present"]),
        }
    ]
    small, number = three.dq_failed_rules  # all failures of a row are listed, warnings too
    assert (small.rule_version, small.severity, small.status) == ("7", "LOW", "FAIL")
    assert small.message == "amount of 3 is 50, not <= 10"
    assert (number.status, number.reason_code, number.column_name) == ("ERROR", "NOT_A_NUMBER", None)


def test_shape_of_annotate(frame: DataFrame) -> None:
    annotated = lz.annotate(frame, SUITE)
    assert annotated.columns == [*frame.columns, "_errors", "_warnings"]
    element = (
        "name:string,message:string,columns:array<string>,filter:string,function:string,run_time:timestamp,"
        "run_id:string,user_metadata:map<string,string>,rule_fingerprint:string,rule_set_fingerprint:string"
    )
    types = dict(annotated.dtypes)
    assert types["_errors"] == types["_warnings"] == f"array<struct<{element}>>"


def test_content_of_annotate(frame: DataFrame) -> None:
    annotated = lz.annotate(frame, SUITE, errors="Fehler!", warnings="my.warnings", run_id="r", run_time=NOW)
    rows = {row.id: row for row in annotated.collect()}
    assert len(rows) == len(ROWS)
    names = {
        key: [row[4] and [e.name for e in row[4]], row[5] and [w.name for w in row[5]]] for key, row in rows.items()
    }
    assert names == {
        1: [None, None],
        2: [["present"], None],
        3: [["number"], ["small"]],
        4: [None, None],
        5: [None, ["small"]],
    }
    rules = {rule.id: rule for rule in SUITE.rules}
    assert rows[5]["my.warnings"][0].asDict() == {
        "name": "small",
        "message": "amount of 5 is 50, not <= 10",
        "columns": ["amount"],
        "filter": "currency = 'AED'",
        "function": "range",
        "run_time": NOW.replace(tzinfo=None),
        "run_id": "r",
        "user_metadata": {"team": "o'neill", "no": "1"},
        "rule_fingerprint": rule_fingerprint(rules["small"]),
        "rule_set_fingerprint": rule_set_fingerprint(SUITE),
    }
    error = rows[3]["Fehler!"][0]
    assert (error.columns, error.filter, error.user_metadata) == ([], None, None)


def test_defaults_of_the_run(spark: SparkSession) -> None:
    frame = spark.sql("SELECT cast(NULL as int) AS amount")
    before = datetime.now(UTC).replace(tzinfo=None)
    one, two = (lz.split(frame, suite_of(PRESENT)).quarantined.collect()[0] for _ in range(2))
    assert one.dq_source_table == "silver.t"
    assert one.dq_run_id != two.dq_run_id
    assert before <= one.dq_failure_timestamp <= two.dq_failure_timestamp
    sourced = suite_of(PRESENT, source={"format": "delta", "table": "bronze.t"})
    elsewhere = NOW.astimezone(timezone(timedelta(hours=4)))
    row = lz.split(frame, sourced, run_time=elsewhere).quarantined.collect()[0]
    assert (row.dq_source_table, row.dq_failure_timestamp) == ("bronze.t", NOW.replace(tzinfo=None))


def test_highest_severity(spark: SparkSession) -> None:
    severities = ["info", "low", "medium", "high", "critical"]
    rules = [custom(name, f"id < {i}", severity=name) for i, name in enumerate(severities)]
    found = {r.id: r.dq_severity for r in lz.split(spark.range(5), suite_of(*rules)).quarantined.collect()}
    assert found == {i: name.upper() for i, name in enumerate(severities)}


def test_awkward_names(spark: SparkSession) -> None:
    names = ["a b", "a.b", "`", "'", '"', "Größe", "日本", "SELECT", "ÄÖ", "a\\b", "x;--", "1", "each", "a`b.c"]
    schema = ", ".join("`" + name.replace("`", "``") + "` INT" for name in names)
    frame = spark.createDataFrame(
        [tuple(None if i == j else 1 for j in range(len(names))) for i in range(len(names))], schema
    )
    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    rules = [{"id": "present", "check": "not_null", "columns": names, "message": "{row." + names[0] + "}"}]
    rules += [custom(f"sql_{i}", f"{name} is not null") for i, name in enumerate(quoted)]
    clean, quarantined = lz.split(frame, suite_of(*rules))
    assert clean.columns == names
    found = sorted(
        ([(f.rule_id, f.column_name) for f in row.dq_failed_rules] for row in quarantined.collect()), key=str
    )
    assert found == sorted(([("present", name), (f"sql_{i}", None)] for i, name in enumerate(names)), key=str)
    annotated = lz.annotate(frame, suite_of(*rules))
    assert annotated.columns == [*names, "_errors", "_warnings"]
    assert annotated.where("_errors IS NULL").count() == 0


# --- what is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("amount INT, dq_status STRING", "'dq_status'"),
        ("amount INT, DQ_Run_Id STRING", "'DQ_Run_Id'"),
        ("amount INT, lz_mask_0 BIGINT", "'lz_mask_0'"),
        ("amount INT, LZ_x BIGINT", "reserved"),
    ],
)
def test_columns_that_clash(spark: SparkSession, schema: str, words: str) -> None:
    with pytest.raises(FrameError, match=re.escape(words)):
        lz.split(spark.createDataFrame([], schema), suite_of(PRESENT))


def test_columns_that_clash_with_annotate(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "mine")], "amount INT, _Errors STRING")
    with pytest.raises(FrameError, match="'_Errors'"):
        lz.annotate(frame, suite_of(PRESENT))
    assert lz.annotate(frame, suite_of(PRESENT), errors="e").collect()[0]["_Errors"] == "mine"


def test_a_column_twice(spark: SparkSession) -> None:
    with pytest.raises(FrameError, match="twice"):
        lz.split(spark.sql("SELECT 1 AS amount, 2 AS Amount"), suite_of(PRESENT))


# --- how it runs ----------------------------------------------------------------------------------------------


def test_nothing_runs_before_an_action(spark: SparkSession, frame: DataFrame) -> None:
    lookup = {"table": "ref.currencies", "column": "code"}
    rule = {"id": "known", "check": "referential_integrity", "column": "currency", "reference": lookup}
    currencies = spark.createDataFrame([("AED",)], "code STRING")
    spark.sparkContext.setJobGroup("lazy", "split and annotate")
    try:
        tracker = spark.sparkContext.statusTracker()
        refused = custom("refused", "id")  # bisecting what the analyser refuses runs nothing either
        suite = suite_of(PRESENT, SMALL, NUMBER, rule, refused)
        clean, _ = lz.split(frame, suite, references={"ref.currencies": currencies})
        lz.annotate(frame, suite, references={"ref.currencies": currencies})
        assert tracker.getJobIdsForGroup("lazy") == []
        clean.collect()
        assert tracker.getJobIdsForGroup("lazy") != []
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


def test_every_mask_is_computed_once(spark: SparkSession, frame: DataFrame) -> None:
    rules = [custom(f"r{i}", f"cast(note as int) <> {i}") for i in range(70)]  # two words
    clean, quarantined = lz.split(frame, suite_of(*rules))
    for output in (clean, quarantined, lz.annotate(frame, suite_of(*rules))):
        plan = optimised(output)
        for word in (0, 1):
            assert len(re.findall(rf"AS lz_mask_{word}#", plan)) == 1
        # One try around each mask, and one inside each second look (for FAIL and for ERROR), which rows without an
        # exception never take.
        assert plan.count("tryeval(") == 6
        assert plan.count("CASE WHEN isnull(lz_mask_0") >= 1


def test_no_python_and_no_shuffle(frame: DataFrame) -> None:
    clean, quarantined = lz.split(frame, SUITE)
    for output in (clean, quarantined, lz.annotate(frame, SUITE)):
        plan = str(output._jdf.queryExecution().executedPlan().toString())
        assert "Python" not in plan
        assert "Exchange" not in plan


def test_details_are_built_for_failing_rows_only(frame: DataFrame) -> None:
    assert "named_struct" not in optimised(lz.split(frame, SUITE).clean)
    assert "CASE WHEN" in optimised(lz.annotate(frame, SUITE)).partition("named_struct")[0]


# --- sessions -------------------------------------------------------------------------------------------------


def test_the_callers_settings_stay(spark: SparkSession, frame: DataFrame) -> None:
    before = dict(spark.conf.getAll)
    clean, quarantined = lz.split(frame, SUITE)
    clean.collect()
    quarantined.collect()
    lz.annotate(frame, SUITE).collect()
    assert dict(spark.conf.getAll) == before


EVERYTHING = [
    {"id": "text", "check": "regex", "column": "s", "pattern": r"it's \\ [0-9]+\s\$\{x\}"},
    {"id": "list", "check": "allowed_values", "column": "s", "allowed": ["it's \\ 42 ${x}"]},
    {"id": "when", "check": "range", "column": "t", "max": "2024-01-01T12:00:00Z"},
    {"id": "size", "check": "length", "column": "a", "min": 1, "on_null": "fail"},
    {"id": "key", "check": "not_null", "column": r"m.it's \ key"},
    {"id": "note", "check": "compare", "column": "s", "operator": "=", "other": {"value": "it's \\ 42 ${x}"}},
    custom("sql", "left(s, 2) = 'it' and size(a) >= 0"),
]


@pytest.mark.parametrize(
    "conf",
    [
        {},
        {"spark.sql.caseSensitive": "true"},
        {"spark.sql.ansi.doubleQuotedIdentifiers": "true", "spark.sql.ansi.enforceReservedKeywords": "true"},
        {"spark.sql.session.timeZone": "America/Los_Angeles", "spark.sql.legacy.sizeOfNull": "true"},
        {"spark.sql.ansi.enabled": "false"},
        {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"},
        {"spark.sql.optimizer.maxIterations": "1"},
    ],
    ids=lambda conf: ",".join(conf) or "plain",
)
def test_any_session_will_do(spark: SparkSession, conf: dict[str, str]) -> None:
    session = spark.newSession()
    for key, value in conf.items():
        session.conf.set(key, value)
    good, moment = "it's \\ 42 ${x}", datetime(2024, 1, 1, 12, tzinfo=UTC)
    key = {"it's \\ key": 1}
    rows = [
        (1, good, moment, [1], key),
        (2, "it's \\ 42", moment + timedelta(microseconds=1), [], {}),
        (3, None, None, None, None),
    ]
    frame = session.createDataFrame(rows, "id INT, s STRING, t TIMESTAMP, a ARRAY<INT>, m MAP<STRING, INT>")
    every = [(rule["id"], rule.get("column"), "FAIL") for rule in EVERYTHING]
    assert failures(frame, suite_of(*EVERYTHING)) == {
        1: None,
        2: [f for f in every if f[0] not in ("sql",)],
        3: [f for f in every if f[0] in ("size", "key", "sql")],
    }


def test_without_ansi_what_would_throw_is_undecided(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "false")
    rules = [
        custom("strict", "cast(s as int) > 0"),
        custom("lenient", "10 / cast(s as int) > 0", on_null="pass"),
        {"id": "range", "check": "range", "column": "s", "max": 5},
    ]
    frame = session.createDataFrame([("1",), ("abc",), ("0",), (None,)], "s STRING")
    assert failures(frame, suite_of(*rules), key="s") == {
        "1": None,
        "abc": [("strict", None, "FAIL")],
        "0": [("strict", None, "FAIL")],
        None: [("strict", None, "FAIL")],
    }


# --- streams --------------------------------------------------------------------------------------------------


@pytest.fixture
def landing(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> DataFrame:
    """A stream over two files."""
    for part in ("id <= 2", "id > 2"):
        frame.where(part).write.mode("append").json(str(tmp_path / "landing"))
    reader = spark.readStream.schema(frame.schema).option("maxFilesPerTrigger", "1")
    return reader.json(str(tmp_path / "landing"))


def test_a_stream_is_split(spark: SparkSession, landing: DataFrame, tmp_path: Path) -> None:
    lookup = {"table": "ref.currencies", "column": "code"}
    rule = {"id": "known", "check": "referential_integrity", "column": "currency", "reference": lookup}
    currencies = spark.sql("SELECT 'AED' AS code")
    started = datetime.now(UTC).replace(tzinfo=None)
    clean, quarantined = lz.split(
        landing, suite_of(PRESENT, SMALL, NUMBER, rule), references={"ref.currencies": currencies}
    )
    assert clean.isStreaming
    assert quarantined.isStreaming
    for name, output in (("clean", clean), ("quarantined", quarantined)):
        writer = output.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / f"{name}.ckpt"))
        writer.trigger(availableNow=True).start(str(tmp_path / name)).awaitTermination()
    assert sorted(row.id for row in spark.read.parquet(str(tmp_path / "clean")).collect()) == [1, 5]
    kept = {row.id: row for row in spark.read.parquet(str(tmp_path / "quarantined")).collect()}
    assert {key: [f.rule_id for f in row.dq_failed_rules] for key, row in kept.items()} == {
        2: ["present"],
        3: ["small", "number"],
        4: ["known"],
    }
    assert all(row.dq_failure_timestamp >= started for row in kept.values())
    # A stream lives for days: its clock is that of each batch, not of the moment it was planned.
    assert "current_timestamp" in str(quarantined._jdf.queryExecution().analyzed().toString())


def test_a_stream_in_batches(spark: SparkSession, landing: DataFrame, tmp_path: Path) -> None:
    seen: list[tuple[int, list[int], list[int]]] = []

    def take(batch: DataFrame, number: int) -> None:
        clean, quarantined = lz.split(batch, SUITE, run_id=f"batch-{number}")
        seen.append((number, sorted(r.id for r in clean.collect()), sorted(r.id for r in quarantined.collect())))

    query = (
        landing.writeStream.foreachBatch(take)
        .option("checkpointLocation", str(tmp_path / "ckpt"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert [number for number, _, _ in seen] == [0, 1]
    assert sorted(i for _, clean, _ in seen for i in clean) == [1, 4, 5]
    assert sorted(i for _, _, kept in seen for i in kept) == [2, 3]


# --- references -----------------------------------------------------------------------------------------------


def lookup(rule_id: str, columns: str | list[str], reference: dict[str, Any], **keys: Any) -> dict[str, Any]:
    named = {"column": columns} if isinstance(columns, str) else {"columns": columns}
    return {"id": rule_id, "check": "referential_integrity", "reference": reference} | named | keys


def test_keys_of_other_types(spark: SparkSession) -> None:
    rows = [
        (1, "7", 7.0, 7, "7"),
        (2, "seven", 7.5, 70, "７"),
        (3, "7.0", float("nan"), None, "07"),
        (4, None, None, 7, None),
    ]
    frame = spark.createDataFrame(rows, "id INT, s STRING, d DOUBLE, n BIGINT, t STRING")
    keys = spark.createDataFrame([(7, "7", 7.0), (None, None, None)], "i INT, s STRING, d DOUBLE")
    rules = [
        lookup("text_in_int", "s", {"table": "k", "column": "i"}),
        lookup("double_in_int", "d", {"table": "k", "column": "i"}),
        lookup("long_in_text", "n", {"table": "k", "column": "s"}),
        lookup("text_in_text", "t", {"table": "k", "column": "s"}),
        lookup("double_in_double", "d", {"table": "k", "column": "d"}),
    ]
    found = failures(frame, suite_of(*rules), references={"k": keys})
    assert {key: [f[0] for f in listed or []] for key, listed in found.items()} == {
        1: [],
        2: ["text_in_int", "double_in_int", "long_in_text", "text_in_text", "double_in_double"],
        3: ["text_in_int", "double_in_int", "text_in_text", "double_in_double"],
        4: [],
    }


def test_keys_that_are_null(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, 1, "a"), (2, 1, None), (3, None, None), (4, 9, "a")], "id INT, x INT, y STRING")
    keys = spark.createDataFrame([(1, "a"), (1, "a"), (1, None), (None, None)], "x INT, y STRING")
    rules = [
        lookup("passes", ["x", "y"], {"table": "k"}),
        lookup("fails", ["x", "y"], {"table": "k"}, on_null="fail"),
        lookup("swapped", ["y", "x"], {"table": "k", "columns": ["y", "x"]}),
    ]
    both, all_three = ["fails"], ["passes", "fails", "swapped"]
    found = failures(frame, suite_of(*rules), references={"k": keys})
    assert {key: [f[0] for f in listed or []] for key, listed in found.items()} == {
        1: [],
        2: both,
        3: both,
        4: all_three,
    }


def test_a_reference_in_the_catalog_and_by_path(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS ref_data")
    spark.range(3).write.mode("overwrite").saveAsTable("ref_data.known_ids")
    spark.range(2).write.format("delta").save(str(tmp_path / "delta"))
    spark.range(1).write.option("header", True).csv(str(tmp_path / "csv"))
    rules = [
        lookup("by_name", "id", {"table": "ref_data.known_ids"}),
        lookup("by_path", "id", {"path": str(tmp_path / "delta")}),
        lookup("by_format", "id", {"path": str(tmp_path / "csv"), "format": "csv", "options": {"header": "true"}}),
    ]
    found = failures(spark.range(4), suite_of(*rules))
    assert {key: len(listed or []) for key, listed in found.items()} == {0: 0, 1: 1, 2: 2, 3: 3}


@pytest.mark.parametrize(
    ("keys", "join"),
    [
        ({}, "BroadcastHashJoin"),
        ({"broadcast_below": "1KB"}, "ShuffledHashJoin"),
        ({"broadcast_below": "1GB"}, "BroadcastHashJoin"),
    ],
)
def test_small_references_are_broadcast(spark: SparkSession, tmp_path: Path, keys: dict[str, Any], join: str) -> None:
    spark.range(1000).write.format("delta").save(str(tmp_path / "ref"))  # some 5 KB
    rule = lookup("known", "id", {"path": str(tmp_path / "ref")}, **keys)
    clean, _ = lz.split(spark.range(10), suite_of(rule))
    assert join in str(clean._jdf.queryExecution().executedPlan().toString())
    assert clean.count() == 10


def test_rules_that_share_a_reference_share_the_join(spark: SparkSession) -> None:
    rules = [
        lookup("one", "id", {"table": "k"}),
        lookup("two", "id", {"table": "k"}, on_null="fail", severity="high"),
        lookup("three", "id", {"table": "k", "where": "id > 0"}),
    ]
    clean, _ = lz.split(spark.range(3), suite_of(*rules), references={"k": spark.range(3)})
    assert optimised(clean).count("Join LeftOuter") == 2


def test_a_frame_can_be_its_own_reference(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, None), (2, 1), (3, 9)], "id INT, parent INT")
    rule = lookup("parent_known", "parent", {"table": "self", "column": "id"})
    found = failures(frame, suite_of(rule), references={"self": frame})
    assert found == {1: None, 2: None, 3: [("parent_known", "parent", "FAIL")]}
