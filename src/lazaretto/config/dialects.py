"""How other quality tools say it, and how we do. Tables only: a new word is one line.

Names are compared without regard to case, `_` and `-`, so `actionOnFail` and `action_on_fail` are one entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal, InvalidOperation
from typing import Any


def fold(word: str) -> str:
    """A name without what differs between spellings."""
    return word.casefold().replace("_", "").replace("-", "").replace(" ", "")


def _table(**words: str) -> dict[str, str]:
    return {fold(word): ours for ours, listed in words.items() for word in listed.split()}


CHECK_KEYS = frozenset(
    map(
        fold,
        (
            "type",
            "rule_type",
            "function",
            "expectation_type",
            "expectation",
            "check_type",
            "test",
            "check",
            "rule",
            "constraint",
        ),
    )
)
"""Keys by which others say which check is meant."""

RULE_KEYS = _table(
    id="name rule_id ruleId rule_name check_name",
    column="column_name columnName field col target_column",
    columns="for_each_column column_list column_names fields cols",
    where="filter condition row_condition predicate when",
    severity="criticality level priority importance",
    on_fail="actionOnFail action_if_failed error_if_failed on_failure action on_violation failure_action",
    on_error="action_on_error error_action",
    block_above="mostly threshold fail_threshold error_threshold error_if max_failures",
    warn_above="warn_threshold warning_threshold warn_if",
    message="msg error_message error_msg",
    description="comment notes doc docs",
    active="enabled is_active is_enabled",
    metadata="user_metadata meta",
    tags="labels tag",
    owner="team steward contact",
    runbook="runbook_url playbook",
    expires="until observe_until expiry",
    allowed="allowedValues value_set allowed_values values valid_values accepted_values",
    forbidden="forbiddenValues forbidden_values not_allowed",
    pattern="regex regexp regular_expression",
    min="min_value minimum min_limit lower_bound ge gte",
    max="max_value maximum max_limit upper_bound le lte",
    expression="sql sql_expression expr",
    reference="ref_table reference_table to parent_table lookup_table ref_columns ref_column",
)

SUITE_KEYS = _table(
    suite="suiteId suite_name name id expectation_suite_name run_config_name",
    asset="table target dataset target_table data_asset_name table_name",
    rules="checks expectations tests ruleset quality constraints",
    source="input input_config reader source_table",
    key="primary_key primaryKey keys merge_columns unique_key",
    owner="owners team steward",
    extends="include includes imports inherits preset presets import",
    source_system="system sourceSystem",
    event_time="timestamp_column event_timestamp watermark",
    write="write_mode load_type",
    entities="tables datasets models",
)

CHECKS = _table(
    not_null="is_not_null notNull isComplete expect_column_values_to_not_be_null no_missing missing required",
    not_empty="is_not_empty is_not_null_and_not_empty not_blank",
    is_null="expect_column_values_to_be_null",
    range="between is_in_range expect_column_values_to_be_between is_between isNonNegative isPositive",
    regex="regex_match matches_regex pattern hasPattern expect_column_values_to_match_regex matches",
    allowed_values="accepted_values is_in_list in_set isin isContainedIn expect_column_values_to_be_in_set",
    forbidden_values="is_not_in_list not_in_set expect_column_values_to_not_be_in_set",
    length="expect_column_value_lengths_to_be_between string_length hasMaxLength hasMinLength len",
    referential_integrity="relationships foreign_key fk references lookup reference",
    custom_sql="sql sql_expression expression satisfies expression_is_true sql_query",
    unique="isUnique is_unique expect_column_values_to_be_unique uniqueness duplicates",
    castable="is_type data_type expect_column_values_to_be_of_type hasDataType type",
    date_format="is_valid_date is_valid_timestamp",
)

_WORDS: dict[str, dict[str, str]] = {
    "severity": _table(
        critical="fatal blocker emergency p1 sev1",
        high="error major severe p2",
        medium="moderate normal p3",
        low="warn warning minor p4",
        info="information notice debug none",
    ),
    "on_fail": _table(
        warn="warning log alert ignore continue accept",
        quarantine_records="quarantine drop reject skip divert filter dead_letter dlq quarantine_rows",
        quarantine_batch="hold hold_batch",
        block_publication="fail error abort stop raise block fail_run",
        fail_closed="lock halt",
    ),
    "on_error": _table(
        warn="warning log ignore continue",
        quarantine_records="quarantine drop",
        block_publication="fail error abort stop raise",
    ),
    "on_null": _table(**{"pass": "ignore skip accept true allow", "fail": "error reject false deny"}),
    "dimension": _table(
        validity="accuracy conformity correctness",
        freshness="timeliness recency",
        referential_integrity="integrity",
        completeness="missing",
        uniqueness="duplicates",
        structure="schema",
    ),
    "tier": _table(exploratory="low dev sandbox", standard="medium normal default", regulatory="high critical gold"),
    "operator": {"==": "=", "===": "=", "<>": "!=", "=>": ">=", "=<": "<="}
    | _table(**{"=": "eq equals", "!=": "ne neq", "<": "lt", "<=": "le lte", ">": "gt", ">=": "ge gte"}),
    "mode": _table(quarantine="split", annotate="mark flag"),
    "write": _table(append="insert", replace="overwrite full", replace_partitions="overwrite_partitions dynamic"),
}

NESTED = frozenset(map(fold, ("arguments", "kwargs", "params", "parameters", "args", "config")))
"""Keys under which others hide a check's parameters."""

