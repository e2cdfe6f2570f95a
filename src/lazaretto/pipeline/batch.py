"""`run`: one batch of a suite, from its source to its place.

evaluate → stage → seal → measure → decide → publish → quarantine or hold → confirm
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import perf_counter
from typing import TYPE_CHECKING, Any

from lazaretto.engine.judge import judge
from lazaretto.engine.stage import counts_of, staging, with_observed
from lazaretto.engine.target import TargetShape, shape
from lazaretto.gate.message import lines
from lazaretto.gate.outcome import exit_code
from lazaretto.model.fingerprint import rule_set_fingerprint, sha256
from lazaretto.model.results import Counts, GateDecision
from lazaretto.model.run import RunResult
from lazaretto.model.schema import TableSchema
from lazaretto.model.seal import ACCEPTED, ROUTE, SEAL_FILE, Seal, SealedTarget
from lazaretto.model.suite import Suite
from lazaretto.model.words import Publication, WriteMode
from lazaretto.pipeline import target as targets
from lazaretto.pipeline.failpoints import reach
from lazaretto.pipeline.finish import Bench, Finished, decide_batch, finish, roll_forward
from lazaretto.pipeline.operational import ResultColumns, operational_sql
from lazaretto.pipeline.payloads import payload_of
from lazaretto.pipeline.references import PinnedReferences
from lazaretto.pipeline.sources import Slice, Taken, sliced, suite_app, take, take_frame
from lazaretto.spark.delta_log import DeltaLogs, TableFacts, physical_name
from lazaretto.spark.lock import table_lock
from lazaretto.spark.publisher import batch_app, is_locked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass
class Clock:
    """Times the phases of a run; a run's progress display and its evidence read it."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Enclose a phase."""
        began = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + perf_counter() - began, 3)


@dataclass(frozen=True)
class Order:
    """What the caller asked for."""

    run_id: str
    env: str | None = None
    slice: Slice = field(default_factory=Slice)
    metadata: tuple[tuple[str, str], ...] = ()
    reprocess: bool = False
    strict: bool = False
    wait: float = 600.0


def run_batch(bench: Bench, suite: Suite, order: Order, frame: DataFrame | None, clock: Clock) -> RunResult:
    """Run one batch under the asset's lock; first finish whatever earlier runs left open."""
    spark = bench.spark
    path = bench.places.asset(spark, suite)
    with table_lock(spark, path, wait=order.wait):
        logs = DeltaLogs(spark)
        finished_before = roll_forward(bench, path, clock) if logs.exists(path) else []
        bench.store.register_suite(suite)
        if logs.exists(path) and is_locked(logs, path):
            return _without_batch(suite, "locked", order, finished_before, clock)
        with clock.phase("source"):
            taken = _take(bench, suite, order, frame, path)
        if taken.frame is None:
            return _without_batch(suite, "nothing_new", order, finished_before, clock)
        batch_id = _identity(suite, order, taken)
        if logs.exists(path) and logs.transaction_version(path, batch_app(batch_id)) >= 0:
            return _without_batch(suite, "already_published", order, finished_before, clock, batch_id)
        seal = stage_batch(bench, suite, order, taken, path, batch_id, clock)
        finished = finish(bench, seal, clock)
    return _result(suite, finished, order, finished_before, clock)


def _take(bench: Bench, suite: Suite, order: Order, frame: DataFrame | None, path: str) -> Taken:
    """The caller's frame, or what is new in the suite's source, cut down to the slice asked for."""
    if frame is not None:
        return sliced(take_frame(frame, suite, order.run_id), order.slice)
    taken = take(bench.spark, suite, order.env, bench.places, path, order.slice, reprocess=order.reprocess)
    return sliced(taken, order.slice)


