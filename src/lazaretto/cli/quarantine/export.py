"""`lazaretto quarantine export`: records as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lazaretto.cli.common import EnvOption, ProjectOption
from lazaretto.cli.quarantine.desk import ArchivedOption, RevealOption, desk
from lazaretto.cli.quarantine.filters import filtered
from lazaretto.model.words import Word

if TYPE_CHECKING:
    from lazaretto.quarantine.wanted import Wanted


class Format(Word):
    """How the file is written."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"


@filtered
def export(
    wanted: Wanted,
    to: Annotated[Path, typer.Option("--to", help="The file; the format follows from .csv, .jsonl or .parquet.")],
    format: Annotated[Format | None, typer.Option("--format", help="If the name does not tell it.")] = None,
    archived: ArchivedOption = False,
    reveal: RevealOption = False,
    env: EnvOption = None,
    project: ProjectOption = None,
) -> None:
    """Write records into one file, for you to read only. In CSV no cell is a formula.

    CSV of one --dataset has a column for each field of the row; else the row is one JSON object.
    """
    from lazaretto.quarantine import export as exports

    chosen = format.value if format else to.suffix.removeprefix(".").lower()
    if chosen not in list(Format):
        raise typer.BadParameter(f"{to}: name it .csv, .jsonl or .parquet, or give --format", param_hint="--to")
    with desk("export", project, env, reveal=reveal) as here:
        count = here.export(wanted, to, exports.Format(chosen), archived=archived)
    typer.echo(f"{count:,} record{'' if count == 1 else 's'} written to {to}")
