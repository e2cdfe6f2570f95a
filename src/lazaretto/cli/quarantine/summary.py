"""`lazaretto quarantine summary`: how much, what kind, how old."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, print_json
from lazaretto.cli.quarantine.desk import ArchivedOption, RevealOption, age, desk
from lazaretto.cli.quarantine.filters import filtered

if TYPE_CHECKING:
    from lazaretto.quarantine.summary import Summary
    from lazaretto.quarantine.wanted import Wanted


@filtered
def summary(
    wanted: Wanted,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Groups shown, the newest days first.")] = 50,
    archived: ArchivedOption = False,
    reveal: RevealOption = False,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Count records by source system, day and failure type; open ones by severity and age, and the oldest.

    A record that broke two rules is in two groups, and once in the totals.
    """
    with desk("summary", project, env, reveal=reveal) as here:
        found = here.summary(wanted, archived=archived)
    if output is Output.json:
        print_json(found.to_dict())
        return
    if not found.records:
        typer.echo("no record matches" if wanted.condition() != "true" or wanted.where else "the quarantine is empty")
        return
    _print(found, limit)


def _print(found: Summary, limit: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from lazaretto.quarantine.summary import AGES

    now, console = datetime.now(UTC), Console(highlight=False)
    counts = ", ".join(f"{n:,} {status}" for status, n in found.by_status.items())
    oldest = f"; the oldest open one is {age((now - found.oldest).total_seconds())} old" if found.oldest else ""
    console.print(Text(f"{found.records:,} records: {counts}{oldest}"))
    if found.by_severity_and_age:
        ages = Table(
            box=None, header_style="bold", pad_edge=False, title="open, by severity and age", title_justify="left"
        )
        names = [name for name, _ in AGES]
        for heading in ("severity", *names):
            ages.add_column(heading, justify="left" if heading == "severity" else "right")
        for severity, counted in found.by_severity_and_age.items():
            ages.add_row(severity, *(f"{counted[name]:,}" if name in counted else "" for name in names))
        console.print(ages)
    groups = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("source system", "day", "failure", "rule", "records", "oldest"):
        groups.add_column(heading, justify="right" if heading in ("records", "oldest") else "left")
    for group in found.groups[:limit]:
        oldest_of_it = age((now - group.oldest).total_seconds())
        cells = (Text(group.source_system or ""), f"{group.day}", Text(group.failure), Text(group.rule))
        groups.add_row(*cells, f"{group.records:,}", oldest_of_it)
    console.print(groups)
    if len(found.groups) > limit:
        console.print(f"and {len(found.groups) - limit:,} groups more: --limit, or --output json", style="dim")
