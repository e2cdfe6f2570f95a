"""A suite version means the same rules for ever, in each environment."""

from __future__ import annotations

from typing import Any

import pytest

from lazaretto import checks as _checks  # noqa: F401  # fills the catalogue
from lazaretto.model.fingerprint import rule_set_fingerprint
from lazaretto.model.suite import Suite
from lazaretto.store import Store, SuiteChanged, open_store


def make_suite(**changes: Any) -> Suite:
    keys: dict[str, Any] = {
        "suite": "core",
        "version": "1.0.0",
        "asset": "lake.silver.transactions",
        "owner": "payments",
        "rules": [{"id": "id_present", "check": "not_null", "column": "id"}],
    }
    return Suite.model_validate(keys | changes)


STRICTER = [{"id": "id_present", "check": "not_null", "column": "id", "severity": "critical"}]


def test_the_same_again_is_no_news(store: Store) -> None:
    suite = make_suite()
    store.register_suite(suite)
    store.register_suite(suite)
    assert store.suite_fingerprint("core", "1.0.0") == rule_set_fingerprint(suite)


def test_words_may_change_rules_may_not(store: Store) -> None:
    store.register_suite(make_suite())
    store.register_suite(make_suite(description="now with a description", owner="others"))
    with pytest.raises(SuiteChanged, match="bump the version"):
        store.register_suite(make_suite(rules=STRICTER))
    store.register_suite(make_suite(rules=STRICTER, version="1.1.0"))


def test_each_environment_has_its_own(url: str) -> None:
    with open_store(url, environment="dev") as dev, open_store(url, environment="prod") as prod:
        dev.register_suite(make_suite(rules=STRICTER))
        prod.register_suite(make_suite())
        assert dev.suite_fingerprint("core", "1.0.0") != prod.suite_fingerprint("core", "1.0.0")


def test_unknown_suite(store: Store) -> None:
    assert store.suite_fingerprint("core", "1.0.0") is None
