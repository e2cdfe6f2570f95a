"""`lazaretto export`: checks and summary metrics as Delta tables, for whoever reads with Spark."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from lazaretto.cli.bench import workbench
from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, print_json

if TYPE_CHECKING:
    from lazaretto.pipeline.export import Exported

export = typer.Typer(no_args_is_help=True, help="Checks and summary metrics as Delta tables.")

TableOption = Annotated[str | None, typer.Option("--table", help="schema.table; else the project's.")]


@export.callback()
def _export() -> None:
    """Checks and summary metrics as Delta tables."""


@export.command()
def checks(
    suites: Annotated[list[str] | None, typer.Argument(help="Names of suites; else all of the project.")] = None,
    table: TableOption = None,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Save suites in the checks table, a row per rule; a rule set that is there already stays as it is."""
    from lazaretto.config.suites import load_suites, suite_named
    from lazaretto.pipeline.export import checks_name, export_checks

    if suites:
        chosen = [suite_named(name, env, project) for name in suites]
    else:
        loaded = load_suites(None, env, project)
        loaded.raise_errors()
        chosen = list(loaded.suites)
    with workbench("export", project, env) as (bench, home):
        done = export_checks(bench, chosen, table or checks_name(home))
    _tell(done, "rules", "suite", output)


@export.command()
def metrics(
    asset: Annotated[str | None, typer.Argument(help="Only batches of this asset; else of all.")] = None,
    table: TableOption = None,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Write the summary metrics of every batch that is not in the table yet, a row per metric."""
    from lazaretto.pipeline.assets import assets
    from lazaretto.pipeline.export import export_metrics, metrics_name

    with workbench("export", project, env) as (bench, home):
        known = assets(bench, home, env, asset)
        done = export_metrics(bench, home, table or metrics_name(home), known, None)
    _tell(done, "metrics", "batch", output)


def _tell(done: Exported, what: str, of: str, output: Output) -> None:
    if output is Output.json:
        print_json(asdict(done))
    elif done.rows:
        many = f"{of}es" if of == "batch" else f"{of}s"
        typer.echo(f"{done.table}: {done.rows:,} {what} of {len(done.of):,} {of if len(done.of) == 1 else many} added")
    else:
        typer.echo(f"{done.table}: nothing new")
