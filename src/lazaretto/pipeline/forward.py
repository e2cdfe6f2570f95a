"""Roll forward first: whoever touches an asset or the quarantine finishes what crashed runs left open.

Open batches are found in the lake, by their seals beside the tables that the project's suites guard. The control store
is opened only where there is one. An asset that is being worked on at this moment is left to whoever works on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lazaretto.config.suites import load_suites
from lazaretto.model.errors import LazarettoError
from lazaretto.pipeline import chores, retention
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.control import open_project_store
from lazaretto.pipeline.finish import Finished, roll_forward
from lazaretto.pipeline.order import Clock
from lazaretto.pipeline.places import Places
from lazaretto.pipeline.recycle import finish_sent, note_of_sending
from lazaretto.pipeline.review import finish_deeds
from lazaretto.quarantine.held import seals_under
from lazaretto.spark.files import Files
from lazaretto.spark.lock import AssetBusy, table_lock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lazaretto.config.project import Project
    from lazaretto.model.suite import Suite


@dataclass(frozen=True)
class Forwarded:
    """What was open: the batches that are finished now, and why others are not."""

    finished: tuple[Finished, ...] = ()
    stuck: tuple[str, ...] = ()
    reviewed: tuple[str, ...] = ()
    """What was written of actions on records that had been cut short."""
    recycled: int = 0
    """Batches of the outbox that had been left open."""

    def told(self) -> list[str]:
        """The same in sentences for a person."""
        lines = [
            f"finished batch {f.seal.batch_id[:12]} of {f.seal.target.asset}, which an earlier run had left open: "
            f"{f.publication.value}"
            for f in self.finished
        ]
        lines += self.reviewed
        if self.recycled:
            lines.append(f"finished {self.recycled} open batches of the outbox")
        return lines + [f"an open batch could not be finished: {reason}" for reason in self.stuck]


class _Quiet:
    """Nobody is told of phases."""

    def phase(self, name: str) -> AbstractContextManager[None]:
        return nullcontext()


def finish_open(spark: SparkSession, project: Project, env: str | None = None) -> Forwarded:
    """Finish the open batches of all assets of a project. What cannot be finished is said, not raised: the other
    assets, and whoever only wants to look, do not have to wait for it."""
    places, files = Places.of(project), Files(spark)
    suites = load_suites(None, env, project).suites
    paths = dict.fromkeys(places.asset(spark, suite) for suite in suites)
    open_ones = [path for path in paths if seals_under(files, path)]
    begun = set(files.list(places.begun))
    pending = bool(chores.open_chores(files, places))
    if not open_ones and not begun and not pending:
        return Forwarded()
    finished: list[Finished] = []
    stuck: list[str] = []
    with open_project_store(project, env) as store:
        bench = Bench.of(spark, project, store)
        for path in open_ones:
            try:
                with table_lock(spark, path, wait=0):
                    finished += roll_forward(bench, path, _Quiet())
            except AssetBusy:
                continue
            except LazarettoError as error:
                stuck.append(str(error))
        reviewed, recycled = finish_records(bench, suites, env, stuck) if begun or pending else ((), 0)
    return Forwarded(tuple(finished), tuple(stuck), reviewed, recycled)


def finish_records(
    bench: Bench, suites: Iterable[Suite], env: str | None, stuck: list[str]
) -> tuple[tuple[str, ...], int]:
    """Attest what was done with records and not attested, and finish the batches of the outbox that are open."""
    reviewed = (*finish_deeds(bench), *retention.finish(bench))
    begun, recycled = set(bench.files.list(bench.places.begun)), 0
    for suite in suites:
        if note_of_sending(bench.places, suite, env).rpartition("/")[2] not in begun:
            continue
        try:
            with table_lock(bench.spark, bench.places.asset(bench.spark, suite), wait=0):
                recycled += len(finish_sent(bench, suite, env, Clock()))
        except AssetBusy:
            continue
        except LazarettoError as error:
            stuck.append(str(error))
    return reviewed, recycled
