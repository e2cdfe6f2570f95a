"""Staging: the judged rows as one frame to be written once, split by route.

Accepted rows have the target's exact columns; quarantined rows have NULL there and carry the source row as VARIANT
with the reasons instead. Everything costly is built for quarantined rows only.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from lazaretto.checks import sql
from lazaretto.engine import details, masks
from lazaretto.engine.judge import Judged
from lazaretto.engine.paths import MissingColumn, resolve
from lazaretto.engine.plan import shown_value
from lazaretto.engine.target import TargetShape
from lazaretto.model.results import Counts
from lazaretto.model.seal import ACCEPTED, QUARANTINED, ROUTE, SealedRule
from lazaretto.model.suite import Suite
from lazaretto.model.words import Mode, OnFail, Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

OUT = "lz_out"


@dataclass(frozen=True)
class Kept:
    """SQL of what is kept of a quarantined row."""

    payload: str
    hash: str
    policy: str
    failures: str
    rescued: str
    key: str
    event_id: str

    def unless(self, condition: str, other: Kept) -> Kept:
        """This, except where a condition holds: then the other."""
        chosen = {
            f.name: f"CASE WHEN {condition} THEN {getattr(other, f.name)} ELSE {getattr(self, f.name)} END"
            for f in fields(self)
        }
        return Kept(**chosen)


KeepRow = Callable[[Judged, str, str, str], Kept]
"""From the judged rows and the SQL of their failures, key and event id: what is kept of each."""


@dataclass(frozen=True)
class Staging:
    """A frame ready to be written, and what to ask the observation afterwards."""

    frame: DataFrame
    partitions: tuple[str, ...]
    """Physical names of the partition columns, the route first."""
    observation: Observation
    rules: tuple[SealedRule, ...]


def staging(
    judged: Judged,
    target: TargetShape,
    partitions: tuple[str, ...],
    keep: KeepRow,
    *,
    position: str,
) -> Staging:
    """Lay the judged rows out for the one write. Lazy; `position` is SQL of where a row came from."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    suite, words = judged.plan.suite, judged.words
    out = "false" if suite.mode is Mode.ANNOTATE else masks.keeps_row_out(words)
    bits = [name for word in words for name in (word.failed, word.errors)]
    with_out = judged.frame.selectExpr("*", f"({out}) AS {OUT}")
    columns = [
        f"CASE WHEN NOT {OUT} THEN {column.value} END AS {sql.identifier(column.physical)}" for column in target.columns
    ]
    columns += [f"CASE WHEN {OUT} THEN {value} END AS {name}" for name, value in _of_rejects(judged, keep, position)]
    columns += bits
    columns.append(f"if({OUT}, '{QUARANTINED}', '{ACCEPTED}') AS {ROUTE}")
    observation = Observation()
    metrics = _metrics(judged, suite)
    observed = with_out.observe(observation, *(F.expr(value).alias(name) for name, value in metrics.items()))
    physical = {column.name: column.physical for column in target.columns}
    frame = observed.selectExpr(*columns)
    return Staging(frame, (ROUTE, *(physical[name] for name in partitions)), observation, sealed_rules(judged))


def _of_rejects(judged: Judged, keep: KeepRow, position: str) -> list[tuple[str, str]]:
    """What only a quarantined row carries."""
    suite = judged.plan.suite
    kept = keep(
        judged,
        details.failures(judged.words, judged.schema),
        _joined(judged, suite.key),
        _joined(judged, (suite.event_id,) if suite.event_id else ()),
    )
    return [
        ("lz_payload", kept.payload),
        ("lz_payload_hash", kept.hash),
        ("lz_payload_policy", kept.policy),
        ("lz_payload_schema", sql.text(json.dumps(judged.schema_json, ensure_ascii=False))),
        ("lz_failures", kept.failures),
        ("lz_severity", f"coalesce({details.highest_severity(judged.words)}, 'INFO')"),
        ("lz_key", kept.key),
        ("lz_event_id", kept.event_id),
        ("lz_position", position),
        ("lz_rescued", kept.rescued),
        ("lz_place", f"'{Place.INBOX}'"),
        ("lz_error", "cast(NULL as struct<class:string,message:string,trace:string,phase:string>)"),
        ("lz_run_time", judged.run.now),
        ("lz_source_table", sql.text(judged.run.source_table)),
    ]


