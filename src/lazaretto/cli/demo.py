"""`lazaretto demo`: a day of a small bank, from the sources to the proof."""

from __future__ import annotations

import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

    from lazaretto.model.run import RunResult

ACCOUNTS, CUSTOMERS_PER_TRANSACTION = 2_000, 0.05
TOLERATED = "the payments screen will refuse card numbers from December on; until then such rows are set aside"


def demo(
    rows: Annotated[int, typer.Option(help="How many transactions.", min=200)] = 100_000,
    keep: Annotated[Path | None, typer.Option(help="Make the demo project in this folder and keep it.")] = None,
) -> None:
    """Run two suites over a generated day of a bank: decisions, quarantine, a batch held back, and the proof."""
    from rich.console import Console

    if keep is not None and (keep / "lake").exists():
        raise typer.BadParameter(f"{keep} holds a demo already: remove it, or name another", param_hint="--keep")
    with tempfile.TemporaryDirectory(prefix="lazaretto-demo-") as scratch:
        console = Console(highlight=False)
        console.width = min(console.width, 100)  # longer lines are hard to read
        _play(console, keep or Path(scratch) / "demo-bank", rows, kept=keep is not None)


def _play(console: Console, project: Path, rows: int, *, kept: bool) -> None:
    import lazaretto as lz
    from lazaretto.cli import demo_scenes as scenes
    from lazaretto.cli.bench import workbench
    from lazaretto.cli.progress import ShownClock
    from lazaretto.pipeline.assets import assets
    from lazaretto.pipeline.verify import verify

    began = perf_counter()
    with resources.as_file(resources.files("lazaretto.demo") / "project") as template:
        shutil.copytree(template, project, dirs_exist_ok=True)
    suites = [lz.load_suite(project / "suites" / f"{name}.yml") for name in ("transactions", "customers")]
    scenes.opening(console, rows, _customers(rows), ACCOUNTS)
    with ShownClock.starting(quiet=False, console=console) as clock:
        results: list[RunResult] = []
        with workbench("demo", project, None) as (bench, home):
            if clock.status is not None:
                clock.status.update(f"the sources deliver {rows:,} transactions")
            _deliver(bench.spark, project, rows)
            _except(project)
            for suite in suites:
                clock.begin(suite.suite)
                results.append(lz.run(suite, bench.spark, project=home, clock=clock))
                scenes.decision(console, len(results), suite, results[-1])
            if clock.status is not None:
                clock.status.update("looking into the quarantine, and proving it all")
            scenes.quarantine(console, bench.spark, project)
            scenes.proof(console, verify(bench, assets(bench, home, None)))
    scenes.ending(console, project if kept else None, results, perf_counter() - began)


def _customers(rows: int) -> int:
    return max(100, int(rows * CUSTOMERS_PER_TRANSACTION))


def _deliver(spark: SparkSession, project: Path, rows: int) -> None:
    """What the source systems left in the lake overnight."""
    from lazaretto.demo import bank

    frames = {
        "bronze/transactions": bank.transactions(spark, rows),
        "bronze/customers": bank.customers(spark, _customers(rows)),
        "ref/accounts": bank.accounts(spark, ACCOUNTS),
    }
    for table, frame in frames.items():
        frame.write.format("delta").save(str(project.absolute() / "lake" / table))


def _except(project: Path) -> None:
    """Two people have put an exception on record: without it one card number would close the asset."""
    from lazaretto.config.project import load_project
    from lazaretto.model.results import Approval
    from lazaretto.pipeline.control import open_project_store

    until = datetime.now(UTC) + timedelta(days=30)
    given = Approval(approver="maria", rules=("no_card_numbers",), reason=TOLERATED, expires_at=until)
    with open_project_store(load_project(project), None) as store:
        store.record_approval(given, "silver.transactions", requested_by="omar")
