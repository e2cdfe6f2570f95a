"""`lazaretto retention` and `lazaretto vacuum`: the quarantine's tables kept small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, print_json

if TYPE_CHECKING:
    from lazaretto.pipeline.retention import Retained


def retention(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go to the archive.")] = False,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Move closed records that nobody touched for long to the archive; then tidy up the quarantine's tables.

    `retention:` of lazaretto.yml says how long; records on legal hold stay. Files are not tidied up while a batch is
    open (exit 1); the archive is complete then all the same.
    """
    from lazaretto.cli.quarantine.desk import desk
    from lazaretto.pipeline.retention import plan, retain
    from lazaretto.pipeline.upkeep import upkeep

    with desk("retention", project, env) as here:
        bench, home = here.bench, here.project
        found = plan(bench, home.retention) if dry_run else retain(bench, home.retention, here.who)
        if output is Output.json:
            print_json(found.to_dict())
        else:
            _print(found, dry_run=dry_run)
        if not dry_run:
            upkeep(bench, home, env)


def vacuum(env: EnvOption = None, project: ProjectOption = None) -> None:
    """OPTIMIZE and VACUUM the quarantine's tables. Refused while a batch is open: its rejects are not in them yet."""
    from lazaretto.cli.quarantine.desk import desk
    from lazaretto.pipeline.upkeep import upkeep

    with desk("vacuum", project, env) as here:
        done = upkeep(here.bench, here.project, env)
    typer.echo(f"tidied up {', '.join(done)}" if done else "there is no table yet")


def _print(found: Retained, *, dry_run: bool) -> None:
    verb = "would go" if dry_run else "went"
    for asset, by_status in sorted(found.moved.items()):
        counts = ", ".join(f"{n:,} {status}" for status, n in sorted(by_status.items()))
        typer.echo(f"{asset}: {counts}")
    typer.echo(f"{found.count:,} records {verb} to the archive" if found.count else "no record is old enough")
    if found.held:
        typer.echo(f"{found.held:,} records stay: they are on legal hold")
