"""`lazaretto quarantine hold`: legal holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lazaretto.cli.bench import workbench
from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, print_json
from lazaretto.cli.quarantine.filters import filtered

if TYPE_CHECKING:
    from lazaretto.quarantine.wanted import Wanted

hold = typer.Typer(no_args_is_help=True, help="Legal holds: records that are neither archived nor erased.")

ReasonOption = Annotated[str, typer.Option("--reason", help="Why; it is put on record.")]


@hold.callback()
def _hold() -> None:
    """Legal holds: records that are neither archived nor erased."""


@hold.command()
@filtered
def add(
    wanted: Wanted,
    reason: ReasonOption,
    env: EnvOption = None,
    project: ProjectOption = None,
) -> None:
    """Hold all records that the filter names, those that come later too."""
    from lazaretto.pipeline.holds import add as put
    from lazaretto.pipeline.person import here

    with workbench("quarantine hold", project, env) as (bench, _):
        found = put(bench, wanted, reason, here())
    typer.echo(f"hold {found.hold_id} is in force")


@hold.command("list")
def list_holds(env: EnvOption = None, project: ProjectOption = None, output: OutputOption = Output.text) -> None:
    """List the holds in force, the oldest first."""
    from lazaretto.pipeline.holds import listing

    with workbench("quarantine hold", project, env) as (bench, _):
        found = listing(bench)
    if output is Output.json:
        print_json([each.model_dump(mode="json") for each in found])
        return
    for each in found:
        told = ", ".join(f"{name} {value}" for name, value in each.wanted.without_values().items())
        typer.echo(f"{each.hold_id}  {each.at:%Y-%m-%d}  {each.by}  {told}  {each.reason}")
    if not found:
        typer.echo("no hold is in force")


@hold.command()
def remove(
    hold_id: Annotated[str, typer.Argument(help="Id of the hold.")],
    reason: ReasonOption,
    env: EnvOption = None,
    project: ProjectOption = None,
) -> None:
    """Lift a hold; that it was there stays on record."""
    from lazaretto.pipeline.holds import remove as lift
    from lazaretto.pipeline.person import here

    with workbench("quarantine hold", project, env) as (bench, _):
        lift(bench, hold_id, reason, here())
    typer.echo(f"hold {hold_id} is lifted")
