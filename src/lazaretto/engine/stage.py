"""Staging: the judged rows as one frame to be written once, split by route.

Accepted rows have the target's exact columns; quarantined rows have NULL there and carry two VARIANTs instead: the
source row, and the reasons with all else that is known. Everything costly is built for quarantined rows only.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from lazaretto.checks import sql
from lazaretto.engine import details, masks
from lazaretto.engine.events import Events
from lazaretto.engine.judge import Judged
from lazaretto.engine.paths import MissingColumn, resolve
from lazaretto.engine.plan import shown_value
from lazaretto.engine.target import TargetShape
from lazaretto.model.results import Counts
from lazaretto.model.seal import ACCEPTED, PAYLOAD, QUARANTINED, REJECT, ROUTE, SealedRule
from lazaretto.model.suite import Suite
from lazaretto.model.words import Mode, OnFail, Place
from lazaretto.spark.frames import hushed
from lazaretto.spark.stack import stack_of
from lazaretto.spark.tries import tried_variant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

DEAD = Place.DEAD_LETTER
_NOT_KEPT = (
    "cast(named_struct('class', 'PayloadNotWritable', 'message', 'the row is too large for a payload, or holds a value "
    "that none can hold; its position and hash are kept', 'trace', NULL, 'phase', 'stage') "
    "as struct<class:string,message:string,trace:string,phase:string>)"
)


REJECT_MEMBERS = {
    "payload_hash": "string",
    "payload_schema": "string",
    "payload_policy": "string",
    "failures": details.FAILURE_TYPE,
    "severity": "string",
    "key": "string",
    "event_id": "string",
    "position": "string",
    "rescued": "string",
    "place": "string",
    "error": "struct<class:string,message:string,trace:string,phase:string>",
    "run_time": "timestamp",
    "source_table": "string",
}
"""What a staged quarantined row carries beside its payload, and the types to read it back by."""


@dataclass(frozen=True)
class Kept:
    """SQL of what is kept of a quarantined row."""

    payload: str
    """Made one step before the others, together with the bits."""
    hash: str
    policy: str
    failures: str
    rescued: str
    key: str
    event_id: str

    def unless(self, condition: str, other: Kept, *, from_masks: str) -> Kept:
        """This, except where a condition holds: then the other. `from_masks`: the same, before the bits are there."""

        def chosen(name: str) -> str:
            holds = from_masks if name == "payload" else condition
            return f"CASE WHEN {holds} THEN {getattr(other, name)} ELSE {getattr(self, name)} END"

        return Kept(**{f.name: chosen(f.name) for f in fields(self)})


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
    dead: Callable[[], DataFrame]
    """What no payload can hold, asked for outright: reading it throws what the one write passed over."""


def staging(
    judged: Judged,
    target: TargetShape,
    partitions: tuple[str, ...],
    keep: KeepRow,
    *,
    position: str,
    events: Events | None = None,
) -> Staging:
    """Lay the judged rows out for the one write. Lazy; `position` is SQL of where a row came from."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    suite, words = judged.plan.suite, judged.words
    annotates = suite.mode is Mode.ANNOTATE
    # Not a column of its own: every step copies the whole row, and two bit operations are cheaper.
    out = "false" if annotates else f"({masks.keeps_row_out(words)})"
    out_from_masks = "false" if annotates else masks.keeps_row_out(words, from_masks=True)
    columns = [
        f"CASE WHEN NOT {out} THEN {column.written} END AS {sql.identifier(column.physical)}"
        for column in target.columns
    ]
    kept = _kept(judged, keep)
    held = f"CASE WHEN {out_from_masks} THEN {kept.payload} END"
    payload = tried_variant(judged.masked.sparkSession, held)
    with_payload = judged.with_bits(payload.alias(PAYLOAD))
    lost = f"({PAYLOAD} IS NULL AND {kept.policy} <> 'reference')"
    columns += [PAYLOAD, f"CASE WHEN {out} THEN {_reject(judged, kept, lost, position)} END AS {REJECT}"]
    columns += [name for word in words for name in (word.failed, word.errors)]
    columns.append(f"if({out}, '{QUARANTINED}', '{ACCEPTED}') AS {ROUTE}")
    observation = Observation()
    metrics = _metrics(judged, suite, out) | {"dead_lettered": _rows_where(f"{out} AND {lost}")}
    metrics |= events.metrics(judged) if events is not None else {}
    observed = with_payload.observe(observation, *(F.expr(value).alias(name) for name, value in metrics.items()))
    physical = {column.name: column.physical for column in target.columns}
    frame = observed.selectExpr(*columns)

    def dead() -> DataFrame:
        return judged.masked.where(F.expr(out_from_masks) & payload.isNull()).selectExpr(f"{held} AS {PAYLOAD}")

    columns_of_files = (ROUTE, *(physical[name] for name in partitions))
    return Staging(frame, columns_of_files, observation, sealed_rules(judged), dead)


def _kept(judged: Judged, keep: KeepRow) -> Kept:
    suite = judged.plan.suite
    return keep(
        judged,
        details.failures(judged.words, judged.schema),
        _joined(judged, suite.key),
        _joined(judged, (suite.event_id,) if suite.event_id else ()),
    )


