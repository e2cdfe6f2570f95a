"""OPTIMIZE and VACUUM of our own tables, never while a batch is open."""

from __future__ import annotations

from lazaretto.checks import sql
from lazaretto.config.project import Project
from lazaretto.config.suites import load_suites
from lazaretto.model.errors import LazarettoError
from lazaretto.pipeline import chores
from lazaretto.pipeline.bench import Bench
from lazaretto.quarantine.held import seals_under
from lazaretto.quarantine.records import exists
from lazaretto.spark.lock import table_lock
from lazaretto.spark.sessions import vacuuming


class StillOpen(LazarettoError):
    """Something is open that has to be finished before files may be removed."""


def see_that_nothing_is_open(bench: Bench, project: Project, env: str | None) -> None:
    """Refuse while a sealed batch, or anything begun with records, is not finished."""
    suites = load_suites(None, env, project).suites
    paths = dict.fromkeys(bench.places.asset(bench.spark, suite) for suite in suites)
    seals = [seal for path in paths for seal in seals_under(bench.files, path)]
    if seals:
        first = seals[0]
        raise StillOpen(
            f"{len(seals)} sealed batches are not finished, the first of {first.target.asset}: "
            "run `lazaretto settle` first; files are removed when nothing is open"
        )
    if bench.files.list(bench.places.begun):
        raise StillOpen("an action on records is not finished: run `lazaretto settle` first")
    if chores.open_chores(bench.files, bench.places):
        raise StillOpen("a move or erasure of records is not finished: run `lazaretto retention` first")


def upkeep(bench: Bench, project: Project, env: str | None) -> list[str]:
    """Make small files large and remove those that no version within the retention needs; the tables, by name."""
    see_that_nothing_is_open(bench, project, env)
    places, done = bench.places, []
    for name, path in (("records", places.records), ("archive", places.archive), ("outbox", places.outbox)):
        if not exists(bench.spark, path):
            continue
        table = f"delta.{sql.identifier(path)}"
        with table_lock(bench.spark, path):
            bench.spark.sql(f"OPTIMIZE {table}").collect()
            vacuuming(bench.spark).sql(f"VACUUM {table}").collect()
        done.append(f"{places.schema}.{name}")
    return done
