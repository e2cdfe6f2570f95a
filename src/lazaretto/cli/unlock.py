"""`lazaretto unlock`: let a closed asset take batches again."""

from __future__ import annotations

from typing import Annotated

import typer

from lazaretto.cli.bench import workbench
from lazaretto.cli.common import EnvOption, ProjectOption


def unlock(
    asset: Annotated[str, typer.Argument(help="The asset, schema.table.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; it becomes evidence.")],
    requested_by: Annotated[
        str | None, typer.Option("--requested-by", help="Who asked; else who ran the batch that closed it.")
    ] = None,
    env: EnvOption = None,
    project: ProjectOption = None,
) -> None:
    """Let an asset that was closed (FAIL_CLOSED) take batches again. The batch that closed it stays held.

    You approve as the user of the operating system, and cannot be the one who asked.
    """
    from lazaretto.pipeline.assets import assets
    from lazaretto.pipeline.person import here
    from lazaretto.pipeline.unlock import unlock_asset

    with workbench("unlock", project, env) as (bench, home):
        path = assets(bench, home, env, asset)[asset]
        state = unlock_asset(bench, asset, path, here(home), reason, requested_by=requested_by)
    typer.echo(f"{asset} is unlocked; its state is {state}")
