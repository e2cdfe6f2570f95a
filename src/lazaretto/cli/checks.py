"""`lazaretto checks`: the catalogue, the project's own checks included."""

from __future__ import annotations

import textwrap
from typing import Annotated, Any

import typer

from lazaretto.cli.common import Output, OutputOption, ProjectOption, print_json


def checks(
    name: Annotated[str | None, typer.Argument(help="Show one check in full.")] = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """List the checks a rule can use, or explain one with its parameters and an example."""
    from lazaretto.config.own_checks import load_catalogue
    from lazaretto.model import catalogue
    from lazaretto.model.description import describe

    load_catalogue(project)
    if name is None:
        listed = [describe(check) for check in catalogue.all_checks()]
        if output is Output.json:
            print_json(listed)
        else:
            _list(listed)
        return
    try:
        described = describe(catalogue.find(name))
    except catalogue.UnknownCheck as unknown:
        typer.echo(f"error: {unknown}", err=True)
        raise typer.Exit(2) from None
    if output is Output.json:
        print_json(described)
    else:
        _show(described)


def _list(listed: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("family", "check", "what it demands"):
        table.add_column(heading, no_wrap=heading != "what it demands")
    previous = None
    for check in listed:
        table.add_row(check["family"] if check["family"] != previous else "", check["name"], check["summary"])
        previous = check["family"]
    Console(highlight=False).print(table)


def _show(check: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(check["name"], style="bold").append(Text(f"  ({check['family']})", style="not bold dim")))
    console.print(Text(check["summary"]))
    if check["note"]:
        console.print(Text(check["note"], style="yellow"))
    if check["parameters"]:
        console.print("\n[bold]parameters[/]")
    for parameter in check["parameters"]:
        need = "required" if parameter["required"] else f"default {parameter['default']}"
        console.print(Text(f"  {parameter['name']}", style="cyan").append(Text(f"  {need}", style="dim")))
        console.print(Text(textwrap.indent(parameter["description"], "    ")))
    console.print(
        f"\n[bold]defaults[/]\n  dimension {check['dimension']}, on_fail {check['on_fail']}, "
        f"NULL {'passes' if check['on_null'] == 'pass' else 'fails'}"
    )
    if check["example"]:
        console.print("\n[bold]example[/]")
        console.print(Text(textwrap.indent(check["example"], "  ")))
