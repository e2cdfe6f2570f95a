"""Automatic corrections: tried on the open records of an asset, all at once.

Read once, corrected and judged by today's rules in one plan, and what came of it is put aside: from that the counts are
taken, and the records that pass are changed by ONE commit (see `review.act`). Whatever does not pass stays as it was.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lazaretto.checks import sql
from lazaretto.config.corrections import FOLDER
from lazaretto.config.problems import Problem
from lazaretto.config.project import Project
from lazaretto.config.suites import LoadResult, load_suites
from lazaretto.engine import details, masks
from lazaretto.engine.corrections import APPLIED, HELPERS, TRIED, corrected
from lazaretto.engine.judge import Judged, judge
from lazaretto.engine.plan import Instance
from lazaretto.engine.target import shape
from lazaretto.model.catalogue import nearest
from lazaretto.model.correction import Correction, CorrectionSet
from lazaretto.model.errors import ConfigError, LazarettoError
from lazaretto.model.lifecycle import Step
from lazaretto.model.schema import TableSchema
from lazaretto.model.suite import Suite
from lazaretto.pipeline import archive
from lazaretto.pipeline.attempted import Attempted, Count, Example
from lazaretto.pipeline.attempts import ACTION
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.operational import ResultColumns
from lazaretto.pipeline.person import Person
from lazaretto.pipeline.recycled import as_judged
from lazaretto.pipeline.references import PinnedReferences
from lazaretto.pipeline.review import act, finish_deeds
from lazaretto.quarantine.attempts import CARRIED, LEGIBLE, before_sql, open_records, outcomes, rows_of
from lazaretto.quarantine.records import examine, exists
from lazaretto.quarantine.transitions import Deed, Means, RecordChanged
from lazaretto.spark.delta_log import DeltaLogs
from lazaretto.spark.lock import table_lock
from lazaretto.spark.reach import see_that_jvm_is_in_reach

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TRIES = 3


class UnknownCorrection(LazarettoError):
    """There is nothing to try by that name."""


def tried_by_itself(suite: Suite, project: Project, env: str | None) -> tuple[CorrectionSet, ...]:
    """The corrections that follow a batch of the suite. Read before it is begun, so that mistakes come first."""
    if suite.corrections != "after_quarantine" or suite.project_root is None:
        return ()
    return tuple(corrections_of(project, env).corrections)


def corrections_of(project: Project, env: str | None) -> LoadResult:
    """The suites and corrections of a project. Mistakes in corrections are raised, those in suites are not."""
    result = load_suites(None, env, project)
    folder = project.folder.resolve() / FOLDER

    def concerns(problem: Problem) -> bool:
        # Files are named from the working folder where they are below it, else from the project's.
        named = problem.location.file if problem.location else ""
        paths = (base / named for base in (Path.cwd(), project.folder))
        return bool(named) and next((p.resolve().is_relative_to(folder) for p in paths if p.is_file()), False)

    wrong = [problem for problem in result.errors if concerns(problem)]
    if wrong:
        raise ConfigError("\n".join(map(str, wrong)), tuple(wrong))
    return result


def chosen(sets: Sequence[CorrectionSet], asset: str | None, only: str | None) -> dict[str, tuple[Correction, ...]]:
    """The active corrections by asset, cut down to an asset or to one correction. UnknownCorrection if none is left."""
    by_asset: dict[str, tuple[Correction, ...]] = {}
    for each in sets:
        by_asset[each.asset] = by_asset.get(each.asset, ()) + each.active
    if asset is not None and asset not in by_asset:
        raise UnknownCorrection(_none("no corrections are written for", asset, by_asset))
    found = {name: ones for name, ones in by_asset.items() if asset in (None, name)}
    if only is not None:
        known = [one.id for ones in found.values() for one in ones]
        if only not in known:
            raise UnknownCorrection(_none("there is no active correction", only, known))
        found = {name: tuple(one for one in ones if one.id == only) for name, ones in found.items()}
    return {name: ones for name, ones in found.items() if ones}


def _none(what: str, name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    close = nearest(name, known)
    return f"{what} {name!r}" + (f"; did you mean {close}?" if close else f"; known are: {', '.join(sorted(known))}")


def correct(
    bench: Bench,
    asset: str,
    corrections: tuple[Correction, ...],
    suites: Sequence[Suite],
    *,
    person: Person,
    batches: Sequence[str] = (),
    dry_run: bool = False,
    examples: int = 0,
) -> Attempted:
    """Try corrections on the open records of an asset. `suites` are those that may guard it."""
    spark, places = bench.spark, bench.places
    see_that_jvm_is_in_reach(spark, "trying corrections")
    if not exists(spark, places.records):
        return Attempted(asset, _counted(corrections, {}, {}), dry_run=dry_run)
    examine(spark, places.records)
    if not dry_run:
        finish_deeds(bench)
    guards = [suite for suite in suites if suite.asset == asset]
    if not guards:
        raise UnknownCorrection(
            f"no suite that is sound guards {asset}, so nothing can say what passes: lazaretto validate"
        )
    unusable: dict[int, str] = {}
    illegible: dict[str, int] = {}
    frames = []
    for suite in guards:
        records = open_records(
            spark, places.records, places.outbox, asset, suite.suite if len(guards) > 1 else None, batches
        )
        kinds = records.groupBy("payload_policy", "payload_schema").count().collect()
        for kind in kinds:
            if kind["payload_policy"] not in LEGIBLE or kind["payload_schema"] is None:
                policy = kind["payload_policy"] or "none"
                illegible[policy] = illegible.get(policy, 0) + kind["count"]
        for schema in dict.fromkeys(k["payload_schema"] for k in kinds if k["payload_policy"] in LEGIBLE):
            if schema is not None:
                legible = f"payload_policy IN ({sql.literals(LEGIBLE, 'string')}) AND payload_schema = "
                frames.append(_evaluated(bench, suite, records.where(legible + sql.text(schema)), schema, corrections))
                unusable |= frames[-1].unusable
    if not frames:
        return Attempted(asset, _counted(corrections, {}, unusable), illegible=illegible, dry_run=dry_run)
    every = reduce(lambda one, other: one.unionByName(other), (each.outcomes for each in frames))
    if dry_run:
        totals = _totals(every, len(corrections))
        shown = _examples([each.shown(examples) for each in frames], corrections, examples)
        return _told(asset, corrections, totals, unusable, illegible, dry_run=True, examples=shown)
    return _carried_out(bench, asset, corrections, every, unusable, illegible, person)


@dataclass(frozen=True)
class _Evaluated:
    """The records of one schema, corrected and judged. Nothing has run yet."""

    outcomes: DataFrame
    judged: Judged
    passes: str
    schema: str
    corrections: tuple[Correction, ...]
    unusable: Mapping[int, str]

    def shown(self, most: int) -> DataFrame:
        """Some of the records before and after."""
        frame = self.judged.frame.where(f"size({APPLIED}) > 0").limit(most)
        broken = f"transform({details.failed_rules(self.judged.words, self.judged.schema)}, f -> f.rule_id)"
        more = frame.selectExpr("lz_record_id AS shown_id", f"{before_sql()} AS before", f"{broken} AS broken")
        known = outcomes(frame, self.schema, self.passes, self.corrections)
        return known.join(more, known["record_id"] == more["shown_id"]).selectExpr(
            "record_id", APPLIED, "lz_passes", "before", "to_json(correction) AS after", "broken"
        )


def _evaluated(
    bench: Bench, suite: Suite, records: DataFrame, schema: str, corrections: tuple[Correction, ...]
) -> _Evaluated:
    references = PinnedReferences(bench.spark, bench.places)
    rows = rows_of(records, schema)
    done = corrected(rows, corrections, references.read, bench.broadcast_below, CARRIED)
    frame = done.frame.where(f"size({TRIED}) > 0")
    judged = judge_again(bench, suite, frame, (*CARRIED, *HELPERS), references)
    passes = f"NOT ({masks.keeps_row_out(judged.words)})"
    found = outcomes(judged.frame, schema, passes, corrections)
    return _Evaluated(found, judged, passes, schema, corrections, done.unusable)


def judge_again(
    bench: Bench, suite: Suite, frame: DataFrame, carried: tuple[str, ...], references: PinnedReferences
) -> Judged:
    """Rows that were in the quarantine, judged as a recycle would: by today's rules and what the asset asks today."""
    suite = as_judged(suite)
    whole = frame.schema.jsonValue()
    source = TableSchema.from_json({"fields": [f for f in whole["fields"] if f["name"] not in carried]})
    path, logs = bench.places.asset(bench.spark, suite), DeltaLogs(bench.spark)
    demands: tuple[Instance, ...] = ()
    incompatible: str | None = None
    if logs.exists(path):
        facts = logs.facts(path)
        own = dict.fromkeys(suite.operational_metadata, "cast(NULL as string)") | ResultColumns.placeholders(suite)
        fitted = shape(suite, source, facts.schema["fields"], facts.constraints, own)
        demands, incompatible = fitted.demands, fitted.incompatible
    return judge(
        frame,
        suite,
        run_id="correct",
        read=references.read,
        carried=carried,
        demands=demands,
        incompatible=incompatible,
    )


