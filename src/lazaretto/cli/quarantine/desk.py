"""What the commands that look at records need: the project's desk, with everything open finished first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lazaretto.cli.bench import workbench

if TYPE_CHECKING:
    from lazaretto.pipeline.looking import Desk

RevealOption = Annotated[
    bool, typer.Option("--reveal", help="Show sensitive values, if `may_see` names you; it is put on record.")
]
ArchivedOption = Annotated[bool, typer.Option("--archived", help="Of the archive instead.")]


@contextmanager
def desk(command: str, project: Path | None, env: str | None, *, reveal: bool = False) -> Iterator[Desk]:
    """The desk, while inside."""
    with workbench(f"quarantine {command}", project, env) as (bench, home):
        from lazaretto.pipeline.forward import finish_open
        from lazaretto.pipeline.looking import Desk
        from lazaretto.quarantine.sql import one_sentence
        from lazaretto.spark.frames import hushed

        for line in finish_open(bench.spark, home, env).told():
            typer.echo(line, err=True)
        with hushed(), one_sentence():
            yield Desk(bench, home, reveal=reveal)


def age(seconds: float) -> str:
    """How old something is, for a person."""
    minutes = int(seconds // 60)
    days, hours = minutes // 1440, minutes // 60
    return f"{days} d" if days > 1 else f"{hours} h" if hours > 1 else f"{minutes} min"
