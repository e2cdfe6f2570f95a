"""What holds for every check, whoever wrote it."""

from __future__ import annotations

import textwrap
from io import StringIO

import pytest
from ruamel.yaml import YAML

import lazaretto.checks  # noqa: F401 - enters the checks into the catalogue
from lazaretto.model import catalogue
from lazaretto.model.rule import RESERVED_PREFIX, Rule, Site
from lazaretto.model.suite import make_rule
from lazaretto.model.words import Dimension, Takes

CHECKS = [check for check in catalogue.all_checks() if check.__module__.startswith("lazaretto.checks.")]

PROMISED = """
not_null not_empty is_null range regex allowed_values forbidden_values length castable date_format
compare custom_sql email uuid url ipv4 ipv6 iban bic luhn iso_country iso_currency phone_e164 json
referential_integrity transition event_time consistency no_pii masked schema lz.unparseable
lz.castable lz.schema
"""


def _example(check: type[Rule]) -> Rule:
    keys = YAML(typ="safe", pure=True).load(StringIO(textwrap.dedent(check.example)))
    return make_rule(keys.pop("check", check.name), **keys)


def test_all_promised_checks_exist() -> None:
    assert set(PROMISED.split()) <= {check.name for check in CHECKS}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
class TestEveryCheck:
    def test_documents_itself(self, check: type[Rule]) -> None:
        assert (check.__doc__ or "").strip().splitlines()[0].endswith(".")
        assert check.family
        for name in check.parameters():
            assert check.model_fields[name].description, name

    def test_has_an_example_that_is_a_valid_rule(self, check: type[Rule]) -> None:
        assert "check:" in check.example or check.name.startswith(RESERVED_PREFIX)
        assert type(_example(check)) is check

    def test_says_what_it_expects(self, check: type[Rule]) -> None:
        words = _example(check).expects()
        assert words
        assert "\n" not in words

    def test_has_a_json_schema_with_the_keys_of_yaml(self, check: type[Rule]) -> None:
        properties = check.model_json_schema()["properties"]
        assert {check.model_fields[name].alias or name for name in check.parameters()} <= set(properties)
        assert not any(key.endswith("_") for key in properties)

    def test_survives_being_written_and_read_again(self, check: type[Rule]) -> None:
        rule = _example(check)
        assert type(rule).model_validate(rule.model_dump(by_alias=True)) == rule

    def test_speaks_sql(self, check: type[Rule]) -> None:
        rule = _example(check)
        if rule.judges_schema or rule.check == "lz.target":  # judged by the engine itself
            return
        site = Site("`v`", "string", ("`v`",), found="lz_found_it")
        assert rule.passes(site)
        assert "lz_found_it" in rule.passes(site) or rule.lookup() is None


def test_privacy_hides_what_it_finds() -> None:
    for check in CHECKS:
        assert check.hides_value is (check.default_dimension is Dimension.PRIVACY)


def test_built_in_rules_keep_their_ids() -> None:
    for check in CHECKS:
        if check.name.startswith(RESERVED_PREFIX):
            assert check.takes is Takes.NONE
            assert check.model_validate({"id": check.name, "owner": "x"}).owner == "x"
            with pytest.raises(ValueError, match="keeps its id"):
                check.model_validate({"id": "mine"})