def _carried_out(
    bench: Bench,
    asset: str,
    corrections: tuple[Correction, ...],
    every: DataFrame,
    unusable: Mapping[int, str],
    illegible: Mapping[str, int],
    person: Person,
) -> Attempted:
    spark, places = bench.spark, bench.places
    deed = Deed(Step.CORRECT, by="corrections", means=Means.AUTOMATIC)
    folder = f"{places.attempts}/{deed.id}"
    # One at a time: a second one would try the same records again and find them changed.
    with table_lock(spark, places.attempts):
        bench.files.delete(places.attempts)  # what an attempt left that was cut short
        try:
            every.write.parquet(folder)
            outcomes_there = spark.read.schema(every.schema).parquet(folder)
            totals = _totals(outcomes_there, len(corrections))
            told = _told(asset, corrections, totals, unusable, illegible)
            if told.passing:
                why = ", ".join(f"{c.correction.id}@{c.correction.version} ({c.succeeded})" for c in told.counts)
                told = _changed(bench, told, replace(deed, why=f"tried by {person.name}: {why}"), outcomes_there)
            if told.tried:
                _attest(bench, told, deed, person)
        finally:
            bench.files.delete(folder)
    return told


def _changed(bench: Bench, told: Attempted, deed: Deed, outcomes_there: DataFrame) -> Attempted:
    """The one commit; records that somebody changed meanwhile are left to their next turn."""
    good = outcomes_there.where("lz_passes").select("record_id", "seen", "correction", "by")
    single = [count.correction for count in told.counts if count.succeeded]
    if len(single) == 1:
        deed = replace(deed, by=f"correction:{single[0].id}@{single[0].version}")
    for attempt in range(_TRIES):
        deed = replace(deed, id=uuid.uuid4().hex) if attempt else deed
        now = open_records(bench.spark, bench.places.records, bench.places.outbox, told.asset)
        still = now.selectExpr("record_id AS still_id", "seen AS still_seen")
        left = good.join(still, (good["record_id"] == still["still_id"]) & (good["seen"] == still["still_seen"]))
        try:
            done = act(bench, left.select("record_id", "seen", "correction", "by"), deed)
        except RecordChanged:
            if attempt == _TRIES - 1:
                raise
            continue
        return replace(told, corrected=done.count, version=done.version if done.count else None)
    raise AssertionError("unreachable")


