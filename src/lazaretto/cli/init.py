"""`lazaretto init`: a small project to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def init(folder: Annotated[Path, typer.Argument(help="Folder of the new project; made if missing.")]) -> None:
    """Write a small commented project that validates."""
    from lazaretto.config.scaffold import init as write_project

    for path in write_project(folder):
        typer.echo(f"wrote {path}")
    typer.echo(f"next: cd {folder} && lazaretto validate && lazaretto explain suites/transactions.yml")
