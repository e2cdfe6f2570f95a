"""The views have the names and columns people know, and the statements they know run as they are."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from lazaretto.quarantine.append import append
from lazaretto.quarantine.payload import key_sql
from lazaretto.quarantine.sql import Outcome, one_sentence, run_sql
from lazaretto.quarantine.statement import Names, SqlError
from lazaretto.quarantine.views import UNIVERSAL_COLUMNS, dataset_view, register_views
from quarantine.staged import stage

# The statements of the operations guide, as printed.
ALL_ROWS = """SELECT
    _dlq_sk,
    _dlq_source_table,
    _dlq_status,
    _dlq_timestamp,
    _dlq_failed_rules,
    _row_data
FROM catalog.schema.universal_dlq
WHERE _dlq_source_table = 'catalog.schema.orders'
  AND _dlq_status = 'quarantined'
ORDER BY _dlq_timestamp DESC;"""
FAILED_RULES = """SELECT
    _dlq_sk,
    rule.name AS rule_name,
    rule.rule AS rule_expression,
    _dlq_timestamp
FROM catalog.schema.universal_dlq
LATERAL VIEW EXPLODE(_dlq_failed_rules) AS rule
WHERE _dlq_source_table = 'catalog.schema.orders'
  AND _dlq_status = 'quarantined';"""
ROW_DATA = """SELECT
    _dlq_sk,
    _row_data:order_id::INT AS order_id,
    _row_data:customer_id::STRING AS customer_id,
    _row_data:order_amount::DOUBLE AS order_amount,
    _dlq_failed_rules
FROM catalog.schema.universal_dlq
WHERE _dlq_source_table = 'catalog.schema.orders'
  AND _dlq_status = 'quarantined';"""
FIX = """UPDATE catalog.schema.universal_dlq
SET _dlq_status = 'fixed'
WHERE _dlq_sk = '<surrogate_key_value>'
  AND _dlq_status = 'quarantined';"""

ORDERS = "SELECT 7 AS order_id, 'C1' AS customer_id, -1.5D AS order_amount UNION ALL SELECT 8, NULL, -2D"


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two records of one dataset, for tests that change nothing."""
    folder = tmp_path_factory.mktemp("made")
    seal = stage(spark, folder / "target", spark.sql(ORDERS), asset="catalog.schema.orders")
    append(spark, seal, str(folder / "records"))
    return folder / "records"


@pytest.fixture
def records(made: Path, tmp_path: Path) -> str:
    """The same for tests that do: a Delta table is a folder and can be copied."""
    shutil.copytree(made, tmp_path / "records")
    return str(tmp_path / "records")


@pytest.fixture
def run(spark: SparkSession, records: str) -> Callable[[str], Outcome]:
    return lambda statement: run_sql(spark, statement, records, user="ann")


def rows(outcome: Outcome | DataFrame | None) -> list[Row]:
    frame = outcome.frame if isinstance(outcome, Outcome) else outcome
    assert frame is not None
    return frame.collect()


def test_the_statements_of_the_guide_run_as_printed(run: Callable[[str], Outcome]) -> None:
    found = rows(run(ALL_ROWS))
    assert len(found) == 2
    assert found[0]._dlq_failed_rules == [Row(name="positive_amount", rule="amount >= 0")]  # warnings apart
    exploded = rows(run(FAILED_RULES))
    assert {(row.rule_name, row.rule_expression) for row in exploded} == {("positive_amount", "amount >= 0")}
    extracted = rows(run(ROW_DATA))
    assert sorted((r.order_id, r.customer_id, r.order_amount) for r in extracted) == [
        (7, "C1", -1.5),
        (8, None, -2.0),
    ]
    [key, other] = sorted(row._dlq_sk for row in found)
    assert run(FIX.replace("<surrogate_key_value>", key)).affected == 1
    assert run(FIX.replace("<surrogate_key_value>", key)).affected == 0  # it is no longer quarantined
    assert [row._dlq_sk for row in rows(run(ALL_ROWS))] == [other]
    [fixed] = rows(run(f"SELECT status, updated_by, updated_at FROM inbox WHERE record_id = '{key}'"))
    assert (fixed.status, fixed.updated_by) == ("CORRECTED", "ann")
    assert fixed.updated_at is not None
    [word] = rows(run(f"SELECT _dlq_status FROM universal_dlq WHERE _dlq_sk = '{key}'"))
    assert word[0] == "fixed"


def test_every_status_reads_as_the_design_says(spark: SparkSession) -> None:
    found = spark.sql(
        f"SELECT {UNIVERSAL_COLUMNS['_dlq_status']} FROM VALUES ('QUARANTINED'), ('UNDER_REVIEW'), "
        "('CORRECTED'), ('RESUBMITTED'), ('RECOVERED'), ('REJECTED'), ('ARCHIVED') AS t(status)"
    ).collect()
    assert [row[0] for row in found] == [
        "quarantined",
        "quarantined",
        "fixed",
        "fixed",
        "recovered",
        "rejected",
        "archived",
    ]


