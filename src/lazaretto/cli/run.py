"""`lazaretto run`: one batch of one or several suites, each with its own decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, find_suite, print_json

if TYPE_CHECKING:
    from lazaretto.model.run import RunResult


def run(
    suites: Annotated[list[str], typer.Argument(help="Names of suites of the project, or suite files.")],
    env: EnvOption = None,
    where: Annotated[str | None, typer.Option(help="SQL condition: take only these rows of the source.")] = None,
    partition: Annotated[list[str] | None, typer.Option(help="COLUMN=VALUE: take only this partition.")] = None,
    run_id: Annotated[str | None, typer.Option("--run-id", help="A label for this run.")] = None,
    as_of: Annotated[str | None, typer.Option("--as-of", help="Version or time of the source to take.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Take the same input again on purpose.")] = False,
    reprocess: Annotated[
        bool, typer.Option("--reprocess", help="Begin anew where source or target was dropped and made anew.")
    ] = False,
    metadata: Annotated[list[str] | None, typer.Option(help="KEY=VALUE to keep with the batch.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Judge and decide; write nothing that lasts.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 5 if the result is published but degraded or partial.")
    ] = False,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Take what is new in the source, inspect every row, publish what may be published, quarantine the rest.

    Exit 0: done. 3: the gate refused. 4: fail closed, waits for approval. 5 (--strict): degraded or partial.
    """
    from lazaretto.cli.progress import ShownClock
    from lazaretto.pipeline.api import run as run_suite
    from lazaretto.spark import session

    chosen = [find_suite(name, env, project) for name in suites]
    quiet = output is Output.json
    results: list[RunResult] = []
    with ShownClock.starting(quiet) as clock:
        spark = session(app_name="lazaretto run")
        for suite in chosen:
            clock.begin(suite.suite)
            results.append(
                run_suite(
                    suite,
                    spark,
                    env=env,
                    where=where,
                    partition=_pairs(partition, "--partition"),
                    run_id=run_id,
                    as_of=as_of,
                    again=again,
                    reprocess=reprocess,
                    metadata=_pairs(metadata, "--metadata"),
                    dry_run=dry_run,
                    strict=strict,
                    clock=clock,
                )
            )
    if quiet:
        documents = [result.to_dict() for result in results]
        print_json(documents[0] if len(documents) == 1 else documents)
    else:
        for result in results:
            _show(result)
    spark.stop()
    raise typer.Exit(max(result.exit_code for result in results))


def _pairs(given: list[str] | None, option: str) -> dict[str, str]:
    pairs = {}
    for pair in given or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{pair!r}: expected NAME=VALUE", param_hint=option)
        pairs[name] = value
    return pairs


def _show(result: RunResult) -> None:
    from rich.console import Console
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    word = result.action.value if result.action else result.outcome.replace("_", " ")
    style = {0: "green", 5: "yellow"}.get(result.exit_code, "red")
    if result.exit_code == 0 and result.publication and result.publication.value != "PUBLISHED_CERTIFIED":
        style = "yellow"
    console.print(
        Panel(
            Text(result.message),
            title=f"[bold]{word}[/] {result.asset}",
            border_style=style,
            title_align="left",
        )
    )
    if result.action is None:
        return
    counts = Table(box=None, pad_edge=False, show_header=False)
    for name, value in result.counts:
        counts.add_row(Text(name.replace("_", " "), style="dim"), Text(f"{value:,}", justify="right"))
    if result.corrected is not None:
        counts.add_row(Text("then corrected", style="dim"), Text(f"{result.corrected:,}", justify="right"))
    console.print(counts)
    took = ", ".join(f"{name} {seconds:.1f}" for name, seconds in result.seconds.items())
    console.print(Text(f"seconds: {took}", style="dim"))