def _attest(bench: Bench, told: Attempted, deed: Deed, person: Person) -> None:
    """What was tried and what succeeded, correction by correction, as a link of the asset's evidence."""
    archive.restore_if_behind(bench, told.asset)
    bench.store.record_action(
        told.asset,
        ACTION,
        key=f"{deed.id}:tried",
        reason=f"{told.corrected} of {told.tried} records corrected",
        actor=person.name,
        assurance=person.assurance,
        subject=deed.id,
        details={
            "tried": told.tried,
            "corrected": told.corrected,
            "table_version": told.version,
            "corrections": [count.to_dict() for count in told.counts],
        },
    )
    archive.note_chain(bench, told.asset)


def _totals(every: DataFrame, number: int) -> Mapping[str, int]:
    def rows(condition: str) -> str:
        return f"count(CASE WHEN {condition} THEN 1 END)"

    asked = {"tried": "count(*)", "passing": rows("lz_passes")}
    for n in range(number):
        asked[f"tried_{n}"] = rows(f"array_contains({TRIED}, {n})")
        asked[f"applied_{n}"] = rows(f"array_contains({APPLIED}, {n})")
        asked[f"succeeded_{n}"] = rows(f"lz_passes AND array_contains({APPLIED}, {n})")
    row = every.selectExpr(*(f"{value} AS {name}" for name, value in asked.items())).first()
    assert row is not None
    return {name: int(value) for name, value in row.asDict().items()}


def _counted(
    corrections: tuple[Correction, ...], totals: Mapping[str, int], unusable: Mapping[int, str]
) -> tuple[Count, ...]:
    return tuple(
        Count(
            one,
            totals.get(f"tried_{n}", 0),
            totals.get(f"applied_{n}", 0),
            totals.get(f"succeeded_{n}", 0),
            unusable.get(n),
        )
        for n, one in enumerate(corrections)
    )


def _told(
    asset: str,
    corrections: tuple[Correction, ...],
    totals: Mapping[str, int],
    unusable: Mapping[int, str],
    illegible: Mapping[str, int],
    *,
    dry_run: bool = False,
    examples: tuple[Example, ...] = (),
) -> Attempted:
    return Attempted(
        asset,
        _counted(corrections, totals, unusable),
        tried=totals["tried"],
        passing=totals["passing"],
        illegible=illegible,
        examples=examples,
        dry_run=dry_run,
    )


def _examples(frames: Sequence[DataFrame], corrections: tuple[Correction, ...], most: int) -> tuple[Example, ...]:
    found = []
    for row in (row for frame in frames for row in frame.collect()):
        names = tuple(corrections[n].id for n in row[APPLIED])
        found.append(
            Example(row["record_id"], names, row["before"], row["after"], row["lz_passes"], tuple(row["broken"] or ()))
        )
    return tuple(found[:most])


def after_quarantine(
    bench: Bench, suite: Suite, sets: Sequence[CorrectionSet], batches: Sequence[str], person: Person
) -> Attempted | None:
    """At the end of a run: try the asset's corrections on what its batches left in the quarantine."""
    mine = tuple(one for each in sets if each.asset == suite.asset for one in each.active)
    if not mine:
        return None
    return correct(bench, suite.asset, mine, [suite], person=person, batches=batches)
