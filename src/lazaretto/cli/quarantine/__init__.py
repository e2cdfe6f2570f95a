"""`lazaretto quarantine`: the records that were set aside. One module per command."""

from __future__ import annotations

import typer

from lazaretto.cli.quarantine.claim import claim
from lazaretto.cli.quarantine.correct import correct
from lazaretto.cli.quarantine.erase import destroy_key, erase
from lazaretto.cli.quarantine.export import export
from lazaretto.cli.quarantine.hold import hold
from lazaretto.cli.quarantine.list import list_records
from lazaretto.cli.quarantine.numbers import numbers
from lazaretto.cli.quarantine.reject import reject
from lazaretto.cli.quarantine.repair import repair
from lazaretto.cli.quarantine.restore import restore
from lazaretto.cli.quarantine.show import show
from lazaretto.cli.quarantine.steps import release, resubmit, withdraw
from lazaretto.cli.quarantine.summary import summary

quarantine = typer.Typer(no_args_is_help=True, help="Look after the quarantine.")


@quarantine.callback()
def _quarantine() -> None:
    """Look after the quarantine."""


quarantine.command("list")(list_records)
for _command in (
    show,
    summary,
    numbers,
    export,
    claim,
    release,
    correct,
    resubmit,
    withdraw,
    reject,
    restore,
    erase,
    destroy_key,
    repair,
):
    quarantine.command()(_command)
quarantine.add_typer(hold, name="hold")