def stage_batch(bench: Bench, suite: Suite, order: Order, taken: Taken, path: str, batch_id: str, clock: Clock) -> Seal:
    """Evaluate the batch once, write it once, and seal it."""
    spark, logs, frame = bench.spark, DeltaLogs(bench.spark), taken.frame
    assert frame is not None
    now = datetime.now(UTC)
    whole = TableSchema.from_json(frame.schema.jsonValue())
    source = TableSchema(tuple(c for c in whole.columns if c.name not in taken.carried))
    operational = operational_sql(suite, order.run_id, batch_id, now, taken)
    targets.create_if_missing(spark, suite, path, source, ResultColumns.types(suite))
    facts = logs.facts(path)
    fitted = _fitted(suite, source, facts, operational)
    if fitted.new_columns and fitted.incompatible is None:
        targets.add_columns(spark, path, fitted.new_columns)
        facts = logs.facts(path)
        fitted = _fitted(suite, source, facts, operational)
    publisher = targets.choose_publisher(spark, suite, facts)
    references = PinnedReferences(spark, bench.places)
    judged = judge(
        frame,
        suite,
        run_id=order.run_id,
        run_time=now,
        source_table=taken.source.name,
        read=references.read,
        carried=taken.carried,
        demands=fitted.demands,
        incompatible=fitted.incompatible,
        with_denominators=True,
    )
    fitted = ResultColumns.filled(fitted, judged)
    laid_out = staging(judged, fitted, facts.partition_columns, payload_of(suite), position=taken.position)
    folder = f"lz-{batch_id[:32]}"
    reach("before_stage", spark)
    bench.files.delete(f"{path}/{folder}")  # what an attempt left that never got its seal
    with clock.phase("stage"):
        files = logs.stage(
            f"{path}/{folder}",
            laid_out.frame.schema.json(),
            list(laid_out.partitions),
            _stage_configuration(facts),
            laid_out.frame,
        )
    reach("after_stage", spark)
    rules, observed = with_observed(laid_out)
    counts = counts_of(files)
    with clock.phase("seal"):
        seal = Seal(
            batch_id=batch_id,
            folder=folder,
            run_id=order.run_id,
            suite=suite.suite,
            suite_version=suite.version,
            environment=order.env,
            rule_set_fingerprint=judged.plan.fingerprint,
            tier=suite.tier,
            mode=suite.mode,
            write=suite.write,
            replaces=_replaced(suite, order, files, facts),
            owner=suite.owner,
            source_system=suite.source_system,
            entity=suite.entity,
            certify_below=suite.certify_below,
            quarantine_batch_above=suite.quarantine_batch_above,
            key=suite.key,
            records_independent=suite.records_independent,
            partial_allowed=suite.partial_allowed,
            feeds_aggregates=suite.feeds_aggregates,
            target=SealedTarget(
                asset=suite.asset,
                path=path,
                table_id=facts.id,
                version=facts.version,
                table_schema=facts.schema_text,
                partition_columns=facts.partition_columns,
            ),
            source=taken.source.model_copy(
                update={"references": references.versions, "suite_app": suite_app(suite, order.env)}
            ),
            slice=order.slice.described(),
            files=tuple(files),
            counts=counts,
            rows_failing=observed.get("rows_failing", 0),
            rows_marked=observed.get("rows_marked", 0),
            incompatible=fitted.incompatible,
            null_keys=observed.get("null_keys"),
            rules=rules,
            payload=suite.payload.policy,
            publisher=publisher,
            metadata=dict(order.metadata),
            sealed_at=datetime.now(UTC),
        )
        bench.files.put_if_absent(f"{seal.stage}/{SEAL_FILE}", seal.text())
    reach("after_seal", spark)
    return seal


def _fitted(suite: Suite, source: TableSchema, facts: TableFacts, operational: dict[str, str]) -> TargetShape:
    own = operational | ResultColumns.placeholders(suite)
    return shape(suite, source, facts.schema["fields"], facts.constraints, own)


def _stage_configuration(facts: TableFacts) -> dict[str, str]:
    """Settings of the target that shape its files."""
    wanted = ("delta.autoOptimize.optimizeWrite", "delta.targetFileSize", "delta.parquet.compression.codec")
    return {key: value for key, value in facts.configuration.items() if key in wanted}


def _replaced(
    suite: Suite, order: Order, files: list[dict[str, Any]], facts: TableFacts
) -> tuple[dict[str, str | None], ...]:
    """Partitions that the batch takes the place of: those it has rows for, and the one it was asked for."""
    if suite.write is not WriteMode.REPLACE_PARTITIONS:
        return ()
    if not facts.partition_columns:
        raise targets.TargetError(f"`write: replace_partitions` needs a partitioned table; {suite.asset} is not")
    physical = {f["name"]: physical_name(f) for f in facts.schema["fields"]}
    found: list[dict[str, str | None]] = []
    if order.slice.partition:
        found.append({physical.get(name, name): value for name, value in order.slice.partition})
    for file in files:
        values = dict(file["partitionValues"])
        if values.pop(ROUTE) == ACCEPTED and values not in found:
            found.append(values)
    return tuple(found)


