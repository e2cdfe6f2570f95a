"""Would corrected records pass today's rules? Judged as a recycle would judge them; nothing is written."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lazaretto.engine import details, masks
from lazaretto.engine.judge import judge
from lazaretto.engine.plan import Instance
from lazaretto.engine.target import readable
from lazaretto.model.schema import TableSchema
from lazaretto.model.seal import RECYCLE, SealedSource
from lazaretto.model.suite import Suite
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.operational import operational_sql
from lazaretto.pipeline.recycled import CARRIED, as_judged, rows_of
from lazaretto.pipeline.references import PinnedReferences
from lazaretto.pipeline.sources import RECORD, REFUSED, Taken
from lazaretto.pipeline.staging import fitted_to
from lazaretto.spark.delta_log import DeltaLogs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def verdicts(bench: Bench, suite: Suite, records: DataFrame) -> DataFrame:
    """`record_id`, `passes` and `failures` (rule_id, message) of each record. Lazy.

    `records` has the columns of `quarantine.records`, with the correction to be tried.
    """
    judging, now = as_judged(suite), datetime.now(UTC)
    frame = rows_of(bench, judging, records)
    whole = TableSchema.from_json(frame.schema.jsonValue())
    source = TableSchema(tuple(c for c in whole.columns if c.name not in CARRIED))
    taken = Taken(frame, SealedSource(name="preview", kind=RECYCLE), CARRIED)
    logs, path = DeltaLogs(bench.spark), bench.places.asset(bench.spark, suite)
    demands: tuple[Instance, ...] = (readable(suite, REFUSED),)
    incompatible = None
    if logs.exists(path):
        own = operational_sql(judging, "preview", "preview", now, taken)
        fitted = fitted_to(judging, source, logs.facts(path), own)
        demands, incompatible = (*fitted.demands, *demands), fitted.incompatible
    judged = judge(
        frame,
        judging,
        run_time=now,
        read=PinnedReferences(bench.spark, bench.places).read,
        carried=CARRIED,
        demands=demands,
        incompatible=incompatible,
    )
    failed = details.failed_rules(judged.words, judged.schema)
    return judged.frame.selectExpr(
        f"{RECORD} AS record_id",
        f"NOT ({masks.keeps_row_out(judged.words)}) AS passes",
        f"transform({failed}, f -> named_struct('rule_id', f.rule_id, 'message', f.message)) AS failures",
    )
