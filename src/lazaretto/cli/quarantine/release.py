"""`lazaretto quarantine release`: give records under review back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption
from lazaretto.cli.quarantine.choose import (
    CountOption,
    IdsArgument,
    SeenOption,
    WhyOption,
    take_step,
)
from lazaretto.cli.quarantine.filters import filtered

if TYPE_CHECKING:
    from lazaretto.quarantine.wanted import Wanted


@filtered
def release(
    wanted: Wanted,
    ids: IdsArgument = None,
    count: CountOption = None,
    seen: SeenOption = None,
    why: WhyOption = "",
    env: EnvOption = None,
    project: ProjectOption = None,
    output: OutputOption = Output.text,
) -> None:
    """Give records under review back, as they are."""
    from lazaretto.model.lifecycle import Step
    from lazaretto.pipeline.person import here
    from lazaretto.quarantine.transitions import Deed

    person = here()
    deed = Deed(Step.RELEASE, person.name, why, assurance=person.assurance)
    take_step(
        deed,
        ids,
        wanted,
        count=count,
        seen=seen,
        project=project,
        env=env,
        output=output,
    )
