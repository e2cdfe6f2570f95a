"""Why a row failed, as SQL text: built from the bits, for failing rows only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lazaretto.checks import sql
from lazaretto.engine import masks
from lazaretto.engine.masks import Word
from lazaretto.engine.paths import MissingColumn, resolve
from lazaretto.engine.plan import Instance, Plan, shown_value
from lazaretto.model.schema import TableSchema
from lazaretto.model.template import parts_of
from lazaretto.model.words import CheckStatus, OnError, OnFail, Severity

_SEEN_BY_STEWARDS = (
    "rule_id",
    "rule_version",
    "rule_type",
    "column_name",
    "expected_value",
    "actual_value",
    "expression",
    "severity",
    "dimension",
    "message",
    "reason_code",
    "status",
    "rule_fingerprint",
)
FAILED_RULE_TYPE = f"array<struct<{','.join(f'{name}:string' for name in _SEEN_BY_STEWARDS)}>>"
"""Shape of `dq_failed_rules`."""

FAILURE_TYPE = (
    FAILED_RULE_TYPE.removesuffix(">>")
    + ",columns:array<string>,`filter`:string,metadata:map<string,string>,warning:boolean>>"
)
"""Shape of the failures kept in the quarantine: all that any of the published shapes can be made of. `filter` is quoted
for sessions that enforce reserved keywords."""


def failed_rules(words: Iterable[Word], schema: TableSchema) -> str:
    """SQL of `dq_failed_rules`: every rule the row broke or could not be judged by, observed ones apart."""
    return _collected(
        words,
        lambda instance, status, broken: _struct(_shown_to_stewards(instance, status, broken, schema)),
        _not_only_observed,
        lambda instance: True,
        FAILED_RULE_TYPE,
    )


def failures(words: Iterable[Word], schema: TableSchema) -> str:
    """SQL of the failures as the quarantine keeps them."""

    def element(instance: Instance, status: str, broken: str) -> str:
        if_failed = str(instance.on_fail is OnFail.WARN).lower()
        if_broken = str(instance.rule.effective_on_error is OnError.WARN).lower()
        fields = _shown_to_stewards(instance, status, broken, schema) | {
            "columns": _names(instance),
            "filter": _text_or_null(instance.rule.where),
            "metadata": _metadata(instance),
            "warning": f"if({broken}, {if_broken}, {if_failed})",
        }
        return _struct(fields)

    return _collected(words, element, _not_only_observed, lambda instance: True, FAILURE_TYPE)


def _shown_to_stewards(instance: Instance, status: str, broken: str, schema: TableSchema) -> dict[str, str]:
    rule = instance.rule
    values = (
        sql.text(rule.id),
        sql.text(instance.version),
        sql.text(rule.check),
        _text_or_null(instance.column),
        sql.text(rule.expects()),
        instance.actual,
        sql.text(instance.shown),
        sql.text(rule.severity.value),
        sql.text(rule.dimension.value),
        message(instance, broken, schema),
        sql.text(rule.reason_code),
        status,
        sql.text(instance.fingerprint),
    )
    return dict(zip(_SEEN_BY_STEWARDS, values, strict=True))


def _not_only_observed(instance: Instance) -> bool:
    return instance.on_fail is not OnFail.OBSERVE


def _names(instance: Instance) -> str:
    columns = sql.literals(instance.columns, "string")
    return f"array({columns})" if columns else "cast(array() as array<string>)"


def _metadata(instance: Instance) -> str:
    pairs = ", ".join(f"{sql.text(key)}, {sql.text(value)}" for key, value in instance.rule.metadata.items())
    return f"map({pairs})" if pairs else "cast(NULL as map<string,string>)"


RESULT_TYPE = (
    "array<struct<name:string,message:string,columns:array<string>,filter:string,function:string,"
    "run_time:timestamp,run_id:string,user_metadata:map<string,string>,rule_fingerprint:string,"
    "rule_set_fingerprint:string>>"
)
"""Shape of `_errors` and `_warnings`."""


def results(
    plan: Plan, words: Sequence[Word], schema: TableSchema, run_id: str, run_time: str, *, warnings: bool
) -> str:
    """SQL of `_errors` (or `_warnings`); NULL where there is none."""

    def element(instance: Instance, status: str, broken: str) -> str:
        rule = instance.rule
        fields = {
            "name": sql.text(rule.id),
            "message": message(instance, broken, schema),
            "columns": _names(instance),
            "filter": _text_or_null(rule.where),
            "function": sql.text(rule.check),
            "run_time": run_time,
            "run_id": sql.text(run_id),
            "user_metadata": _metadata(instance),
            "rule_fingerprint": sql.text(instance.fingerprint),
            "rule_set_fingerprint": sql.text(plan.fingerprint),
        }
        return _struct(fields)

    failing, erring = kinds(warnings=warnings)
    some = masks.any_bit(words, failing, erring)
    return f"CASE WHEN {some} THEN {_collected(words, element, failing, erring, RESULT_TYPE)} END"


def kinds(*, warnings: bool) -> tuple[Callable[[Instance], bool], Callable[[Instance], bool]]:
    """Which instances make an error (or a warning) of a row by failing, and which by being impossible to evaluate."""

    def failing(instance: Instance) -> bool:
        if instance.on_fail is OnFail.OBSERVE:
            return False
        return (instance.on_fail is OnFail.WARN) is warnings

    def erring(instance: Instance) -> bool:
        return (instance.rule.effective_on_error is OnError.WARN) is warnings

    return failing, erring


def highest_severity(words: Iterable[Word]) -> str:
    """SQL of the highest severity among the rules a row broke."""
    listed = list(words)
    cases = []
    for severity in reversed(Severity):

        def of_it(instance: Instance, wanted: Severity = severity) -> bool:
            return instance.rule.severity is wanted

        def of_it_and_counted(instance: Instance, wanted: Severity = severity) -> bool:
            return instance.rule.severity is wanted and instance.on_fail is not OnFail.OBSERVE

        # What an observed rule finds is not held against the row; that it broke is.
        some = masks.any_bit(listed, failing=of_it_and_counted, erring=of_it)
        if some != "false":
            cases.append(f"WHEN {some} THEN '{severity.value}'")
    return f"CASE {' '.join(cases)} END"


def message(instance: Instance, broken: str, schema: TableSchema) -> str:
    """SQL of the sentence for a person: the rule's own template, or a plain one."""
    rule = instance.rule
    where = f"{instance.column}: " if instance.column else ""
    if instance.broken is not None:
        return sql.text(f"{where}could not be checked: {instance.broken}")
    could_not = sql.text(f"{where}could not be checked: evaluating {rule.check} failed on this value")
    if instance.finding is not None:
        return sql.text(instance.finding)
    if rule.message is None:
        said = f"concat({sql.text(f'{where}expected {rule.expects()}, found ')}, coalesce({instance.actual}, 'NULL'))"
    else:
        said = _filled(instance, rule.message, schema)
    return f"if({broken}, {could_not}, {said})"


