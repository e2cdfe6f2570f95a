"""`lazaretto quarantine restore`: records brought back from the archive."""

from __future__ import annotations

from typing import Annotated

import typer

from lazaretto.cli.common import EnvOption, ProjectOption
from lazaretto.cli.quarantine.desk import desk


def restore(
    records: Annotated[list[str], typer.Argument(help="Ids of archived records, or their beginnings.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; it becomes evidence.")],
    env: EnvOption = None,
    project: ProjectOption = None,
) -> None:
    """Bring records back from the archive, as what they were. `list --archived` finds them."""
    from lazaretto.pipeline.retention import restore as bring_back

    with desk("restore", project, env) as here:
        moved = bring_back(here.bench, records, here.who, reason)
    count = sum(sum(by_status.values()) for by_status in moved.values())
    typer.echo(f"{count} record{'' if count == 1 else 's'} restored")
