"""`lazaretto quarantine`: the records that were set aside."""

from __future__ import annotations

import typer

from lazaretto.cli.common import EnvOption, ProjectOption

quarantine = typer.Typer(no_args_is_help=True, help="Look after the quarantine.")


@quarantine.callback()
def _quarantine() -> None:
    """Look after the quarantine."""


@quarantine.command()
def repair(env: EnvOption = None, project: ProjectOption = None) -> None:
    """Give the quarantine table back what was altered or dropped: columns, settings, the table itself."""
    from lazaretto.config.project import load_project
    from lazaretto.pipeline.places import Places
    from lazaretto.quarantine.records import repair as mend
    from lazaretto.spark import session

    places = Places.of(load_project(project, env))
    spark = session(app_name="lazaretto quarantine repair")
    done = mend(spark, places.records)
    spark.stop()
    for line in done or ("nothing to repair",):
        typer.echo(line)
