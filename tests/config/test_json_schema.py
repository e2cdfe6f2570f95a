"""The JSON Schema accepts what the loader accepts and refuses what it can see to be wrong."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lazaretto.config.json_schema import json_schema, project_schema
from lazaretto.config.problems import Problems
from lazaretto.config.scaffold import init
from lazaretto.config.yaml_reader import read_text
from lazaretto.model import catalogue
from lazaretto.model.description import rule_example

HEAD = "suite: s\nversion: 1.0\nasset: a.b\nowner: me\n"


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = json_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def data_of(text: str) -> Any:
    root = read_text(text, "f.yml", Problems())
    assert root is not None
    return _as_json(root.plain())


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_json(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_as_json(child) for child in value]
    return float(value) if isinstance(value, Decimal) else value


def test_every_example_of_the_catalogue(validator: Draft202012Validator) -> None:
    # Those that are shipped: tests of a project's own checks may have added theirs after the schema was made.
    shipped = (check for check in catalogue.all_checks() if check.__module__.startswith("lazaretto.checks."))
    for check in (check for check in shipped if check.example):
        lines = "\n  ".join(rule_example(check).splitlines())
        errors = [error.message for error in validator.iter_errors(data_of(f"{HEAD}rules:\n  {lines}\n"))]
        assert not errors, (check.name, errors)


GOOD = [
    "rules: [{id: a, check: not_null, columns: [a, b], severity: high, block_above: 5%, warn_above: 10}]",
    "rules: [{id: a, check: length, column: a, max: '${limit}', active: '${on}', expires: null}]",
    "rules: [{id: a, check: range, column: a, min: 0, max: {column: b}, where: x > 1}]",
    "rules: [{id: a, check: not_null, column: a}, {id: lz.castable, severity: high, block_above: 1%}]",
    "key: a\ntier: regulatory\ncertify_below: 2%\nrules: [{id: a, check: not_null, column: a}]",
    "extends: common\nrules: [{id: a, severity: low}]",
    "extends: [a, b]",
    "metadata: {a: 1, b: true}\nextends: a\nsource: {format: csv, path: /x, options: {header: true}}",
]
BAD = [
    ("rules: [{id: a, check: not_nul, column: a}]", "not_nul"),
    ("rules: [{id: a, check: not_null, colum: a}]", "colum"),
    ("rules: [{id: a, check: not_null}]", "column"),
    ("rules: [{id: a, check: not_null, column: a, min: 5}]", "min"),
    ("rules: [{check: not_null, column: a}]", "id"),
    ("rules: [{id: a, column: a}]", "check"),
    ("rules: [{id: a, check: allowed_values, column: a}]", "allowed"),
    ("rules: [{id: a, check: allowed_values, column: a, allowed: []}]", "[]"),
    ("rules: [{id: a, check: not_null, column: a, severity: error}]", "error"),
    ("rules: [{id: a, check: not_null, column: a, block_above: 0.05}]", "0.05"),
    ("rules: [{id: a, check: not_null, column: a, active: 1}]", "1"),
    ("rules: [{id: a, check: length, column: a, max: -1}]", "-1"),
    ("rules: [{id: lz.castable, column: a}]", "column"),
    ("rules: []", "[]"),
    ("tires: 1\nrules: [{id: a, check: not_null, column: a}]", "tires"),
    ("tier: gold\nrules: [{id: a, check: not_null, column: a}]", "gold"),
    ("source: {format: xls, path: x}\nrules: [{id: a, check: not_null, column: a}]", "xls"),
    ("rules: [{id: a, check: referential_integrity, column: a, reference: {tabel: x}}]", "tabel"),
    ("tier: standard", "rules"),
]


@pytest.mark.parametrize("text", GOOD)
def test_good_files(validator: Draft202012Validator, text: str) -> None:
    assert [error.message for error in validator.iter_errors(data_of(HEAD + text))] == []


@pytest.mark.parametrize(("text", "words"), BAD)
def test_bad_files(validator: Draft202012Validator, text: str, words: str) -> None:
    errors = list(validator.iter_errors(data_of(HEAD + text)))
    assert any(words in str(error) for error in errors)


def test_files_of_entities(validator: Draft202012Validator) -> None:
    rules = "[{id: a, check: not_null, column: a}]"
    good = f"source_system: c\nversion: 1\nowner: me\nentities: {{a: {{asset: a.b, rules: {rules}}}}}"
    assert list(validator.iter_errors(data_of(good))) == []
    for bad in (
        good.replace("source_system: c\n", ""),
        good.replace("asset: a.b", "aset: a.b"),
        good.replace("not_null", "nope"),
        good + "\nsuite: x",
        "source_system: c\nentities: {}",
    ):
        assert list(validator.iter_errors(data_of(bad)))


def test_it_is_documented() -> None:
    definitions = json_schema()["$defs"]
    # Those that are shipped: tests of a project's own checks may have added theirs after the schema was made.
    shipped = (check for check in catalogue.all_checks() if check.__module__.startswith("lazaretto.checks."))
    for check in (check for check in shipped if check.example):
        described = definitions[f"check.{check.name}"]
        assert described["description"]
        for key in check.parameters():
            name = check.model_fields[key].alias or key
            own = described["properties"][name]
            assert own.get("description") or "$ref" in own, (check.name, name)
    assert definitions["rule.severity"]["default"] == "medium"
    assert definitions["suite_file"]["properties"]["certify_below"]["default"] == "1%"


def test_the_new_project_fits_its_schemas(tmp_path: Path) -> None:
    init(tmp_path / "p")
    project = data_of((tmp_path / "p" / "lazaretto.yml").read_text())
    Draft202012Validator.check_schema(project_schema())
    assert list(Draft202012Validator(project_schema()).iter_errors(project)) == []
    assert list(Draft202012Validator(project_schema()).iter_errors(project | {"laek": 1}))
    suite = data_of((tmp_path / "p" / "suites" / "transactions.yml").read_text())
    assert list(Draft202012Validator(json_schema()).iter_errors(suite)) == []
