"""`lz.run`: what a program calls; the commands call it too."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lazaretto.config.own_checks import load_catalogue
from lazaretto.config.project import Project, load_project
from lazaretto.model.expression import problems_of
from lazaretto.model.run import RunResult
from lazaretto.model.suite import Suite
from lazaretto.pipeline import chores, export
from lazaretto.pipeline.batch import rehearse, run_batch
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.connect import see_that_it_can_run
from lazaretto.pipeline.control import open_project_store
from lazaretto.pipeline.corrections import tried_by_itself
from lazaretto.pipeline.export import after_run
from lazaretto.pipeline.order import Clock, Order
from lazaretto.pipeline.places import Places
from lazaretto.pipeline.recycle import recycle as recycle_suite
from lazaretto.pipeline.sources import Slice, SourceError, active
from lazaretto.spark.files import Files
from lazaretto.spark.reach import see_that_jvm_is_in_reach
from lazaretto.store import open_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
    chosen = spark or (df.sparkSession if df is not None else active())
    home = project or load_project(suite.project_root and Path(suite.project_root), env or suite.environment)
    if where and (problems := problems_of(where)):
        raise SourceError(f"the condition of the slice is refused: {problems[0].message}")
    label = run_id or str(uuid.uuid4())
    env = env or suite.environment
    order = Order(
        corrections=() if dry_run else tried_by_itself(suite, home, env),
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
    watch = clock or Clock()
    if dry_run:
        with (
            tempfile.TemporaryDirectory(prefix="lazaretto-dry-run-") as scratch,
            open_store(f"sqlite:///{scratch}/control.db") as store,
        ):
            see_that_it_can_run(chosen, suite, Places.of(home), scratch=scratch)
            return rehearse(Bench.of(chosen, home, store), suite, order, df, watch)
    see_that_it_can_run(chosen, suite, Places.of(home))
    with open_project_store(home, env) as store:
        bench = Bench.of(chosen, home, store)
        before = recycle_suite(bench, suite, env, wait=wait, clock=watch) if suite.recycle.at_start else []
        result = after_run(bench, home, suite, run_batch(bench, suite, order, df, watch))
    sent = [each for each in before if each.outcome == "done"]
    return result.model_copy(update={"recycled": tuple(each.batch_id or "" for each in sent)})


def recycle(
    suite: Suite,
    spark: SparkSession | None = None,
    *,
    env: str | None = None,
    limit: int | None = None,
    run_id: str | None = None,
    project: Project | None = None,
    wait: float = 600.0,
    clock: Clock | None = None,
) -> list[RunResult]:
    """Send the corrected records of a suite back through the front door; one result for each batch.

    Safe to repeat: a record's attempt is judged once and published at most once, whatever happened to earlier tries.
    """
    home = project or load_project(suite.project_root and Path(suite.project_root), env or suite.environment)
    env = env or suite.environment
    chosen = spark or active()
    see_that_jvm_is_in_reach(chosen, "sending corrected records")
    with open_project_store(home, env) as store:
        bench = Bench.of(chosen, home, store)
        return recycle_suite(bench, suite, env, limit=limit, run_id=run_id, wait=wait, clock=clock)


def load_exported_suite(
    spark: SparkSession,
    suite: str,
    *,
    table: str | None = None,
    fingerprint: str | None = None,
    project: Project | str | Path | None = None,
) -> Suite:
    """A suite from a checks table (`lazaretto export checks`): with this fingerprint, or the one saved last."""
    home = project if isinstance(project, Project) else load_project(project)
    load_catalogue(home.folder)
    return export.load_exported_suite(spark, Places.of(home), table or export.checks_name(home), suite, fingerprint)


def register_views(spark: SparkSession, project: Project | str | Path | None = None) -> tuple[str, ...]:
    """Make the quarantine's views known to a session: inbox, dead_letter, universal_dlq and one for each dataset."""
    from lazaretto.quarantine.views import register_views as register

    home = project if isinstance(project, Project) else load_project(project)
    places = Places.of(home)
    moving = chores.moving(Files(spark), places)
    archive = places.archive if moving else None
    return tuple(register(spark, places.records, outbox_path=places.outbox, archive_path=archive))
