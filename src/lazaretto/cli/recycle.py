"""`lazaretto recycle`: corrected records back through the front door."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from lazaretto.cli.bench import workbench
from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, print_json
from lazaretto.cli.quarantine.choose import deed_of
from lazaretto.model.lifecycle import Step

if TYPE_CHECKING:
    from lazaretto.model.run import RunResult
    from lazaretto.model.suite import Suite
    from lazaretto.pipeline.bench import Bench


def recycle(
    dataset: Annotated[str | None, typer.Argument(help="Asset or suite; else all of the project.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Go on until interrupted.")] = False,
    every: Annotated[float, typer.Option("--every", help="With --watch: seconds between two looks.", min=1)] = 30.0,
    limit: Annotated[int | None, typer.Option("--limit", help="At most so many records in one batch.", min=1)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be sent and would pass.")] = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Take back what is not sent yet: QUARANTINED again, corrections kept.")
    ] = False,
    run_id: Annotated[str | None, typer.Option("--run-id", help="A label for this run.")] = None,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Send corrected records back through the front door, each batch like any other; what fails again comes back.

    Edits by SQL are taken up first. Exit 3 or 4: a batch was held; its records are in flight until it is released or
    discarded (lazaretto held).
    """
    from lazaretto.config.suites import load_suites
    from lazaretto.model.errors import ConfigError
    from lazaretto.pipeline.forward import finish_open
    from lazaretto.pipeline.recycle import rehearse

    code = 0
    with workbench("recycle", project, env) as (bench, home):
        suites = [s for s in load_suites(None, env, home).suites if dataset in (None, s.asset, s.suite)]
        if not suites:
            raise ConfigError(f"no suite of this project is called {dataset} or guards it")
        for line in finish_open(bench.spark, home, env).told():
            typer.echo(line, err=True)
        if dry_run:
            _print([rehearse(bench, suite, env, limit=limit) for suite in suites], output)
            return
        if cancel:
            _cancel(bench, suites, output)
            return
        try:
            while True:
                code = send_back(bench, suites, env, output, limit=limit, run_id=run_id, quiet=watch)
                if not watch:
                    break
                time.sleep(every)
        except KeyboardInterrupt:  # between two batches nothing is open; within one, the next command finishes it
            typer.echo("stopped", err=True)
    raise typer.Exit(code)


def send_back(
    bench: Bench,
    suites: Iterable[Suite],
    env: str | None,
    output: Output,
    *,
    limit: int | None = None,
    run_id: str | None = None,
    quiet: bool = False,
) -> int:
    """Recycle what is corrected of these suites, and say what became of it; the exit code."""
    from lazaretto.pipeline.recycle import recycle as send

    results = [result for suite in suites for result in send(bench, suite, env, limit=limit, run_id=run_id)]
    _tell(results, output, quiet=quiet)
    return max((result.exit_code for result in results), default=0)


def _cancel(bench: Bench, suites: list[Suite], output: Output) -> None:
    from lazaretto.pipeline.recycle import unsent
    from lazaretto.pipeline.review import act

    told = []
    for suite in suites:
        done = act(bench, unsent(bench, suite), deed_of(Step.WITHDRAW, "recycle --cancel"))
        told.append({"asset": suite.asset, "suite": suite.suite, "withdrawn": done.count})
    _print(told, output)


def _print(told: list[dict[str, object]], output: Output) -> None:
    if output is Output.json:
        print_json(told)
        return
    for each in told:
        typer.echo("  ".join(f"{name.replace('_', ' ')} {value}" for name, value in each.items()))


def _tell(results: list[RunResult], output: Output, *, quiet: bool) -> None:
    if output is Output.json:
        print_json([result.to_dict() for result in results])
        return
    for result in results:
        if result.outcome == "nothing_new":
            if not quiet:
                typer.echo(f"{result.asset}: nothing to send")
        elif result.outcome != "done":
            typer.echo(f"{result.asset}: {result.message}")
        else:
            counts = result.counts
            held = f", {counts.held:,} held" if counts.held else ""
            typer.echo(
                f"{result.asset}: {counts.input:,} sent, {counts.accepted:,} recovered, "
                f"{counts.quarantined + counts.dead_lettered:,} failed again{held}"
            )
