"""Judging a row: bitmasks as SQL text.

Every instance owns one bit, 63 to a long. For a row on which nothing throws (nearly all rows) one expression gives
the failing bits. A row on which any rule throws gets NULL from it instead of killing the batch, and only then a
second expression judges instance by instance: pass, fail or error.

How a throw becomes NULL: `try_to_binary(text)` evaluates its argument inside Catalyst's TryEval, so a mask sent
through it as text comes back, or NULL. It is plain SQL: it needs no JVM access and works on Spark Connect too.
`spark_partition_id()` around the mask serves twice: a conditional branch keeps the optimiser from hoisting shared
casts out of the try, and a non-deterministic column is never inlined into filters, so a mask is computed once.

Every projection copies the whole row, which costs more than most rules: the bits are made in one step from the mask,
and whoever needs them in that very step has `failed_sql` and `errors_sql` instead of the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lazaretto.engine.plan import Instance, Plan
from lazaretto.model.words import OnError

BITS = 63


@dataclass(frozen=True)
class Word:
    """The instances that share one long."""

    number: int
    instances: tuple[Instance, ...]

    @property
    def mask(self) -> str:
        """Name of the column with the failing bits; NULL where some rule threw."""
        return f"lz_mask_{self.number}"

    @property
    def failed(self) -> str:
        """Name of the column with the bits of FAIL."""
        return f"lz_failed_{self.number}"

    @property
    def errors(self) -> str:
        """Name of the column with the bits of ERROR."""
        return f"lz_errors_{self.number}"

    @property
    def applies(self) -> str:
        """Name of the column with the bits of the rules whose `where` holds; NULL where one of those threw."""
        return f"lz_applies_{self.number}"

    def bits(self, wanted: Callable[[Instance], bool]) -> int:
        """The bits of the instances wanted."""
        return sum(1 << bit for bit, instance in enumerate(self.instances) if wanted(instance))


def words_of(plan: Plan) -> tuple[Word, ...]:
    """Deal the instances out to longs."""
    instances = plan.instances
    return tuple(
        Word(number, instances[start : start + BITS]) for number, start in enumerate(range(0, len(instances), BITS))
    )


def attempt(expression: str, type_name: str) -> str:
    """SQL that gives the value of an expression, or NULL where evaluating it throws."""
    guarded = f"CASE WHEN spark_partition_id() >= 0 THEN {expression} END"
    return f"cast(cast(try_to_binary(cast({guarded} as string), 'utf-8') as string) as {type_name})"


def mask_sql(word: Word) -> str:
    """SQL of the failing bits of one long."""
    bits = [
        f"if({instance.ok}, 0L, {1 << bit}L)" for bit, instance in enumerate(word.instances) if needs_the_row(instance)
    ]
    return attempt(" | ".join(bits), "bigint") if bits else "0L"


def applies_sql(word: Word) -> str | None:
    """SQL of the bits of the instances whose `where` holds; None if no instance of the long has one."""
    bits = [
        f"if(coalesce(({instance.applies}), false), {1 << bit}L, 0L)"
        for bit, instance in enumerate(word.instances)
        if instance.applies and needs_the_row(instance)
    ]
    return attempt(" | ".join(bits), "bigint") if bits else None


def _codes_sql(word: Word) -> str:
    """SQL of 0 (pass), 1 (fail) or 2 (error) for each instance.

    Inside a lambda nothing is hoisted, so each instance throws for itself.
    """
    cases = [
        f"WHEN {bit} THEN if({instance.ok}, 0, 1)"
        for bit, instance in enumerate(word.instances)
        if needs_the_row(instance)
    ]
    if not cases:
        return "cast(NULL as array<int>)"
    numbers = ", ".join(str(bit) for bit in range(len(word.instances)))
    verdict = f"CASE lz_i {' '.join(cases)} ELSE 0 END"
    return f"transform(array({numbers}), lz_i -> coalesce({attempt(verdict, 'int')}, 2))"


def failed_sql(word: Word) -> str:
    """SQL of all FAIL bits of one long, those known beforehand included."""
    known = word.bits(lambda instance: instance.verdict is False)
    return f"coalesce({word.mask}, {_bits_where(word, 1)}) | {known}L"


def errors_sql(word: Word) -> str:
    """SQL of all ERROR bits of one long, those known beforehand included."""
    known = word.bits(lambda instance: instance.broken is not None)
    return f"CASE WHEN {word.mask} IS NULL THEN {_bits_where(word, 2)} ELSE 0L END | {known}L"


def _bits_where(word: Word, code: int) -> str:
    bits = f"transform({_codes_sql(word)}, (lz_c, lz_b) -> if(lz_c = {code}, shiftleft(1L, lz_b), 0L))"
    return f"aggregate({bits}, 0L, (lz_x, lz_y) -> lz_x | lz_y)"


def any_bit(
    words: Iterable[Word],
    failing: Callable[[Instance], bool],
    erring: Callable[[Instance], bool],
    *,
    from_masks: bool = False,
) -> str:
    """SQL: some instance of the first kind failed, or some of the second kind could not be evaluated.

    `from_masks`: in the step that makes the columns of the bits, where only the masks are there.
    """
    terms = []
    for word in words:
        if bits := word.bits(failing):
            terms.append(f"(({failed_sql(word) if from_masks else word.failed}) & {bits}L) != 0")
        if bits := word.bits(erring):
            terms.append(f"(({errors_sql(word) if from_masks else word.errors}) & {bits}L) != 0")
    return " OR ".join(terms) or "false"


def keeps_row_out(words: Iterable[Word], *, from_masks: bool = False) -> str:
    """SQL: the row does not belong among the clean ones."""
    return any_bit(
        words,
        failing=lambda instance: instance.on_fail.keeps_row_out,
        erring=lambda instance: instance.rule.effective_on_error is not OnError.WARN,
        from_masks=from_masks,
    )


def needs_the_row(instance: Instance) -> bool:
    """Whether its verdict depends on the row."""
    return instance.broken is None and instance.verdict is None
