"""`lazaretto sql` prints a table, CSV or one JSON document, and says mistakes in a sentence."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
import typer
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from lazaretto.cli.sql import sql_command
from lazaretto.model.errors import LazarettoError
from lazaretto.quarantine.append import append
from quarantine.staged import stage

app = typer.Typer()
app.command()(sql_command)


@pytest.fixture(scope="module")
def project(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "lazaretto.yml").write_text("project: shop\nlake: ./lake\n")
    rows = spark.sql("SELECT 7 AS id, 1.50BD AS amount, X'00FF' AS raw, map(1, DATE'2020-01-01') AS m")
    append(spark, stage(spark, folder / "lake" / "silver" / "orders", rows), f"{folder}/lake/quarantine/records")
    spark.range(2).write.format("delta").save(f"{folder}/lake/ref/ids")
    return folder


def ask(project: Path, statement: str, output: str = "table") -> Result:
    return CliRunner().invoke(app, [statement, "--project", str(project), "--output", output])


def test_rows_as_json_csv_and_table(project: Path) -> None:
    statement = (
        "SELECT q.*, u._row_data, NULL AS nothing, 1 AS x, 2 AS x FROM quarantine_silver_orders q, universal_dlq u"
    )
    [row] = json.loads(ask(project, statement, "json").stdout)
    assert (row["id"], row["amount"], row["raw"], row["m"]) == (7, "1.50", "00ff", {"1": "2020-01-01"})
    assert row["_row_data"]["id"] == 7
    assert row["dq_failed_rules"][0]["rule_id"] == "positive_amount"
    assert (row["x"], row["x_2"], row["nothing"]) == (1, 2, None)

    [line] = csv.DictReader(
        io.StringIO(ask(project, "SELECT id, _row_data FROM ref.ids, universal_dlq WHERE id = 1", "csv").stdout)
    )
    assert line["id"] == "1"
    assert json.loads(line["_row_data"])["id"] == 7

    shown = ask(project, "SELECT count(*) AS n FROM inbox").stdout
    assert "n" in shown
    assert "1 row" in shown


def test_changes_are_counted(project: Path) -> None:
    statement = "UPDATE universal_dlq SET _dlq_status = 'quarantined'"
    assert ask(project, statement).stdout == "1 record changed\n"
    assert json.loads(ask(project, f"{statement} WHERE false", "json").stdout) == {"affected": 0}


@pytest.mark.parametrize("statement", ["SELECT nope FROM inbox", "SELECT raise_error('no')", "SELECT 1/0"])
def test_mistakes_are_errors_of_ours(project: Path, statement: str) -> None:
    result = ask(project, statement)
    assert isinstance(result.exception, LazarettoError)
    assert "\n" not in str(result.exception)
    assert result.stdout == ""
