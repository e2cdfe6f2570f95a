"""What the commands share: how they are asked to print, and how they find suites."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from lazaretto.model.suite import Suite


class Output(StrEnum):
    """How a command prints."""

    text = "text"
    json = "json"


OutputOption = Annotated[Output, typer.Option("--output", help="For people, or one JSON document.")]
EnvOption = Annotated[str | None, typer.Option("--env", help="Environment of lazaretto.yml whose values to use.")]
ProjectOption = Annotated[
    Path | None, typer.Option("--project", help="Folder of the project; else found upwards from here.")
]


def print_json(document: Any) -> None:
    """One JSON document on standard output, and nothing else."""
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, default=str))


def plain_console() -> Console:
    """The terminal; where there is none, lines are as long as they are, because nobody wants to grep an ellipsis."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = 500
    return console


def moment(text: str, option: str) -> datetime:
    """A day or a time as written on the command line; UTC unless it says otherwise."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r}: expected 2026-12-31 or 2026-12-31T12:00", param_hint=option) from None
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def find_suite(name: str, env: str | None, project: Path | None) -> Suite:
    """A suite by its file, or by its name in the project."""
    from lazaretto.config.suites import load_suite, suite_named

    if Path(name).suffix in (".yml", ".yaml"):
        return load_suite(Path(name), env=env, project=project)
    return suite_named(name, env=env, project=project)
