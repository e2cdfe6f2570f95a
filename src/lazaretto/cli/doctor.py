"""`lazaretto doctor`: is everything here that a run needs?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lazaretto.cli.bench import own_session
from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, find_suite, print_json

if TYPE_CHECKING:
    from rich.text import Text

    from lazaretto.spark.doctor import Diagnosis


def doctor(
    stream: Annotated[
        str | None, typer.Option("--stream", help="A suite: look at its stream instead of at the machine.")
    ] = None,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Check Java, Spark, the jars, Delta, disk and memory, and say what to do where something is wrong."""
    from rich.console import Console

    from lazaretto.spark.doctor import examine

    diagnoses = []
    console = Console(highlight=False)
    for diagnosis in examine() if stream is None else _of_a_stream(stream, env, project):
        diagnoses.append(diagnosis)
        if output is Output.text:  # at once: Spark takes a while, and a silent doctor is alarming
            console.print(_line(diagnosis), soft_wrap=True)
    well = all(diagnosis.ok for diagnosis in diagnoses)
    if output is Output.json:
        print_json({"ok": well, "diagnoses": [asdict(diagnosis) for diagnosis in diagnoses]})
    if not well:
        raise typer.Exit(1)


def _of_a_stream(name: str, env: str | None, project: Path | None) -> Iterator[Diagnosis]:
    from lazaretto.pipeline.stream.doctor import examine_stream

    suite = find_suite(name, env, project)
    with own_session("doctor") as spark:
        yield from examine_stream(spark, suite, env)


def _line(diagnosis: Diagnosis) -> Text:
    from rich.text import Text

    mark, style = ("ok  ", "green") if diagnosis.ok else ("FAIL", "bold red")
    line = Text.assemble((mark, style), f"  {diagnosis.name:<9} {diagnosis.detail}")
    if diagnosis.remedy:
        line.append(f"\n      {'':<9} {diagnosis.remedy}", style="yellow")
    return line
