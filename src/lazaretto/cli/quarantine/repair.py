"""`lazaretto quarantine repair`: the table itself, given back what it lost."""

from __future__ import annotations

import typer

from lazaretto.cli.common import EnvOption, ProjectOption


def repair(env: EnvOption = None, project: ProjectOption = None) -> None:
    """Give the quarantine table back what was altered or dropped: columns, settings, the table itself.

    Batches that were left open meanwhile are finished then.
    """
    from lazaretto.config.project import load_project
    from lazaretto.pipeline.forward import finish_open
    from lazaretto.pipeline.places import Places
    from lazaretto.quarantine.records import repair as mend
    from lazaretto.spark import session

    loaded = load_project(project, env)
    spark = session(app_name="lazaretto quarantine repair")
    done = list(mend(spark, Places.of(loaded).records))  # first: an open batch needs the table
    done += finish_open(spark, loaded, env).told()
    spark.stop()
    for line in done or ("nothing to repair",):
        typer.echo(line)
