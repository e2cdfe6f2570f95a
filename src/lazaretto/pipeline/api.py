"""`lz.run`: what a program calls; the commands call it too."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lazaretto.config.project import Project, load_project
from lazaretto.config.secrets import resolve as resolve_secrets
from lazaretto.model.expression import problems_of
from lazaretto.model.run import RunResult
from lazaretto.model.suite import Suite
from lazaretto.pipeline.batch import Clock, Order, rehearse, run_batch
from lazaretto.pipeline.finish import Bench
from lazaretto.pipeline.places import Places
from lazaretto.pipeline.sources import Slice, SourceError
from lazaretto.store import Store, open_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def open_project_store(project: Project, env: str | None) -> Store:
    """The control store of a project."""
    return open_store(resolve_secrets(project.store_url).reveal(), environment=env or "default")


def run(
    suite: Suite,
    spark: SparkSession | None = None,
    *,
    df: DataFrame | None = None,
    env: str | None = None,
    where: str | None = None,
    partition: Mapping[str, str] | None = None,
    run_id: str | None = None,
    as_of: str | int | None = None,
    again: bool = False,
    reprocess: bool = False,
    metadata: Mapping[str, str] | None = None,
    dry_run: bool = False,
    strict: bool = False,
    project: Project | None = None,
    wait: float = 600.0,
    clock: Clock | None = None,
) -> RunResult:
    """Take what is new in the suite's source (or the frame given), judge it, and publish what may be published.

    The session is the caller's; without one, the frame's or the active one is used. Repeating a run is safe: a batch
    is published once, whatever happened to earlier attempts. `dry_run` decides and leaves nothing behind.
    """
    chosen = spark or (df.sparkSession if df is not None else _active())
    home = project or load_project(suite.project_root and Path(suite.project_root), env or suite.environment)
    if where and (problems := problems_of(where)):
        raise SourceError(f"the condition of the slice is refused: {problems[0].message}")
    label = run_id or str(uuid.uuid4())
    env = env or suite.environment
    order = Order(
        env=env,
        run_id=label,
        slice=Slice(
            where=where,
            partition=tuple(sorted((partition or {}).items())),
            as_of=None if as_of is None else str(as_of),
            again=label if again else None,
        ),
        metadata=tuple(sorted((metadata or {}).items())),
        reprocess=reprocess,
        strict=strict,
        wait=wait,
    )
    places, watch = Places.of(home), clock or Clock()
    if dry_run:
        with (
            tempfile.TemporaryDirectory(prefix="lazaretto-dry-run-") as scratch,
            open_store(f"sqlite:///{scratch}/control.db") as store,
        ):
            return rehearse(Bench(chosen, places, store), suite, order, df, watch)
    with open_project_store(home, env) as store:
        return run_batch(Bench(chosen, places, store), suite, order, df, watch)


def register_views(spark: SparkSession, project: Project | str | Path | None = None) -> tuple[str, ...]:
    """Make the quarantine's views known to a session: inbox, dead_letter, universal_dlq and one for each dataset."""
    from lazaretto.quarantine.views import register_views as register

    home = project if isinstance(project, Project) else load_project(project)
    places = Places.of(home)
    return tuple(register(spark, places.records, outbox_path=places.outbox))


def _active() -> SparkSession:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise SourceError("run() needs a SparkSession: pass spark=…, or build one with lazaretto.spark.session()")
    return session
