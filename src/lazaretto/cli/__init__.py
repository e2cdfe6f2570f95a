"""The command line: one module per command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from lazaretto import __version__
from lazaretto.cli.checks import checks
from lazaretto.cli.correct import correct
from lazaretto.cli.deadletter import deadletter
from lazaretto.cli.decisions import decisions
from lazaretto.cli.demo import demo
from lazaretto.cli.doctor import doctor
from lazaretto.cli.exceptions import exceptions
from lazaretto.cli.explain import explain
from lazaretto.cli.export import export
from lazaretto.cli.held import held
from lazaretto.cli.init import init
from lazaretto.cli.policy import policy
from lazaretto.cli.quarantine import quarantine
from lazaretto.cli.recycle import recycle
from lazaretto.cli.retention import retention, vacuum
from lazaretto.cli.run import run
from lazaretto.cli.schema import schema
from lazaretto.cli.settle import rebuild_store, settle
from lazaretto.cli.sql import sql_command
from lazaretto.cli.status import status
from lazaretto.cli.stream import stream
from lazaretto.cli.unlock import unlock
from lazaretto.cli.validate import validate
from lazaretto.cli.verify import verify
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


for _command in (
    init,
    validate,
    explain,
    checks,
    schema,
    run,
    correct,
    recycle,
    stream,
    status,
    verify,
    settle,
    rebuild_store,
    unlock,
    retention,
    vacuum,
    doctor,
    demo,
):
    app.command()(_command)
app.command("sql")(sql_command)
app.add_typer(quarantine, name="quarantine")
app.add_typer(held, name="held")
app.add_typer(deadletter, name="deadletter")
app.add_typer(policy, name="policy")
app.add_typer(decisions, name="decisions")
app.add_typer(exceptions, name="exceptions")
app.add_typer(export, name="export")


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