def test_a_row_written_over_becomes_a_correction(run: Callable[[str], Outcome]) -> None:
    changed = run(
        "UPDATE a.b.universal_dlq AS d SET d._row_data = parse_json('{\"order_amount\": 3.5}'), "
        "_dlq_status = concat('fi', 'xed') WHERE d._row_data:order_id::int IN (SELECT 7) -- one of them"
    )
    assert changed.affected == 1
    [row] = rows(run("SELECT to_json(_row_data) AS r FROM universal_dlq WHERE _dlq_status = 'fixed'"))
    assert json.loads(row.r) == {"order_id": 7, "customer_id": "C1", "order_amount": 3.5}
    [row] = rows(
        run("SELECT to_json(payload) p, to_json(correction) c, corrected_at FROM inbox WHERE status = 'CORRECTED'")
    )
    assert json.loads(row.p)["order_amount"] == -1.5
    assert json.loads(row.c) == {"order_amount": 3.5}
    assert row.corrected_at is not None
    [row] = rows(run("SELECT order_amount, dq_status FROM quarantine_schema_orders WHERE order_id = 7"))
    assert tuple(row) == (3.5, "CORRECTED")


def test_inbox_takes_the_words_of_the_table(run: Callable[[str], Outcome]) -> None:
    changed = run("UPDATE quarantine.inbox SET status = 'rejected', reject_reason_code = 'duplicate'")
    assert changed.affected == 2
    found = rows(run("SELECT status, reject_reason_code FROM quarantine.records"))
    assert {tuple(row) for row in found} == {("REJECTED", "duplicate")}
    assert run("UPDATE dead_letter SET status = 'REJECTED'").affected == 0
    assert run("DELETE FROM inbox WHERE payload:order_id::int = 8").affected == 1
    assert run("DELETE FROM universal_dlq").affected == 1


def test_rows_inserted_by_hand(run: Callable[[str], Outcome]) -> None:
    statement = (
        "INSERT INTO x.y.universal_dlq "
        "(_dlq_sk, _dlq_source_table, _dlq_status, _dlq_failed_rules, _row_data) VALUES "
        "('k1', 'silver.orders', 'fixed', array(named_struct('name', 'n', 'rule', 'r > 0')), "
        "parse_json('{\"id\": 5}'))"
    )
    assert run(statement).affected == 1
    assert run(statement).affected == 0  # the same key again is the same record
    [row] = rows(run("SELECT * FROM inbox WHERE record_id = 'k1'"))
    assert (row.status, row.asset, row.source_position, row.updated_by) == (
        "CORRECTED",
        "silver.orders",
        "by hand",
        "ann",
    )
    assert (row.failures[0].rule_id, row.failures[0].expression) == ("n", "r > 0")
    copied = "uuid(), _dlq_source_table, 'quarantined', now(), NULL, NULL, _row_data"
    assert run(f"INSERT INTO universal_dlq SELECT {copied} FROM universal_dlq").affected == 3


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        (
            "UPDATE universal_dlq SET _dlq_status = 'fixt'",
            "there is no status 'fixt'; known are quarantined, fixed",
        ),
        ("UPDATE universal_dlq SET _dlq_sk = 'x'", "_dlq_sk of universal_dlq cannot be set"),
        ("UPDATE universal_dlq SET _row_data = '{\"a\": 1}'", "a row is an object: write parse_json"),
        ("UPDATE universal_dlq SET _dlq_status = lower('NO')", "there is no status no"),
        ("UPDATE quarantine_schema_orders SET x = 1", "is for reading"),
        ("DELETE FROM a.b.universal_dlq_outbox", "is a ledger"),
        ("INSERT INTO universal_dlq (_dlq_sk) VALUES ('x')", "a new record needs _dlq_source_table"),
        ("INSERT INTO universal_dlq (nope) VALUES ('x')", "has no column nope"),
        ("INSERT OVERWRITE universal_dlq SELECT 1", "is not overwritten"),
        ("MERGE INTO universal_dlq USING x ON true WHEN MATCHED THEN DELETE", "MERGE is not translated"),
        ("SELECT 1; SELECT 2", "one statement at a time"),
        ("SELECT nope FROM inbox", "nope"),
        ("SELEC 1", "Syntax error"),
        ("SELECT 1/0", "Division by zero"),
        ("  ;", "no statement"),
    ],
)
def test_mistakes_are_told_in_one_sentence(spark: SparkSession, made: Path, statement: str, sentence: str) -> None:
    def run() -> None:
        with one_sentence():
            outcome = run_sql(spark, statement, str(made), user="ann")
            if outcome.frame is not None:
                outcome.frame.collect()

    with pytest.raises(SqlError) as told:
        run()
    assert sentence in str(told.value)
    assert "\n" not in str(told.value)
    assert "SQLSTATE" not in str(told.value)
    assert len(str(told.value)) < 300


