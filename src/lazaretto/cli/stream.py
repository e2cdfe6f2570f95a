"""`lazaretto stream`: a suite on micro-batches, once or without end."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from lazaretto.cli.bench import own_session
from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, find_suite, print_json

if TYPE_CHECKING:
    from lazaretto.pipeline.stream.api import BatchTold


class OnBlock(StrEnum):
    """What to do after a micro-batch that was refused."""

    go_on = "continue"
    stop = "stop"


def stream(
    suite: Annotated[str, typer.Argument(help="Name of a suite of the project, or a suite file.")],
    env: EnvOption = None,
    once: Annotated[bool, typer.Option("--once", help="Take what is there, and end.")] = False,
    every: Annotated[
        str | None, typer.Option(help="Begin a micro-batch every 10s, 1m …; else one after the other.")
    ] = (None),
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many messages (Kafka) or files (elsewhere) in a micro-batch.")
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="Folder of the checkpoint, instead of the project's place.")
    ] = None,
    on_block: Annotated[OnBlock | None, typer.Option("--on-block", help="After a refused batch.")] = None,
    reprocess: Annotated[
        bool, typer.Option("--reprocess", help="Take the source from its beginning, whatever was taken before.")
    ] = False,
    reload: Annotated[
        bool, typer.Option("--reload", help="Take up a changed suite between two batches, if its version was raised.")
    ] = False,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Inspect a source without end: each micro-batch is a batch with its own seal, decision and commit.

    SIGTERM or Ctrl-C ends it after the batch that is under way. Kill it at any moment: the next start goes on where
    the target's log says. Exit 0: done. 3: a batch was refused (--once, or on_block: stop). 4: locked by FAIL_CLOSED.
    """
    from lazaretto.pipeline.stream.api import stream as stream_suite

    chosen = find_suite(suite, env, project)
    with own_session(f"stream {chosen.suite}") as spark:
        result = stream_suite(
            chosen,
            spark,
            once=once,
            every=every,
            limit=limit,
            env=env,
            checkpoint=checkpoint,
            reprocess=reprocess,
            on_block=on_block.value if on_block else None,
            reload=reload,
            on_batch=_status_line(chosen.suite),
            say=lambda text: typer.echo(f"{chosen.suite}: {text}", err=True),
        )
    if output is Output.json:
        print_json(result.to_dict())
    else:
        counts = ", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in result.counts)
        typer.echo(f"{result.message}\n{result.batches:,} batches, {result.refused:,} refused; {counts}")
    raise typer.Exit(result.exit_code)


def _status_line(suite: str) -> Callable[[BatchTold], None]:
    """A line for each batch on standard error; on a terminal, one line that is written over."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)

    def show(told: BatchTold) -> None:
        result, rows = told.result, told.result.counts.input
        decided = result.action.value if result.action else result.outcome
        line = (
            f"{suite} batch {told.number}: {rows:,} rows, {rows / max(told.seconds, 0.001):,.0f} rows/s, "
            f"lag {told.lag}, {decided}, quarantine +{told.open_quarantine:,}"
        )
        refused = bool(result.counts.held)
        if console.is_terminal and not refused:
            console.print(line.ljust(console.width), end="\r", overflow="crop", no_wrap=True, markup=False)
        else:
            console.print(line, soft_wrap=True, markup=False)

    return show
