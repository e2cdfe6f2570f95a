"""Fingerprints: SHA-256 over what changes a verdict, and over nothing else.

Names, descriptions, owners and the order of things may change freely; a parameter, a condition, a threshold or
an action may not, without the fingerprint telling.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from lazaretto.model.expression import canonical as canonical_sql
from lazaretto.model.rule import Rule
from lazaretto.model.suite import Suite
from lazaretto.model.values import canonical
from lazaretto.model.words import Takes

_VERDICT_KEYS_OF_A_RULE = (
    "severity",
    "dimension",
    "on_fail",
    "on_error",
    "on_null",
    "retry",
    "optional",
    "expires",
    "warn_above",
    "block_above",
)
_VERDICT_KEYS_OF_A_SUITE = (
    "tier",
    "consumers",
    "mode",
    "write",
    "key",
    "event_time",
    "certify_below",
    "quarantine_batch_above",
    "on_new_column",
    "records_independent",
    "partial_allowed",
    "feeds_aggregates",
)


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sha256(value: Any) -> str:
    """Hash of a JSON-ready value."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def rule_fingerprint(rule: Rule) -> str:
    """Identifies what a rule demands, whatever it is called."""
    parameters = {
        name: canonical(getattr(rule, name))
        for name in rule.parameters()
        if getattr(rule, name) != type(rule).model_fields[name].default
    }
    columns = list(rule.targets)
    form: dict[str, Any] = {
        "check": rule.check,
        "parameters": rule.canonical_parameters(parameters),
        "columns": sorted(columns) if rule.takes is Takes.ONE else columns,
        "where": canonical_sql(rule.where) if rule.where else None,
    }
    form |= {key: canonical(getattr(rule, key)) for key in _VERDICT_KEYS_OF_A_RULE}
    return sha256(form)


def rule_set_fingerprint(suite: Suite) -> str:
    """Identifies all that a suite demands; inactive rules demand nothing."""
    form: dict[str, Any] = {key: canonical(getattr(suite, key)) for key in _VERDICT_KEYS_OF_A_SUITE}
    form["rules"] = sorted(rule_fingerprint(rule) for rule in suite.active_rules)
    return sha256(form)
