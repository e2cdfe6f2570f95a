"""Which records a step is taken with: named one by one, or all that fit a condition, counted first."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lazaretto.cli.bench import workbench
from lazaretto.cli.common import Output, print_json
from lazaretto.model.lifecycle import STEPS, Step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lazaretto.quarantine.transitions import Deed
    from lazaretto.quarantine.wanted import Wanted

IdsArgument = Annotated[list[str] | None, typer.Argument(help="Ids of records, or their beginnings.")]
CountOption = Annotated[
    int | None, typer.Option("--count", help="How many records you mean: confirms an action on all that fit a filter.")
]
SeenOption = Annotated[
    int | None, typer.Option("--seen", help="The version of the record you looked at; refused if it changed since.")
]
WhyOption = Annotated[str, typer.Option("--why", help="Why; it becomes evidence.")]


def deed_of(step: Step, why: str, **more: Any) -> Deed:
    """A step by whoever sits here."""
    from lazaretto.pipeline.person import here
    from lazaretto.quarantine.transitions import Deed

    person = here()
    return Deed(step, person.name, why, assurance=person.assurance, **more)


def take_step(
    deed: Deed,
    ids: list[str] | None,
    wanted: Wanted,
    *,
    count: int | None,
    seen: int | None,
    project: Path | None,
    env: str | None,
    output: Output,
) -> None:
    """Take a step with the records chosen, and say so."""
    from lazaretto.pipeline.forward import finish_open
    from lazaretto.pipeline.looking import Desk
    from lazaretto.pipeline.review import act, named, see_table

    if bool(ids) != wanted.empty:
        raise typer.BadParameter("name records by their ids, or choose them by filters such as --dataset and --rule")
    with workbench(f"quarantine {deed.step}", project, env) as (bench, home):
        for line in finish_open(bench.spark, home, env).told():
            typer.echo(line, err=True)
        see_table(bench)
        if ids:
            chosen = named(bench, ids)
            chosen = chosen if seen is None else chosen.selectExpr("record_id", f"{int(seen)}L AS seen")
        else:
            found = Desk(bench, home).chosen(f"quarantine {deed.step}", wanted)
            starts = [str(status) for status in STEPS[deed.step][0]]
            chosen = found.where(found["status"].isin(starts)).select("record_id")
            count = _confirmed(chosen, deed, count)
        done = act(bench, chosen, deed, expect=count)
    if output is Output.json:
        print_json(done.to_dict())
        return
    typer.echo(f"{done.count:,} record{'' if done.count == 1 else 's'}: {deed.step} by {deed.by}")


def _confirmed(chosen: DataFrame, deed: Deed, count: int | None) -> int:
    found = chosen.count()
    if count is None:
        typer.echo(f"{found:,} records fit", err=True)
        if not sys.stdin.isatty() or not typer.confirm(f"{deed.step} them all?"):
            typer.echo(f"nothing was done; to confirm: --count {found}", err=True)
            raise typer.Exit(2)
    elif count != found:
        typer.echo(f"{found:,} records fit, not {count:,}: nothing was done", err=True)
        raise typer.Exit(2)
    return found