def _joined(judged: Judged, names: tuple[str, ...]) -> str:
    """SQL of the values of some columns as one text; NULL if one of them is missing."""
    try:
        paths = [resolve(name, judged.schema) for name in names]
    except MissingColumn:
        paths = []
    if not paths:
        return "cast(NULL as string)"
    return "concat(" + ", '|', ".join(shown_value(path.sql, path.type, 200) for path in paths) + ")"


def _metrics(judged: Judged, suite: Suite) -> dict[str, str]:
    """What the one write counts on its way: rows with any failure, rows without a key, rows a rule applied to."""
    serious = masks.any_bit(judged.words, lambda i: i.on_fail is not OnFail.OBSERVE, lambda i: True)
    everything = masks.any_bit(judged.words, lambda i: True, lambda i: True)
    metrics = {"rows_failing": f"count_if({serious})", "rows_marked": f"count_if({everything})"}
    try:
        keys = [resolve(name, judged.schema).sql for name in suite.key]
    except MissingColumn:
        keys = []
    if keys:
        # A row without a key that is set aside does no harm; one that would be published means broken keys.
        missing = " OR ".join(f"{key} IS NULL" for key in keys)
        metrics["null_keys"] = f"count_if(NOT {OUT} AND ({missing}))"
    for word in judged.words:
        if masks.applies_sql(word) is None:
            continue
        for bit, instance in enumerate(word.instances):
            if instance.applies and instance.broken is None:
                # Where a condition threw, its rules are judged one by one; count the row as one they apply to.
                metrics[_checked(word.number, bit)] = f"count_if(coalesce(({word.applies} & {1 << bit}L) != 0, true))"
    return metrics


def _checked(word: int, bit: int) -> str:
    return f"checked_{word}_{bit}"


def sealed_rules(judged: Judged) -> tuple[SealedRule, ...]:
    """The rules as they judge this batch."""
    suite = judged.plan.suite
    sealed = []
    for word in judged.words:
        for bit, instance in enumerate(word.instances):
            rule = instance.rule
            sealed.append(
                SealedRule(
                    word=word.number,
                    bit=bit,
                    rule_id=rule.id,
                    rule_version=instance.version,
                    rule_fingerprint=instance.fingerprint,
                    check=rule.check,
                    column=instance.column,
                    kind="schema" if rule.judges_schema else "row",
                    dimension=rule.dimension,
                    severity=rule.severity,
                    on_fail=instance.on_fail,
                    on_error=rule.on_error,
                    optional=rule.optional,
                    warn_above=rule.warn_above,
                    block_above=rule.block_above,
                    reason_code=rule.reason_code,
                    owner=rule.owner or suite.owner,
                    runbook=rule.runbook,
                    broken=instance.broken,
                    finding=instance.finding,
                )
            )
    return tuple(sealed)


def with_observed(staging: Staging) -> tuple[tuple[SealedRule, ...], dict[str, int]]:
    """After the write: the rules with the rows each applied to, and the other counts."""
    observed: dict[str, Any] = staging.observation.get
    rules = tuple(
        rule.model_copy(update={"checked": observed.get(_checked(rule.word, rule.bit))}) for rule in staging.rules
    )
    return rules, {name: int(value or 0) for name, value in observed.items()}


def counts_of(files: list[dict[str, Any]]) -> Counts:
    """Rows by route, from the statistics that the write itself collected."""
    rows = {ACCEPTED: 0, QUARANTINED: 0}
    for file in files:
        rows[file["partitionValues"][ROUTE]] += int(json.loads(file["stats"])["numRecords"])
    return Counts(input=sum(rows.values()), accepted=rows[ACCEPTED], quarantined=rows[QUARANTINED])
