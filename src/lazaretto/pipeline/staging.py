"""One batch is evaluated once, written once, and sealed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from lazaretto.engine.judge import judge
from lazaretto.engine.stage import counts_of, staging, why_dead, with_observed
from lazaretto.engine.target import TargetShape, readable, shape
from lazaretto.model.fingerprint import sha256
from lazaretto.model.schema import TableSchema
from lazaretto.model.seal import ACCEPTED, RECYCLE, ROUTE, SEAL_FILE, Seal, SealedTarget
from lazaretto.model.suite import Suite
from lazaretto.model.words import WriteMode
from lazaretto.pipeline import target as targets
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.failpoints import reach
from lazaretto.pipeline.operational import ResultColumns, operational_sql
from lazaretto.pipeline.order import Clock, Order
from lazaretto.pipeline.payloads import payload_of
from lazaretto.pipeline.person import os_user
from lazaretto.pipeline.references import PinnedReferences
from lazaretto.pipeline.sources import REFUSED, SourceError, Stood, Taken, suite_app
from lazaretto.spark.delta_log import TableFacts, physical_name


class NoRows(Exception):
    """A stretch of a stream has no rows: there is nothing to decide."""


def stage_batch(bench: Bench, suite: Suite, order: Order, taken: Taken, path: str, batch_id: str, clock: Clock) -> Seal:
    """Evaluate the batch once, write it once, and seal it. NoRows: a stretch of a stream is empty."""
    spark, logs, frame = bench.spark, bench.logs, taken.frame
    assert frame is not None
    now = datetime.now(UTC)
    whole = TableSchema.from_json(frame.schema.jsonValue())
    source = TableSchema(tuple(c for c in whole.columns if c.name not in taken.carried))
    operational = operational_sql(suite, order.run_id, batch_id, now, taken)
    targets.create_if_missing(spark, suite, path, source, ResultColumns.types(suite))
    facts = logs.facts(path)
    fitted = fitted_to(suite, source, facts, operational)
    if fitted.new_columns and fitted.incompatible is None:
        targets.add_columns(spark, path, fitted.new_columns)
        facts = logs.facts(path)
        fitted = fitted_to(suite, source, facts, operational)
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
        demands=(
            *fitted.demands,
            *taken.demands,
            *([readable(suite, REFUSED)] if REFUSED in taken.carried else []),
        ),
        incompatible=fitted.incompatible,
        with_denominators=True,
    )
    fitted = ResultColumns.filled(fitted, judged)
    stood = taken.stood or Stood()
    laid_out = staging(
        judged,
        fitted,
        facts.partition_columns,
        payload_of(suite),
        position=taken.position,
        events=stood.events,
    )
    folder = f"lz-{batch_id[:32]}"
    reach("before_stage", spark)
    reach("mid_stage", spark)
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
    if taken.source.stream and not counts_of(files, 0).input:
        bench.files.delete(f"{path}/{folder}")
        raise NoRows
    if taken.rows not in (None, counts_of(files, 0).input):
        bench.files.delete(f"{path}/{folder}")
        raise SourceError(f"{taken.source.name} has {taken.rows} rows, and {counts_of(files, 0).input} were read")
    rules, observed = with_observed(laid_out)
    counts = counts_of(files, observed.get("dead_lettered", 0))
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
            consumers=suite.consumers,
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
            rows_with_errors=observed.get("rows_with_errors", counts.quarantined + counts.dead_lettered),
            rows_with_warnings=observed.get("rows_with_warnings", 0),
            incompatible=fitted.incompatible,
            null_keys=observed.get("null_keys"),
            why_dead=why_dead(laid_out) if counts.dead_lettered else None,
            rules=rules,
            payload=suite.payload.policy,
            publisher=publisher,
            metadata=dict(order.metadata),
            recover_after=stood.recover_after,
            flow=stood.flow(observed, now) if taken.stood is not None else None,
            user=os_user(),
            sealed_at=datetime.now(UTC),
        )
        bench.files.put_if_absent(f"{seal.stage}/{SEAL_FILE}", seal.text())
    reach("after_seal", spark)
    return seal


def fitted_to(suite: Suite, source: TableSchema, facts: TableFacts, operational: dict[str, str]) -> TargetShape:
    """How rows of the source become rows of the table, and what that asks of them."""
    own = operational | ResultColumns.placeholders(suite)
    return shape(suite, source, facts.schema["fields"], facts.constraints, own)


def _stage_configuration(facts: TableFacts) -> dict[str, str]:
    """Settings of the target that shape its files."""
    wanted = ("delta.autoOptimize.optimizeWrite", "delta.targetFileSize", "delta.parquet.compression.codec")
    configuration = {key: value for key, value in facts.configuration.items() if key in wanted}
    # Statistics of the target's columns, as many as it wants, and of none of ours: each costs a little on every row.
    indexed = int(facts.configuration.get(_INDEXED, _INDEXED_BY_DEFAULT))
    leaves = facts.leaf_columns
    return configuration | {_INDEXED: str(leaves if indexed < 0 else min(indexed, leaves))}


_INDEXED, _INDEXED_BY_DEFAULT = "delta.dataSkippingNumIndexedCols", 32


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


def identity(suite: Suite, order: Order, taken: Taken) -> str:
    """What makes two runs the same batch: suite, environment, asset, and what was taken."""
    source = taken.source
    took: object
    if (stream := source.stream) is not None:
        took = [stream.query_id, stream.batch, source.table_id, stream.start, stream.end]
    elif source.kind == "delta":
        took = [source.table_id, source.since_version, source.version]
    elif source.kind == RECYCLE:
        took = [source.table_id, source.version]
    elif source.kind in ("files", "landing"):
        took = list(source.files)
    else:
        took = ["run", order.run_id]
    return sha256([suite.suite, order.env, suite.asset, source.kind, took, order.slice.described()])
