"""What the commands share: how they are asked to print, and how they find suites."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
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


def find_suite(name: str, env: str | None, project: Path | None) -> Suite:
    """A suite by its file, or by its name in the project."""
    from lazaretto.config.suites import load_suite, suite_named

    if Path(name).suffix in (".yml", ".yaml"):
        return load_suite(Path(name), env=env, project=project)
    return suite_named(name, env=env, project=project)
