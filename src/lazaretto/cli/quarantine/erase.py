"""`lazaretto quarantine erase` and `destroy-key`: what one person's records hold, removed for good."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, print_json
from lazaretto.cli.quarantine.choose import CountOption
from lazaretto.cli.quarantine.desk import desk
from lazaretto.cli.quarantine.filters import filtered

if TYPE_CHECKING:
    from lazaretto.pipeline.erasure import Chosen
    from lazaretto.quarantine.wanted import Wanted


@filtered
def erase(
    wanted: Wanted,
    reason: Annotated[str, typer.Option("--reason", help="Who asked for it, in which matter; it becomes evidence.")],
    count: CountOption = None,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Erase what the records hold that the filter names, in the quarantine, its archive and the outbox, for good.

    Payload, correction, key and all values in failures and history are overwritten, and the files that still have them
    are removed, those of the change feed too: time travel of these tables ends here. The records stay with a keyed hash
    of the row; `lazaretto quarantine destroy-key` makes that hash unprovable. Records on legal hold are not erased.
    """
    from lazaretto.pipeline import erasure

    with desk("erase", project, env) as here:
        chosen = erasure.choose(here.bench, here.project, wanted, here.who)
        _confirm(chosen, count)
        done = erasure.erase(here.bench, here.project, env, wanted, chosen, here.who, reason)
    if output is Output.json:
        print_json({"erasure": done, "count": len(chosen.ids), "assets": sorted(chosen.by_asset)})
        return
    typer.echo(f"erased {_records(len(chosen.ids))}: erasure {done}")
    typer.echo(f"its key is kept; to destroy it: lazaretto quarantine destroy-key {done}")


def destroy_key(
    erasure: Annotated[str, typer.Argument(help="Id of the erasure.")],
    env: EnvOption = None,
    project: ProjectOption = None,
) -> None:
    """Destroy the key of an erasure: from then on nobody can tell of a row whether it was among the erased ones."""
    from lazaretto.pipeline.erasure import destroy_key as destroy

    with desk("destroy-key", project, env) as here:
        destroy(here.bench, erasure, here.who)
    typer.echo(f"the key of erasure {erasure} is destroyed")


def _confirm(chosen: Chosen, count: int | None) -> None:
    found = len(chosen.ids)
    if count is None:
        typer.echo(f"{_records(found)} of {', '.join(sorted(chosen.by_asset)) or 'no asset'} would be erased", err=True)
        if not sys.stdin.isatty() or not typer.confirm("Erase them? Nothing brings them back."):
            typer.echo(f"nothing was done; to confirm: --count {found}", err=True)
            raise typer.Exit(2)
    elif count != found:
        typer.echo(f"{_records(found)} fit, not {count:,}: nothing was done", err=True)
        raise typer.Exit(2)


def _records(number: int) -> str:
    return f"{number:,} record{'' if number == 1 else 's'}"