def _reject(judged: Judged, kept: Kept, lost: str, position: str) -> str:
    """SQL of what only a quarantined row carries, as one VARIANT: a column that is nearly always NULL costs, too.

    A row that no VARIANT can hold (`lost`) is a dead letter, known by its position.
    """
    members = {
        "payload_hash": masks.attempt(kept.hash, "string"),
        "payload_policy": f"if({lost}, 'reference', {kept.policy})",
        "payload_schema": sql.text(json.dumps(judged.schema_json, ensure_ascii=False)),
        "failures": kept.failures,
        "severity": f"coalesce({details.highest_severity(judged.words)}, 'INFO')",
        "key": kept.key,
        "event_id": kept.event_id,
        "position": position,
        "rescued": kept.rescued,
        "place": f"if({lost}, '{DEAD}', '{Place.INBOX}')",
        "error": f"if({lost}, {_NOT_KEPT}, NULL)",
        "run_time": judged.run.now,
        "source_table": sql.text(judged.run.source_table),
    }
    listed = ", ".join(f"'{name}', cast({members[name]} as {type_})" for name, type_ in REJECT_MEMBERS.items())
    return f"to_variant_object(named_struct({listed}))"


def _joined(judged: Judged, names: tuple[str, ...]) -> str:
    """SQL of the values of some columns as one text; NULL if one of them is missing."""
    try:
        paths = [resolve(name, judged.schema) for name in names]
    except MissingColumn:
        paths = []
    if not paths:
        return "cast(NULL as string)"
    return "concat(" + ", '|', ".join(shown_value(path.sql, path.type, 200) for path in paths) + ")"


def _metrics(judged: Judged, suite: Suite, out: str) -> dict[str, str]:
    """What the one write counts on its way: rows with any failure, rows without a key, rows a rule applied to."""
    serious = masks.any_bit(judged.words, lambda i: i.on_fail is not OnFail.OBSERVE, lambda i: True)
    everything = masks.any_bit(judged.words, lambda i: True, lambda i: True)
    metrics = {"rows_failing": _rows_where(serious), "rows_marked": _rows_where(everything)}
    metrics |= _results_counted(judged, out)
    try:
        keys = [resolve(name, judged.schema).sql for name in suite.key]
    except MissingColumn:
        keys = []
    if keys:
        # A row without a key that is set aside does no harm; one that would be published means broken keys.
        missing = " OR ".join(f"{key} IS NULL" for key in keys)
        metrics["null_keys"] = _rows_where(f"NOT {out} AND ({missing})")
    for word in judged.words:
        if masks.applies_sql(word) is None:
            continue
        for bit, instance in enumerate(word.instances):
            if instance.applies and instance.broken is None:
                # Where a condition threw, its rules are judged one by one; count the row as one they apply to.
                applied = f"coalesce(({word.applies} & {1 << bit}L) != 0, true)"
                metrics[_checked(word.number, bit)] = _rows_where(applied)
    return metrics


def _results_counted(judged: Judged, out: str) -> dict[str, str]:
    """Rows with `_errors` and with `_warnings`, as far as they are not known without counting."""
    errors = masks.any_bit(judged.words, *details.kinds(warnings=False))
    warnings = masks.any_bit(judged.words, *details.kinds(warnings=True))
    counted = {} if out == f"({errors})" else {"rows_with_errors": _rows_where(errors)}
    return counted if warnings == "false" else counted | {"rows_with_warnings": _rows_where(warnings)}


def _rows_where(condition: str) -> str:
    """SQL of a count. Not count_if, which Spark rewrites to one more projection of the whole row."""
    return f"count(CASE WHEN {condition} THEN 1 END)"


def _checked(word: int, bit: int) -> str:
    return f"checked_{word}_{bit}"


def why_dead(staging: Staging) -> str | None:
    """The stack of what a dead letter throws, without values; for the rare batch that has any."""
    try:
        with hushed():
            staging.dead().limit(1).write.format("noop").mode("overwrite").save()
    except Exception as error:
        return stack_of(error)
    return None


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


def unpacked(*names: str) -> list[str]:
    """SQL of columns `lz_<name>` out of what staged quarantined rows carry; all of it if no names are given."""
    wanted = {name: REJECT_MEMBERS[name] for name in names} if names else REJECT_MEMBERS
    return [f"variant_get({REJECT}, '$.{name}', {sql.text(type_)}) AS lz_{name}" for name, type_ in wanted.items()]


def with_observed(staging: Staging) -> tuple[tuple[SealedRule, ...], dict[str, int]]:
    """After the write: the rules with the rows each applied to, and the other counts."""
    observed: dict[str, Any] = staging.observation.get
    rules = tuple(
        rule.model_copy(update={"checked": observed.get(_checked(rule.word, rule.bit))}) for rule in staging.rules
    )
    return rules, {name: int(value or 0) for name, value in observed.items()}


def counts_of(files: list[dict[str, Any]], dead_lettered: int) -> Counts:
    """Rows by route, from the statistics that the write itself collected."""
    rows = {ACCEPTED: 0, QUARANTINED: 0}
    for file in files:
        rows[file["partitionValues"][ROUTE]] += int(json.loads(file["stats"])["numRecords"])
    return Counts(
        input=sum(rows.values()),
        accepted=rows[ACCEPTED],
        quarantined=rows[QUARANTINED] - dead_lettered,
        dead_lettered=dead_lettered,
    )