def test_views_of_tables_that_do_not_exist_are_empty(spark: SparkSession, tmp_path: Path) -> None:
    def run(statement: str) -> Outcome:
        return run_sql(spark, statement, str(tmp_path / "none"), user="ann", outbox_path=str(tmp_path / "no"))

    assert rows(run(ALL_ROWS)) == []
    assert rows(run(FAILED_RULES)) == []
    outbox = run("SELECT * FROM catalog.schema.universal_dlq_outbox").frame
    assert outbox is not None
    assert outbox.dtypes == [
        ("_dlq_sk", "string"),
        ("_dlq_source_table", "string"),
        ("_row_data", "variant"),
        ("_dlq_recycled_at", "timestamp"),
    ]
    assert not (tmp_path / "none").exists()
    with pytest.raises(SqlError, match="nothing was ever quarantined"):
        run(FIX)


def test_the_columns_of_the_universal_view_and_of_the_results(spark: SparkSession, made: Path) -> None:
    names = register_views(spark, str(made))
    assert names == (
        "quarantine_records",
        "inbox",
        "dead_letter",
        "universal_dlq",
        "universal_dlq_outbox",
        "quarantine_schema_orders",
    )
    assert spark.table("universal_dlq").dtypes == [
        ("_dlq_sk", "string"),
        ("_dlq_source_table", "string"),
        ("_dlq_status", "string"),
        ("_dlq_timestamp", "timestamp"),
        ("_dlq_failed_rules", "array<struct<name:string,rule:string>>"),
        ("_dlq_rescued_data", "string"),
        ("_row_data", "variant"),
    ]
    row = spark.table("inbox").first()
    assert row is not None
    [error], [warning] = row._errors, row._warnings
    assert list(error.asDict()) == [
        "name",
        "message",
        "columns",
        "filter",
        "function",
        "run_time",
        "run_id",
        "user_metadata",
        "rule_fingerprint",
        "rule_set_fingerprint",
    ]
    assert (error.name, error.function, error.user_metadata) == (
        "positive_amount",
        "range",
        {"team": "payments"},
    )
    assert (warning.name, warning.filter) == ("odd", "id > 0")


def test_a_dataset_has_its_columns_back_and_what_was_wrong(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "records")
    first = "SELECT 1 AS id, DATE'2020-01-01' AS `Día del año`, 1.50BD AS amount, 'x' AS dq_status, map(1, 2) AS m"
    later = "SELECT 2 AS id, 'new' AS extra"
    for name, rows_sql, policy in (("a", first, "inline"), ("b", later, "inline"), ("c", later, "encrypted")):
        seal = stage(
            spark,
            tmp_path / "target",
            spark.sql(rows_sql),
            name=name,
            asset="silver.order-lines",
            policy=policy,
            key=key_sql("k"),
        )
        append(spark, seal, path)
    assert dataset_view("silver.order-lines") == "quarantine_silver_order_lines"
    register_views(spark, path)
    view = spark.table("quarantine_silver_order_lines")
    assert {name: kind for name, kind in view.dtypes if not name.startswith("dq_")} == {
        "id": "int",
        "Día del año": "date",
        "amount": "decimal(3,2)",
        "payload_dq_status": "string",
        "m": "map<int,int>",
        "extra": "string",
    }
    assert view.columns[-6:] == [
        "dq_run_id",
        "dq_failed_rules",
        "dq_failure_timestamp",
        "dq_source_table",
        "dq_severity",
        "dq_status",
    ]
    found: list[dict[str, Any]] = [row.asDict() for row in view.orderBy("id").collect()]
    assert [row["id"] for row in found] == [None, 1, 2]  # the encrypted one shows nothing
    assert found[1]["m"] == {1: 2}
    assert str(found[1]["amount"]) == "1.50"
    assert found[1]["dq_source_table"] == "bronze.orders"
    [rule] = found[1]["dq_failed_rules"]
    assert (rule.rule_id, rule.rule_type, rule.column_name, rule.expected_value, rule.actual_value) == (
        "positive_amount",
        "range",
        "amount",
        "at least 0",
        "-1",
    )


def test_tables_of_the_lake_are_read_by_name(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).write.format("delta").save(f"{tmp_path}/silver/orders")
    spark.range(4).write.format("delta").save(f"{tmp_path}/gold/orders")

    def path(schema: str, table: str) -> str | None:
        folder = tmp_path / schema / table
        return str(folder) if folder.exists() else None

    def run(statement: str) -> list[tuple[Any, ...]]:
        found = run_sql(spark, statement, str(tmp_path / "r"), user="ann", names=Names(table_path=path))
        return [tuple(row) for row in rows(found)]

    assert run("SELECT count(orders.id) FROM silver.orders WHERE silver.orders.id < 2") == [(2,)]
    assert run("SELECT (SELECT count(*) FROM gold.orders g), count(*) FROM silver.orders") == [(4, 3)]
    with pytest.raises(SqlError, match=r"silver\.orders is guarded"):
        run("DELETE FROM silver.orders")
