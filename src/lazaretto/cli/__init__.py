"""The command line: one module per command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from lazaretto import __version__
from lazaretto.cli.checks import checks
from lazaretto.cli.demo import demo
from lazaretto.cli.doctor import doctor
from lazaretto.cli.explain import explain
from lazaretto.cli.init import init
from lazaretto.cli.quarantine import quarantine
from lazaretto.cli.run import run
from lazaretto.cli.schema import schema
from lazaretto.cli.sql import sql_command
from lazaretto.cli.validate import validate
from lazaretto.model.errors import ConfigError, LazarettoError

app = typer.Typer(
    name="lazaretto",
    no_args_is_help=True,
    add_completion=False,
    # A traceback belongs to a bug; what a user can mend is said in a sentence (see main).
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lazaretto {__version__}")
        raise typer.Exit


@app.callback()
def lazaretto(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Data quality for Spark: inspect every row, publish what is sound, quarantine the rest."""


for _command in (init, validate, explain, checks, schema, run, doctor, demo):
    app.command()(_command)
app.command("sql")(sql_command)
app.add_typer(quarantine, name="quarantine")


def main() -> None:
    """Run the command line; what the user can mend ends in a sentence, not in a traceback.

    Exit 2: the configuration or the call is wrong. Exit 1: anything else that went wrong.
    """
    try:
        app()
    except ConfigError as error:
        for problem in error.problems or (error,):
            typer.echo(f"error: {problem}", err=True)
        sys.exit(2)
    except LazarettoError as error:
        sys.exit(f"error: {error}")