def _identity(suite: Suite, order: Order, taken: Taken) -> str:
    """What makes two runs the same batch: suite, environment, asset, and what was taken."""
    source = taken.source
    took: object
    if source.kind == "delta":
        took = [source.table_id, source.since_version, source.version]
    elif source.kind == "files":
        took = list(source.files)
    else:
        took = ["run", order.run_id]
    return sha256([suite.suite, order.env, suite.asset, source.kind, took, order.slice.described()])


def rehearse(bench: Bench, suite: Suite, order: Order, frame: DataFrame | None, clock: Clock) -> RunResult:
    """What a run would decide: the same evaluation, in a folder of its own that is gone afterwards."""
    spark, logs = bench.spark, DeltaLogs(bench.spark)
    path = bench.places.asset(spark, suite)
    taken = _take(bench, suite, order, frame, path)
    if taken.frame is None:
        return _without_batch(suite, "nothing_new", order, [], clock)
    with tempfile.TemporaryDirectory(prefix="lazaretto-dry-run-") as scratch:
        stand_in = f"{scratch}/target"
        if logs.exists(path):  # a clone has the target's columns and constraints, and none of its data is moved
            spark.sql(f"CREATE TABLE delta.`{stand_in}` SHALLOW CLONE delta.`{path}`")
        batch_id = _identity(suite, order, taken)
        seal = stage_batch(bench, suite, order, taken, stand_in, batch_id, clock)
        with clock.phase("measure"):
            decision = decide_batch(bench, seal)
    counts = seal.counts_if(published=decision.publishes)
    return _told(suite, seal, decision, counts, order, clock).model_copy(update={"outcome": "dry_run"})


def _result(suite: Suite, finished: Finished, order: Order, before: list[Finished], clock: Clock) -> RunResult:
    told = _told(suite, finished.seal, finished.decision, finished.counts, order, clock)
    return told.model_copy(
        update={
            "action": finished.action,
            "publication": finished.publication,
            "published_version": None if finished.publication is Publication.NOT_PUBLISHED else finished.version,
            "rolled_forward": tuple(f.seal.batch_id for f in before),
        }
    )


def _told(
    suite: Suite,
    seal: Seal,
    decision: GateDecision | None,
    counts: Counts,
    order: Order,
    clock: Clock,
) -> RunResult:
    return RunResult(
        run_id=order.run_id,
        batch_id=seal.batch_id,
        suite=suite.suite,
        suite_version=suite.version,
        rule_set_fingerprint=seal.rule_set_fingerprint,
        asset=suite.asset,
        scope=order.slice.described(),
        action=decision.action if decision else None,
        publication=decision.publication if decision else None,
        reason_code=decision.reason_code if decision else "",
        max_severity=decision.max_severity if decision else None,
        counts=counts,
        message="\n".join(lines(decision)) if decision else "",
        decision=decision,
        seconds=clock.seconds,
        exit_code=exit_code(decision, order.strict) if decision else 0,
    )


_WORDS = {
    "nothing_new": "Nothing new in the source since the last batch; nothing was published.",
    "already_published": "This very batch was published before; nothing was done. Repeat it on purpose with --again.",
    "locked": "The asset is locked: a privacy, security or fail-closed rule failed and nobody has approved yet.",
}


def _without_batch(
    suite: Suite,
    outcome: str,
    order: Order,
    before: list[Finished],
    clock: Clock,
    batch_id: str | None = None,
) -> RunResult:
    return RunResult(
        run_id=order.run_id,
        outcome=outcome,  # type: ignore[arg-type]
        batch_id=batch_id,
        suite=suite.suite,
        suite_version=suite.version,
        rule_set_fingerprint=rule_set_fingerprint(suite),
        asset=suite.asset,
        scope=order.slice.described(),
        message=_WORDS[outcome],
        seconds=clock.seconds,
        rolled_forward=tuple(f.seal.batch_id for f in before),
        exit_code=4 if outcome == "locked" else 0,
    )