INVERTED = frozenset(map(fold, ("disabled", "skip", "inactive", "is_disabled")))

KEYS_THAT_ARE_CHECKS = frozenset(
    map(fold, ("isComplete", "isUnique", "isContainedIn", "hasPattern", "satisfies", "not_null", "unique"))
)


def our_rule_key(key: str, value: Any, parameters: Iterable[str]) -> str | None:
    """What to write instead of a rule key of another tool, or None if no tool is known to have it."""
    word = fold(key)
    if word in CHECK_KEYS:
        return f"write `check: {our_check(value) or value}`" if isinstance(value, str) else "write `check: NAME`"
    if word in NESTED:
        return "write the parameters as keys of the rule itself"
    if word in INVERTED:
        return f"write `active: {'false' if value is True else 'true'}`"
    if special := _SPECIAL.get(word):
        return special(value)
    ours = RULE_KEYS.get(word)
    if ours in _PARAMETERS and ours not in set(parameters):
        ours = None
    if ours is None and word in KEYS_THAT_ARE_CHECKS:
        return f"write `check: {our_check(key) or key}`"
    return f"write `{ours}`" if ours else None


def our_suite_key(key: str) -> str | None:
    """The same for a key of a suite."""
    ours = SUITE_KEYS.get(fold(key))
    return f"write `{ours}`" if ours else None


def our_check(name: str) -> str | None:
    """Our name of another tool's check."""
    return CHECKS.get(fold(name))


def our_word(key: str, value: str) -> str | None:
    """Our word for another tool's, among the words of this key."""
    return _WORDS.get(key, {}).get(fold(value))


_PARAMETERS = frozenset(("allowed", "forbidden", "pattern", "min", "max", "expression", "reference"))


def _criticality(value: Any) -> str:
    action = {"error": "quarantine_records", "warn": "warn"}.get(str(value).casefold())
    return f"write `on_fail: {action}`" if action else "write `severity`"


def _mostly(value: Any) -> str:
    try:
        rest = (1 - Decimal(str(value))) * 100
    except InvalidOperation:
        rest = Decimal(-1)
    share = f"{rest.normalize():f}%" if 0 <= rest <= 100 else "5%"
    return f"write `block_above: {share}`, the share that may fail"


_SPECIAL: dict[str, Callable[[Any], str]] = {fold("criticality"): _criticality, fold("mostly"): _mostly}
