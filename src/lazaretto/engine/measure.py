"""Measuring a sealed batch: what each rule found, from the seal and from the rows that failed something.

Row counts are in the seal already. Failures per rule are counted from the bits of quarantined rows and, where some
accepted row was warned about, of accepted ones: one small job, whatever the number of rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from lazaretto import __version__
from lazaretto.model.results import CheckResult, GateContext, Scope
from lazaretto.model.seal import ACCEPTED, QUARANTINED, Seal, SealedRule
from lazaretto.model.words import CheckStatus, WriteMode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def bits_of(spark: SparkSession, seal: Seal, routes: Sequence[str]) -> DataFrame | None:
    """The verdict bits of staged rows that have any; None if there are no such files."""
    from pyspark.sql import types as T

    files = seal.paths_of(*routes)
    if not files:
        return None
    fields = [f"lz_{kind}_{word}" for word in range(seal.words) for kind in ("failed", "errors")]
    schema = T.StructType([T.StructField(name, T.LongType()) for name in fields])
    rows = spark.read.schema(schema).option("recursiveFileLookup", "true").parquet(*files)
    any_bit = " OR ".join(f"{name} != 0" for name in fields)
    return rows.where(any_bit)


def failures_per_rule(spark: SparkSession, seal: Seal) -> dict[tuple[int, int], tuple[int, int]]:
    """(word, bit) → rows that failed, rows that could not be judged."""
    some_accepted = seal.rows_marked > seal.rows_set_aside
    rows = bits_of(spark, seal, (QUARANTINED, ACCEPTED) if some_accepted else (QUARANTINED,))
    if rows is None:
        return {}
    sums = []
    for rule in seal.rules:
        for kind in ("failed", "errors"):
            column = f"lz_{kind}_{rule.word}"
            sums.append(f"count_if(({column} & {1 << rule.bit}L) != 0) AS {kind}_{rule.word}_{rule.bit}")
    found = rows.selectExpr(*sums).first()
    assert found is not None
    return {
        (rule.word, rule.bit): (
            int(found[f"failed_{rule.word}_{rule.bit}"]),
            int(found[f"errors_{rule.word}_{rule.bit}"]),
        )
        for rule in seal.rules
    }


def measure(spark: SparkSession, seal: Seal, evaluated_at: datetime) -> tuple[CheckResult, ...]:
    """What every rule of the batch found."""
    found = failures_per_rule(spark, seal)
    scope = scope_of(seal)
    return tuple(
        _result(seal, rule, found.get((rule.word, rule.bit), (0, 0)), scope, evaluated_at) for rule in seal.rules
    )


def scope_of(seal: Seal) -> Scope:
    """What the results speak of."""
    partition = {k.removeprefix("partition."): v for k, v in seal.slice.items() if k.startswith("partition.")}
    return Scope(asset=seal.target.asset, partition=partition, run_id=seal.run_id, batch_id=seal.batch_id)


def _result(seal: Seal, rule: SealedRule, found: tuple[int, int], scope: Scope, evaluated_at: datetime) -> CheckResult:
    rows = seal.counts.input
    failed, errored = found
    if rule.broken is not None:
        status, failed, errored = CheckStatus.ERROR, 0, rows
    elif rule.kind == "schema":
        status, failed, errored = (CheckStatus.FAIL, rows, 0) if rule.finding else (CheckStatus.PASS, 0, 0)
    elif errored:
        status = CheckStatus.ERROR
    else:
        status = CheckStatus.FAIL if failed else CheckStatus.PASS
    checked = rule.checked if rule.checked is not None else rows
    return CheckResult(
        tool_version=__version__,
        suite=seal.suite,
        suite_version=seal.suite_version,
        rule_id=rule.rule_id,
        rule_version=rule.rule_version,
        rule_fingerprint=rule.rule_fingerprint,
        check=rule.check,
        column=rule.column,
        dimension=rule.dimension,
        severity=rule.severity,
        scope=scope,
        kind=rule.kind,
        status=status,
        checked=checked,
        failed=failed,
        errored=errored,
        observed_value=Decimal(failed) / checked if checked else Decimal(0),
        on_fail=rule.on_fail,
        on_error=rule.on_error,
        optional=rule.optional,
        warn_above=rule.warn_above,
        block_above=rule.block_above,
        reason_code=rule.reason_code,
        message=rule.broken or rule.finding or "",
        owner=rule.owner,
        runbook=rule.runbook,
        evaluated_at=evaluated_at,
    )


def context_of(seal: Seal, *, replaces_published: bool, duplicate_keys: int | None = None) -> GateContext:
    """All that the gate may look at besides the results."""
    broken = [rule for rule in seal.rules if rule.broken and rule.check == "referential_integrity"]
    return GateContext(
        suite=seal.suite,
        suite_version=seal.suite_version,
        rule_set_fingerprint=seal.rule_set_fingerprint,
        scope=scope_of(seal),
        owner=seal.owner,
        tier=seal.tier,
        consumers=seal.consumers,
        mode=seal.mode,
        write=seal.write,
        certify_below=seal.certify_below,
        quarantine_batch_above=seal.quarantine_batch_above,
        rows=seal.counts.input,
        rows_failing=seal.rows_failing,
        rows_quarantined=seal.rows_set_aside,
        rows_with_errors=seal.rows_with_errors,
        rows_with_warnings=seal.rows_with_warnings,
        expected=tuple((rule.rule_id, rule.column) for rule in seal.rules),
        key=seal.key,
        records_independent=seal.records_independent,
        partial_allowed=seal.partial_allowed,
        feeds_aggregates=seal.feeds_aggregates,
        null_keys=seal.null_keys,
        duplicate_keys=duplicate_keys,
        missing_references=tuple(rule.rule_id for rule in broken),
        schema_incompatible=seal.incompatible,
        recycled=seal.recycled,
        replaces_published=replaces_published and seal.write is not WriteMode.APPEND,
        inputs=(
            seal.source.words(),
            *(f"{name} version {v}" for name, v in sorted(seal.source.references.items())),
        ),
        recover_after=seal.recover_after,
        flow=seal.flow,
    )
