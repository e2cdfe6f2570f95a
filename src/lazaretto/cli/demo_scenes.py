"""What the demo shows, scene by scene. Fits a terminal of 80 columns."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import lazaretto as lz
from lazaretto.model.words import CheckStatus

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

    from lazaretto.model.run import RunResult
    from lazaretto.model.suite import Suite
    from lazaretto.pipeline.proof import Proof

_LOOK = "SELECT txn_id, amount, currency, dq_severity FROM quarantine_silver_transactions LIMIT 5"
_STYLES = {"PUBLISHED_CERTIFIED": "green", "NOT_PUBLISHED": "red"}


def opening(console: Console, transactions: int, customers: int, accounts: int) -> None:
    """What came in overnight."""
    console.rule("[bold]A day of a small bank[/]", align="left")
    console.print(
        f"Overnight the core banking system delivered {transactions:,} transactions and the CRM {customers:,} "
        f"customers; {accounts:,} accounts are on file. Each feed has a suite of rules that guards its silver table, "
        "and nothing becomes readable before the gate has decided."
    )


def decision(console: Console, number: int, suite: Suite, result: RunResult) -> None:
    """One suite: what was found, what was decided, and what that means."""
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    rules = len(suite.active_rules)
    console.print()
    console.rule(f"[bold]{number}. {suite.suite} {suite.version}[/]: {rules} rules, one pass", align="left")
    table = Table(box=None, header_style="dim", pad_edge=False)
    for heading, justify in (("rule", "left"), ("severity", "left"), ("it asks for", "left"), ("rows", "right")):
        table.add_column(heading, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    found = [one for one in (result.decision.results if result.decision else ()) if one.status is not CheckStatus.PASS]
    for one in sorted(found, key=lambda one: -one.failed - one.errored):
        table.add_row(one.rule_id, one.severity.value, one.on_fail.value, f"{one.failed + one.errored:,}")
    console.print(table)
    counts, publication = result.counts, str(result.publication)
    style = _STYLES.get(publication, "yellow")
    parts = [(counts.accepted, "published"), (counts.quarantined, "quarantined"), (counts.held, "held")]
    where = " + ".join(f"{count:,} {what}" for count, what in parts if count)
    told = Text(f"{counts.input:,} rows in = {where}\n", style="bold")
    told.append(f"{result.action}: {result.decision.explanation if result.decision else ''}.\n", style="not bold")
    told.append(_meaning(result), style="not bold")
    title = f"[bold]{publication}[/] {result.asset}"
    console.print(Panel(told, title=title, title_align="left", border_style=style))


def _meaning(result: RunResult) -> str:
    if result.published_version is None:
        return (
            "So many at once are no slips: the feed is at fault. The whole batch is held as it came; readers see "
            "nothing of it, and somebody else than who ran it may release or discard it."
        )
    approvals = result.decision.approvals if result.decision else ()
    tolerated = "".join(
        f" Card numbers in a text would have closed the table to every further batch; but {one.approver} has put an "
        "exception on record, which expires and which somebody else had asked for: so it is published, as degraded, "
        "and without the rows in question."
        for one in approvals
    )
    return f"One commit made the sound rows readable, and copied none.{tolerated}"


def quarantine(console: Console, spark: SparkSession, project: Path) -> None:
    """The records with the most reasons, as a steward sees them."""
    from rich.table import Table
    from rich.text import Text

    console.print()
    console.rule("[bold]3. A look into the quarantine[/]", align="left")
    lz.register_views(spark, project)
    worst = spark.sql(
        "SELECT record_key, severity, transform(_errors, e -> e.message) AS reasons FROM inbox "
        "ORDER BY size(_errors) DESC, record_key LIMIT 3"
    ).collect()
    table = Table(box=None, header_style="dim", pad_edge=False)
    for heading in ("transaction", "severity", "every reason, not the first one only"):
        table.add_column(heading)
    for row in worst:
        table.add_row(Text(row.record_key or "(no id)"), row.severity, Text("\n".join(row.reasons)))
    console.print(table)


def proof(console: Console, proofs: Sequence[Proof]) -> None:
    """Conservation, from the tables themselves."""
    from rich.text import Text

    console.print()
    console.rule("[bold]4. The proof[/]: counted in the tables and their logs", align="left")
    for one in proofs:
        counts = one.totals
        word = ("proved", "green") if one.holds else ("DOES NOT ADD UP", "red")
        parts = [(counts.accepted, "published"), (counts.quarantined, "quarantined"), (counts.held, "held")]
        where = " + ".join(f"{count:,} {what}" for count, what in parts if count)
        console.print(Text.assemble(f"{one.asset} ", word, f": {counts.input:,} in = {where}"))
        for finding in one.findings:
            console.print(f"  {finding.kind}: {finding.problem}")
    records = sum(one.records for one in proofs)
    console.print(
        f"{records} evidence records attest it, each with the hash of the one before. Change a byte of them, or delete "
        "a quarantined row, and `lazaretto verify` names it."
    )


def ending(console: Console, project: Path | None, results: Sequence[RunResult], seconds: float) -> None:
    """What to do now."""
    console.print()
    console.rule(f"[bold]Try next[/] (this took {seconds:.0f} s, the start of Spark included)", align="left")
    command = _command()
    if project is None:
        lines = [
            (f"{command} demo --keep demo-bank", "the same, to play with"),
            (f"{command} init my-project", "a project of your own"),
        ]
    else:
        held = next((str(one.batch_id)[:8] for one in results if one.published_version is None), "")
        here = f"--project {_relative(project)}"
        lines = [
            (f"{command} status {here}", "what stands where"),
            (f"{command} decisions list {here}", "what was decided, and why: show, replay"),
            (f"{command} held show {held} {here}", "the batch that waits, to be released or discarded"),
            (f'{command} sql "{_LOOK}" {here}', "the quarantine, in SQL"),
            (f"{command} verify {here}", "the proof once more, after you tampered"),
        ]
    for line, why in lines:
        console.print(f"[dim]# {why}[/]\n{line}", soft_wrap=True)


def _command() -> str:
    """How this very command was called, for copying."""
    given = Path(sys.argv[0])
    found = shutil.which("lazaretto")
    if given.name != "lazaretto" or (found and Path(found).resolve() == given.resolve()):
        return "lazaretto"
    return _relative(given)


def _relative(path: Path) -> str:
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd())) if absolute.is_relative_to(Path.cwd()) else str(absolute)
