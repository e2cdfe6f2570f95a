"""What commands need that work on assets: a session, the project's places, and its store."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lazaretto.config.project import Project
    from lazaretto.pipeline.bench import Bench
    from lazaretto.pipeline.places import Places
    from lazaretto.spark.files import Files


@contextmanager
def workbench(command: str, project: Path | None, env: str | None) -> Iterator[tuple[Bench, Project]]:
    """The tools, while inside."""
    from lazaretto.config.project import load_project
    from lazaretto.pipeline.bench import Bench
    from lazaretto.pipeline.control import open_project_store

    home = load_project(project, env)
    # The store first: one that is down costs nobody the start of Spark.
    with open_project_store(home, env) as store, own_session(command) as spark:
        yield Bench.of(spark, home, store), home


@contextmanager
def own_session(command: str) -> Iterator[SparkSession]:
    """A session, stopped afterwards; one that runs in this process already stays."""
    from lazaretto.spark import session

    pyspark = sys.modules.get("pyspark")
    found = pyspark is not None and pyspark.SparkContext._active_spark_context is not None
    spark = session(app_name=f"lazaretto {command}")
    try:
        yield spark
    finally:
        if not found:
            spark.stop()


def lake(command: str, project: Path | None, env: str | None) -> tuple[Files, Places]:
    """The lake's files, without Spark where they are on this machine."""
    from lazaretto.config.project import load_project
    from lazaretto.pipeline.places import Places
    from lazaretto.spark.files import Files, is_local

    places = Places.of(load_project(project, env))
    if is_local(places.lake):
        return Files(), places
    from lazaretto.spark import session

    return Files(session(app_name=f"lazaretto {command}")), places
