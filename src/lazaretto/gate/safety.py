"""Grounds that lie in the batch and not in one rule: the safety rules for setting records aside.

Setting records aside and publishing the rest is right only where the rest is sound without them. Where it is
not, the whole batch is held: QUARANTINE_BATCH where the input is at fault and goes back as a whole,
BLOCK_PUBLICATION where the output would mislead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lazaretto.gate.ground import GATE_PREFIX, Ground
from lazaretto.gate.wording import rows
from lazaretto.model.results import GateContext
from lazaretto.model.words import GateAction, GateReason, Mode


def _ground(action: GateAction, code: GateReason, why: str, *, releasable: bool = True) -> Ground:
    return Ground(action, code, f"{GATE_PREFIX}{code.lower()}", why, releasable=releasable)


def of_the_batch(context: GateContext) -> Iterator[Ground]:
    """What is wrong with the batch as a whole, whatever its rules say."""
    if context.schema_incompatible is not None:
        # Not to be released: files of another shape would make the asset unreadable, whoever approves.
        why = f"the batch does not fit the asset's schema: {context.schema_incompatible}"
        yield _ground(GateAction.BLOCK_PUBLICATION, GateReason.SCHEMA_INCOMPATIBLE, why, releasable=False)
    limit = context.quarantine_batch_above
    if not context.recycled and limit.exceeded_by(context.rows_failing, context.rows):
        share = f"{context.rows_failing:,} of {rows(context.rows)}"
        why = f"{share} break a rule, more than {limit}: the input is at fault"
        annotated = context.mode is Mode.ANNOTATE  # no flood of records to prevent: the rows stay in
        yield _ground(GateAction.WARN if annotated else GateAction.QUARANTINE_BATCH, GateReason.REJECT_RATE, why)


def of_separation(found: Iterable[Ground], context: GateContext) -> Iterator[Ground]:
    """What forbids publishing a batch without the rows that were set aside."""
    by_a_rule = any(ground.sets_aside for ground in found)
    if not by_a_rule and context.rows_quarantined <= 0:
        return
    if not by_a_rule:  # a row no sink can take, or one that could not be judged
        yield Ground(
            GateAction.QUARANTINE_RECORDS,
            GateReason.RECORDS_QUARANTINED,
            f"{GATE_PREFIX}records_quarantined",
            f"the batch goes without {rows(context.rows_quarantined)} that were set aside",
            severity=0,
        )
    if not context.records_independent:
        why = "rows were rejected and the records of a batch depend on each other: it goes back as a whole"
        yield _ground(GateAction.QUARANTINE_BATCH, GateReason.RECORDS_DEPENDENT, why)
    # Corrected records are known by their ids, with or without a key.
    if not context.recycled and context.null_keys is not None and context.null_keys > 0:
        why = f"rows were rejected and {rows(context.null_keys)} have no key: repairs could not be matched"
        yield _ground(GateAction.QUARANTINE_BATCH, GateReason.KEY_NULL, why)
    if not context.recycled and context.duplicate_keys is not None and context.duplicate_keys > 0:
        why = f"rows were rejected and {rows(context.duplicate_keys)} share a key: repairs could not be matched"
        yield _ground(GateAction.QUARANTINE_BATCH, GateReason.KEY_NOT_UNIQUE, why)
    if not context.partial_allowed:
        why = "rows were rejected and the suite does not allow partial output"
        yield _ground(GateAction.BLOCK_PUBLICATION, GateReason.PARTIAL_NOT_ALLOWED, why)
    if context.feeds_aggregates:
        why = "rows were rejected and the asset feeds aggregates, which would be wrong without them"
        yield _ground(GateAction.BLOCK_PUBLICATION, GateReason.AGGREGATES_FED, why)
    if context.missing_references:
        names = ", ".join(context.missing_references)
        why = f"rows were rejected while a reference is missing ({names}), so which rows are bad is not known"
        yield _ground(GateAction.BLOCK_PUBLICATION, GateReason.REFERENCE_MISSING, why)
