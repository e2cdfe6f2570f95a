"""`lazaretto demo`: a day of a small bank, split into clean and quarantined rows."""

from __future__ import annotations

import shutil
import tempfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from rich.console import Console


def demo(
    rows: Annotated[int, typer.Option(help="How many transactions.", min=1)] = 100_000,
    keep: Annotated[Path | None, typer.Option(help="Write the demo project to this folder and keep it.")] = None,
) -> None:
    """Generate a day of banking data with known faults, and show what a suite makes of it."""
    from rich.console import Console

    from lazaretto.config.suites import load_suite
    from lazaretto.demo import bank
    from lazaretto.engine.split import split
    from lazaretto.spark import session

    console = Console(highlight=False)
    with tempfile.TemporaryDirectory(prefix="lazaretto-demo-") as scratch:
        project = keep or Path(scratch) / "demo-bank"
        with resources.as_file(resources.files("lazaretto.demo") / "project") as template:
            shutil.copytree(template, project, dirs_exist_ok=True)
        suite = load_suite(project / "suites" / "transactions.yml", env="dev")
        console.print(f"[bold]{suite.suite}[/] {suite.version}: {len(suite.rules)} rules guard [bold]{suite.asset}[/]")
        with console.status("starting Spark"):
            spark = session(app_name="lazaretto-demo", warehouse=project / "warehouse")
        with console.status(f"generating {rows:,} transactions and judging every one of them"):
            frame = bank.transactions(spark, rows)
            clean, quarantined = split(frame, suite, references={"ref.accounts": bank.accounts(spark)})
            bad = quarantined.cache()
            held = bad.count()
            passed = clean.count()
        console.print(f"\n{rows:,} rows in = {passed:,} clean + {held:,} quarantined\n")
        _show_reasons(console, bad)
        _show_some_rows(console, bad)
        spark.stop()
        if keep:
            console.print(f"\nThe project is in {keep}: try  lazaretto explain {keep}/suites/transactions.yml")
        else:
            console.print("\nTry next:  lazaretto init my-project   and   lazaretto checks iban")


def _show_reasons(console: Console, bad: DataFrame) -> None:
    from pyspark.sql import functions as F
    from rich.table import Table

    reasons = bad.select(F.explode("dq_failed_rules").alias("r")).select("r.*")
    counted = reasons.groupBy("rule_id", "column_name", "severity", "status").count()
    table = Table(title="Why rows were quarantined", title_justify="left", title_style="bold")
    for heading in ("rule", "column", "severity", "status"):
        table.add_column(heading)
    table.add_column("rows", justify="right")
    for row in counted.orderBy(F.desc("count"), "rule_id").collect():
        table.add_row(row.rule_id, row.column_name or "", row.severity, row.status, f"{row['count']:,}")
    console.print(table)


def _show_some_rows(console: Console, bad: DataFrame) -> None:
    from pyspark.sql import functions as F
    from rich.table import Table

    several = bad.orderBy(F.desc(F.size("dq_failed_rules")), "txn_id").limit(3)
    table = Table(title="A look into the quarantine", title_justify="left", title_style="bold")
    for heading in ("transaction", "severity", "reasons"):
        table.add_column(heading)
    for row in several.collect():
        table.add_row(row.txn_id, row.dq_severity, "\n".join(failed.message for failed in row.dq_failed_rules))
    console.print(table)
