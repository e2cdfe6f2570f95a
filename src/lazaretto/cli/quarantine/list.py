"""`lazaretto quarantine list`: records, a page at a time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, print_json
from lazaretto.cli.quarantine.desk import ArchivedOption, RevealOption, age, desk
from lazaretto.cli.quarantine.filters import filtered

if TYPE_CHECKING:
    from lazaretto.quarantine.wanted import Wanted


@filtered
def list_records(
    wanted: Wanted,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="Records of a page.")] = 50,
    after: Annotated[str | None, typer.Option("--after", help="Where the page before ended (`next`).")] = None,
    oldest_first: Annotated[bool, typer.Option("--oldest-first", help="Else the newest day comes first.")] = False,
    archived: ArchivedOption = False,
    reveal: RevealOption = False,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """List quarantined records, the newest day first; `show` has one in full, `summary` the counts."""
    with desk("list", project, env, reveal=reveal) as here:
        page = here.page(wanted, limit=limit, after=after, oldest_first=oldest_first, archived=archived)
    now = datetime.now(UTC)
    for record in page.records:
        record["age_seconds"] = round((now - record["quarantined_at"]).total_seconds())
    if output is Output.json:
        print_json({"records": list(page.records), "next": page.next})
        return
    if not page.records:
        typer.echo("no record matches" if wanted.condition() != "true" or wanted.where else "the quarantine is empty")
        return
    _print(page.records)
    if page.next:
        typer.echo(f"more with --after {page.next}")


def _print(records: tuple[dict[str, Any], ...]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("record", "dataset", "key", "severity", "status", "age", "rules"):
        table.add_column(heading, overflow="fold")
    for record in records:
        table.add_row(
            record["record_id"][:12],
            Text(record["asset"]),
            Text(record["record_key"] or ""),
            record["severity"] or "",
            record["status"] + ("" if record["place"] == "inbox" else " (dead letter)"),
            age(record["age_seconds"]),
            Text(", ".join(record["rules"] or ())),
        )
    Console(highlight=False).print(table)
