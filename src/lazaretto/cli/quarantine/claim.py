"""`lazaretto quarantine claim`: take records for review."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption
from lazaretto.cli.quarantine.choose import (
    CountOption,
    IdsArgument,
    SeenOption,
    WhyOption,
    deed_of,
    take_step,
)
from lazaretto.cli.quarantine.filters import filtered

if TYPE_CHECKING:
    from lazaretto.quarantine.wanted import Wanted


@filtered
def claim(
    wanted: Wanted,
    ids: IdsArgument = None,
    count: CountOption = None,
    seen: SeenOption = None,
    hours: Annotated[float, typer.Option("--hours", help="How long the claim lasts.", min=0.1)] = 8.0,
    why: WhyOption = "",
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Take records for review: nobody else works on them until you release them or the time is up.

    Many at once are one commit. A claim of somebody else is refused while it lasts.
    """
    from datetime import timedelta

    from lazaretto.model.lifecycle import Step

    deed = deed_of(Step.CLAIM, why, claim_for=timedelta(hours=hours))
    take_step(deed, ids, wanted, count=count, seen=seen, project=project, env=env, output=output)
