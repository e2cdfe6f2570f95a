"""`lazaretto quarantine numbers`: how fast the quarantine is emptied."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption, print_json
from lazaretto.cli.quarantine.desk import desk


def numbers(
    days: Annotated[int, typer.Option("--days", min=1, help="So many days back.")] = 30,
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Time to resolution, attempts, and arrivals against drains, asset by asset and day by day."""
    from lazaretto.quarantine.numbers import numbers as count

    with desk("numbers", project, env) as here:
        found = count(here.bench.spark, here.tables, (datetime.now(UTC) - timedelta(days=days)).date())
    if output is Output.json:
        print_json(found.to_dict())
        return
    for each in found.resolutions:
        typer.echo(
            f"{each.asset}: {each.records:,} {each.ended_as}, half of them within {each.median_hours} h, nine in ten "
            f"within {each.slowest_tenth_hours} h; {each.attempts} attempts on average, at most {each.most_attempts}"
        )
    if not found.resolutions:
        typer.echo(f"no record was resolved in the last {days} days")
    for day in found.flow:
        typer.echo(f"{day.day}  {day.asset}  {day.arrived:,} arrived, {day.drained:,} resolved")
