"""`lazaretto quarantine release | withdraw | resubmit`: the steps that need nothing but records and a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lazaretto.cli.common import EnvOption, Output, OutputOption, ProjectOption
from lazaretto.cli.quarantine.choose import CountOption, IdsArgument, SeenOption, WhyOption, deed_of, take_step
from lazaretto.cli.quarantine.filters import filtered
from lazaretto.model.lifecycle import Step

if TYPE_CHECKING:
    from lazaretto.quarantine.wanted import Wanted


def _command(step: Step, help_text: str) -> Callable[..., None]:
    def take(
        wanted: Wanted,
        ids: IdsArgument = None,
        count: CountOption = None,
        seen: SeenOption = None,
        why: WhyOption = "",
        env: EnvOption = None,
        project: ProjectOption = None,
        output: OutputOption = Output.text,
    ) -> None:
        take_step(deed_of(step, why), ids, wanted, count=count, seen=seen, project=project, env=env, output=output)

    take.__name__, take.__doc__ = str(step), help_text
    return filtered(take)


release = _command(Step.RELEASE, """Give records under review back, as they are.""")
withdraw = _command(
    Step.WITHDRAW, """Take corrected records back before a recycle sends them; their corrections stay."""
)
resubmit = _command(
    Step.RESUBMIT,
    """Let the next recycle judge records again, corrected or as they are (after a change of rules, say).

    After `max_attempts` this, a correction by hand or SQL is the only way.
    """,
)
