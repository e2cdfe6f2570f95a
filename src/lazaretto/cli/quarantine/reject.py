"""`lazaretto quarantine reject`: close records for good."""

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
def reject(
    wanted: Wanted,
    ids: IdsArgument = None,
    count: CountOption = None,
    seen: SeenOption = None,
    reason: Annotated[str, typer.Option("--reason", help="Reason code, from lazaretto.yml.")] = "",
    why: WhyOption = "",
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Close records for good: they are not wanted, and why is on record.

    The reason is one of `reject_reasons` in lazaretto.yml.
    """
    from lazaretto.config.project import load_project
    from lazaretto.model.lifecycle import Step

    codes = load_project(project, env).reject_reasons
    if reason not in codes:
        raise typer.BadParameter(f"{reason!r}: expected one of {', '.join(codes)}", param_hint="--reason")
    deed = deed_of(Step.REJECT, why, reason_code=reason)
    take_step(deed, ids, wanted, count=count, seen=seen, project=project, env=env, output=output)