def _filled(instance: Instance, template: str, schema: TableSchema) -> str:
    rule = instance.rule
    fixed = {
        "expected": rule.expects(),
        "column": instance.column or "",
        "rule": rule.id,
        "severity": rule.severity.value,
        "reason_code": rule.reason_code,
    }
    pieces = []
    for part in parts_of(template):
        if part.kind == "text":
            pieces.append(sql.text(part.text))
        elif part.text == "value":
            pieces.append(f"coalesce({instance.actual}, 'NULL')")
        elif part.kind == "placeholder":
            pieces.append(sql.text(fixed[part.text]))
        elif rule.hides_value:
            pieces.append("'[hidden]'")
        else:
            try:
                path = resolve(part.text, schema)
                pieces.append(f"coalesce({shown_value(path.sql, path.type)}, 'NULL')")
            except MissingColumn:
                pieces.append(sql.text(f"{{row.{part.text}}}"))  # a message must never cost a verdict
    return f"concat({', '.join(pieces)})" if pieces else "''"


def _collected(
    words: Iterable[Word],
    element: Callable[[Instance, str, str], str],
    failing: Callable[[Instance], bool],
    erring: Callable[[Instance], bool],
    type_name: str,
) -> str:
    elements = []
    for word in words:
        for bit, instance in enumerate(word.instances):
            failed = f"({word.failed} & {1 << bit}L) != 0" if failing(instance) else "false"
            broken = f"({word.errors} & {1 << bit}L) != 0" if erring(instance) else "false"
            if failed == broken == "false":
                continue
            status = f"if({broken}, '{CheckStatus.ERROR}', '{CheckStatus.FAIL}')"
            elements.append(f"CASE WHEN {failed} OR {broken} THEN {element(instance, status, broken)} END")
    if not elements:
        return f"cast(array() as {type_name})"
    return f"cast(filter(array({', '.join(elements)}), lz_x -> lz_x IS NOT NULL) as {type_name})"


def _struct(fields: dict[str, str]) -> str:
    return "named_struct(" + ", ".join(f"'{name}', {value}" for name, value in fields.items()) + ")"


def _text_or_null(value: str | None) -> str:
    return "cast(NULL as string)" if value is None else sql.text(value)
