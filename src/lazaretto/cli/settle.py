"""`lazaretto settle` and `lazaretto rebuild-store`: write what a crash or the loss of the store left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lazaretto.cli.bench import workbench
from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, print_json

if TYPE_CHECKING:
    from lazaretto.pipeline.settle import Settled


def settle(
    asset: Annotated[str | None, typer.Argument(help="One asset; else all of the project.")] = None,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Finish what crashed runs left open, and write confirmations and copies of the evidence that are missing.

    Exit 1 if something could not be settled.
    """
    from lazaretto.config.suites import load_suites
    from lazaretto.pipeline.assets import assets
    from lazaretto.pipeline.forward import finish_records
    from lazaretto.pipeline.settle import settle as write_what_is_missing

    with workbench("settle", project, env) as (bench, home):
        done = write_what_is_missing(bench, assets(bench, home, env, asset))
        stuck: list[str] = []
        reviewed, recycled = finish_records(bench, load_suites(None, env, home).suites, env, stuck)
        told = [*reviewed, *([f"finished {recycled} open batches of the outbox"] if recycled else []), *stuck]
    if output is Output.json:
        print_json([each.to_dict() for each in done])
    else:
        _show(done)
    for line in told:
        typer.echo(line, err=True)
    if stuck:
        raise typer.Exit(1)
    raise typer.Exit(1 if any(each.left for each in done) else 0)


def rebuild_store(env: EnvOption = None, project: ProjectOption = None, output: OutputOption = Output.text) -> None:
    """Restore a lost or outdated control store from the lake, and say what cannot be brought back.

    Evidence comes back record for record, so that `lazaretto verify` proves it. Move a damaged store away first.
    """
    from lazaretto.pipeline.assets import assets
    from lazaretto.pipeline.settle import CANNOT_COME_BACK
    from lazaretto.pipeline.settle import settle as write_what_is_missing

    with workbench("rebuild-store", project, env) as (bench, home):
        done = write_what_is_missing(bench, assets(bench, home, env))
    if output is Output.json:
        print_json({"assets": [each.to_dict() for each in done], "cannot_come_back": list(CANNOT_COME_BACK)})
    else:
        _show(done)
        typer.echo("The lake does not keep, so this cannot come back:")
        for line in CANNOT_COME_BACK:
            typer.echo(f"  {line}")
    raise typer.Exit(1 if any(each.left for each in done) else 0)


def _show(done: list[Settled]) -> None:
    for each in done:
        if each.nothing:
            typer.echo(f"{each.asset}: nothing to settle")
            continue
        typer.echo(
            f"{each.asset}: {each.restored} evidence records restored, {len(each.finished)} batches finished, "
            f"{len(each.ended)} held batches ended, {len(each.confirmed)} confirmations written, "
            f"{each.copied} records copied to the lake"
        )
        for line in each.left:
            typer.echo(f"  not settled: {line}")
