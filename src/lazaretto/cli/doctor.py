"""`lazaretto doctor`: is everything here that a run needs?"""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich.console import Console
from rich.text import Text

from lazaretto.cli.common import Output, OutputOption, print_json
from lazaretto.spark.doctor import Diagnosis, examine


def doctor(
    output: OutputOption = Output.text,
) -> None:
    """Check Java, Spark, the jars, Delta, disk and memory, and say what to do where something is wrong."""
    diagnoses = []
    console = Console(highlight=False)
    for diagnosis in examine():
        diagnoses.append(diagnosis)
        if output is Output.text:  # at once: Spark takes a while, and a silent doctor is alarming
            console.print(_line(diagnosis), soft_wrap=True)
    well = all(diagnosis.ok for diagnosis in diagnoses)
    if output is Output.json:
        print_json({"ok": well, "diagnoses": [asdict(diagnosis) for diagnosis in diagnoses]})
    if not well:
        raise typer.Exit(1)


def _line(diagnosis: Diagnosis) -> Text:
    mark, style = ("ok  ", "green") if diagnosis.ok else ("FAIL", "bold red")
    line = Text.assemble((mark, style), f"  {diagnosis.name:<9} {diagnosis.detail}")
    if diagnosis.remedy:
        line.append(f"\n      {'':<9} {diagnosis.remedy}", style="yellow")
    return line
