"""Looking into a project's quarantine: what people may see of it, and a word on record where they see more."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lazaretto.checks import sql
from lazaretto.config.project import Project
from lazaretto.config.suites import load_suites
from lazaretto.pipeline import chores
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.person import Person, here
from lazaretto.pipeline.places import Places
from lazaretto.pipeline.sensitive import NotForYou, lifted, veil_of
from lazaretto.quarantine import looking, summary
from lazaretto.quarantine.export import EXPORTED, Format
from lazaretto.quarantine.export import export as write
from lazaretto.quarantine.fields import fields_of
from lazaretto.quarantine.veil import Veil
from lazaretto.quarantine.wanted import Wanted, value_of
from lazaretto.quarantine.whereabouts import Tables
from lazaretto.spark.files import Files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def tables_of(places: Places, files: Files) -> Tables:
    """Where a project's records are, and whether some of them are on the move."""
    return Tables(places.records, places.archive, places.outbox, chores.moving(files, places))


@dataclass(frozen=True)
class Desk:
    """Where somebody looks at records: with `reveal` they see what is masked for others, if they may."""

    bench: Bench
    project: Project
    reveal: bool = False
    who: Person = field(default_factory=here)

    @property
    def tables(self) -> Tables:
        """Where the records are."""
        return tables_of(self.bench.places, self.bench.files)

    def page(
        self,
        wanted: Wanted,
        *,
        limit: int = 50,
        after: str | None = None,
        oldest_first: bool = False,
        archived: bool = False,
    ) -> looking.Page:
        """Some records, newest day first, and where the next page begins."""
        veil = self._veil("quarantine list", wanted)
        return looking.page(
            self.bench.spark,
            self.tables,
            wanted,
            limit=limit,
            after=after,
            oldest_first=oldest_first,
            archived=archived,
            veil=veil,
        )

    def record(self, record: str) -> dict[str, Any]:
        """One record in full."""
        found = looking.find(self.bench.spark, self.tables, record, veil=self._masks())
        if self.reveal:
            lifted(self.project, self.bench.store, self.who, found["record_id"], by="quarantine show")
            found = looking.find(self.bench.spark, self.tables, found["record_id"])
        found["events"] = [
            {"at": e.at, "actor": e.actor, "assurance": e.assurance, "action": e.action, **dict(e.details)}
            for e in reversed(self.bench.store.events(subject=found["record_id"]))
        ]
        return found

    def chosen(self, what: str, wanted: Wanted) -> DataFrame:
        """`record_id` and `status` of the wanted records, for whoever acts on them."""
        veil = self._veil(what, wanted)
        return looking.rows(self.bench.spark, self.tables, wanted, ("record_id", "status"), veil=veil)

    def summary(self, wanted: Wanted, *, archived: bool = False) -> summary.Summary:
        """Counts by source system, day and failure."""
        self._veil("quarantine summary", wanted)
        return summary.summarise(self.bench.spark, self.tables, wanted, archived=archived)

    def export(self, wanted: Wanted, target: Path, format: Format, *, archived: bool = False) -> int:
        """Write the wanted records into a file; how many there were.

        CSV of one dataset has a column for each of its fields; else, and in the other formats, the row is one object.
        """
        veil, spark = self._veil("quarantine export", wanted), self.bench.spark
        names = (*EXPORTED, "payload_schema")
        frame = looking.rows(spark, self.tables, wanted, names, archived=archived, veil=veil)
        if format is Format.CSV and len(wanted.datasets) == 1:
            schemas = [row[0] for row in frame.select("payload_schema").distinct().collect() if row[0]]
            fields = {field.name: None for text in schemas for field in fields_of(text)}
            taken = {name.casefold() for name in EXPORTED}
            flat = [
                f"{value_of('payload', name)} AS "
                + sql.identifier(f"payload_{name}" if name.casefold() in taken else name)
                for name in fields
            ]
            frame = frame.selectExpr(*(name for name in EXPORTED if name != "payload"), *flat)
        else:
            frame = frame.select(*EXPORTED)
        count = write(frame, target, format)
        self.bench.store.record_event(
            self.who.name,
            "exported",
            assurance=self.who.assurance,
            subject="quarantine.records",
            details={
                "records": count,
                "format": format.value,
                "revealed": self.reveal,
                "filter": wanted.without_values(),
            },
        )
        return count

    def _masks(self) -> Veil:
        return veil_of(load_suites(None, self.project.env, self.project).suites)

    def _veil(self, what: str, wanted: Wanted) -> Veil | None:
        if self.reveal:
            lifted(self.project, self.bench.store, self.who, what, filter=wanted.without_values())
            return None
        veil = self._masks()
        if wanted.looks_inside and not veil.allows(wanted):
            raise NotForYou(
                "this filter looks at values that are masked for you, and its answer would tell them: name datasets "
                "and fields that are not sensitive, or use --reveal"
            )
        return veil
