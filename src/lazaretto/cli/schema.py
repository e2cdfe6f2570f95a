"""`lazaretto schema`: the JSON Schema of suite, correction and project files, for editors."""

from __future__ import annotations

from typing import Annotated

import typer

from lazaretto.cli.common import ProjectOption, print_json


def schema(
    project_file: Annotated[bool, typer.Option("--project-file", help="The schema of lazaretto.yml instead.")] = False,
    corrections: Annotated[bool, typer.Option("--corrections", help="The schema of correction files instead.")] = False,
    project: ProjectOption = None,
) -> None:
    """Print the JSON Schema of suite files; with it an editor completes and explains every key."""
    from lazaretto.config.json_schema import corrections_schema, json_schema, project_schema
    from lazaretto.config.own_checks import load_catalogue

    load_catalogue(project)
    print_json(corrections_schema() if corrections else project_schema() if project_file else json_schema())
