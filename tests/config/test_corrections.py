"""Corrections in files: what a fingerprint means, presets and entities, and the schema that editors use."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lazaretto.config.json_schema import corrections_schema
from lazaretto.config.problems import Problems
from lazaretto.config.project import load_project
from lazaretto.config.suites import load_suites
from lazaretto.config.yaml_reader import read_text
from lazaretto.model.correction import Correction, all_transformations
from lazaretto.model.errors import ConfigError
from lazaretto.pipeline.corrections import chosen, corrections_of

Write = Callable[[str, str], Path]

SUITE = """
    suite: s
    version: 1.0.0
    asset: silver.s
    owner: me
    rules:
      - {id: amount_ok, check: castable, column: amount, type: int}
"""
HEAD = "asset: silver.s\nversion: 1.0.0\nowner: me\ncorrections:\n"


def correction(**changes: Any) -> Correction:
    keys = {
        "id": "c",
        "match": {"rules": ("a", "b"), "where": "x > 1"},
        "transformations": tuple(
            kind.model_validate(data)
            for kind in all_transformations()
            if (data := {"trim": {"column": "x"}, "case": {"column": "x", "to": "upper"}}.get(kind.name))
        ),
    }
    return Correction.model_validate(keys | changes)


def test_a_fingerprint_is_of_what_is_done_to_which_records() -> None:
    first = correction()
    same = (
        correction(id="other", description="words", owner="you", version="9", active=False, tags=("t",)),
        correction(match={"rules": ("b", "a"), "where": "x  >  1"}),
    )
    assert {one.fingerprint for one in same} == {first.fingerprint}
    others = (
        correction(match={"rules": ("a",), "where": "x > 1"}),
        correction(match={"rules": ("a", "b")}),
        correction(match={"rules": ("a", "b"), "where": "x > 2"}),
        correction(transformations=first.transformations[::-1]),
        correction(transformations=first.transformations[:1]),
        correction(transformations=(first.transformations[0].model_copy(update={"column": "y"}),)),
        correction(transformations=(first.transformations[0].model_copy(update={"to": "lower"}),)),
    )
    assert len({one.fingerprint for one in (first, *others)}) == len(others) + 1


def test_presets_entities_variables_and_literals(write: Write) -> None:
    write("lazaretto.yml", "project: p\nenvironments:\n  dev: {sign: '$'}\n")
    write("suites/s.yml", SUITE)
    write(
        "presets/money.yml",
        """
        owner: shared
        corrections:
          - id: sign
            match: {rules: [amount_ok]}
            transformations: [{transform: replace, column: amount, find: "${sign:-€}", with: ''}]
        """,
    )
    write(
        "corrections/core.yml",
        """
        source_system: core
        version: 1.10
        extends: money
        entities:
          s:
            asset: silver.s
            corrections:
              - {id: sign, version: 2.0.0}
              - id: words
                match: {where: amount = 'NO'}
                transformations: [{transform: map_values, column: amount, values: {NO: 010, yes: on}}]
        """,
    )
    result = load_suites(project=Path.cwd(), env="dev")
    assert result.problems == ()
    (written,) = result.corrections
    sign, words = written.active
    assert (written.source_system, written.entity, written.version) == ("core", "s", "1.10")
    assert (sign.version, sign.owner, words.version) == ("2.0.0", "shared", "1.10")
    assert sign.transformations[0].find == "$"  # type: ignore[attr-defined]
    assert words.transformations[0].values == {"NO": "010", "yes": "on"}  # type: ignore[attr-defined]
    assert load_suites(Path("corrections"), project=Path.cwd()).corrections[0].corrections[0].id == "sign"


def test_one_file_is_held_against_the_suites_of_its_project(write: Write) -> None:
    write("lazaretto.yml", "project: p\n")
    write("suites/s.yml", SUITE)
    body = "  - {id: c, match: {rules: [amount_okay]}, transformations: [{transform: trim, column: amount}]}\n"
    path = write("corrections/s.yml", HEAD + body)
    (problem,) = load_suites([path]).problems
    assert str(problem).startswith("corrections/s.yml:5:29: LZ-CFG-072 the suite of silver.s has no rule amount_okay")
    assert load_suites([path]).corrections == ()


def test_mistakes_in_corrections_stop_them_and_those_in_suites_do_not(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("lazaretto.yml", "project: p\n")
    write("suites/s.yml", SUITE)
    write("suites/other.yml", "suite: other\n")
    body = "  - {id: c, match: {rules: [amount_ok]}, transformations: [{transform: trim, column: amount}]}\n"
    path = write("corrections/s.yml", HEAD + body)
    project = load_project(Path.cwd())
    loaded = corrections_of(project, None)
    assert [one.id for one in chosen(loaded.corrections, None, None)["silver.s"]] == ["c"]
    path.write_text(HEAD + body.replace("trim", "trin"))
    for folder in (Path.cwd(), path.parent):  # wherever one stands
        monkeypatch.chdir(folder)
        with pytest.raises(ConfigError, match="did you mean trim") as caught:
            corrections_of(project, None)
        assert len(caught.value.problems) == 1


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = corrections_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def _data(text: str) -> Any:
    root = read_text(text, "f.yml", Problems())
    assert root is not None
    return root.plain()


@pytest.mark.parametrize("kind", all_transformations(), ids=lambda kind: kind.name)
def test_every_example_is_valid_for_loader_and_editor(kind: Any, validator: Draft202012Validator, write: Write) -> None:
    step = textwrap.indent(textwrap.dedent(kind.example).strip(), "          ").strip()
    text = f"{HEAD}  - id: c\n    match: {{rules: [amount_ok]}}\n    transformations:\n        - {step}\n"
    write("lazaretto.yml", "project: p\n")
    write("suites/s.yml", SUITE)
    write("corrections/s.yml", text)
    assert load_suites(project=Path.cwd()).problems == ()
    assert not [error.message for error in validator.iter_errors(_data(text))]


@pytest.mark.parametrize(
    "body",
    [
        "[{id: c, transformations: [{transform: trim, column: a}]}]",
        "[{id: c, match: {rule: [a]}, transformations: [{transform: trim, column: a}]}]",
        "[{id: c, match: {rules: [a]}, transformations: [{transform: trm, column: a}]}]",
        "[{id: c, match: {rules: [a]}, transformations: [{transform: case, column: a, to: big}]}]",
        "[{id: c, match: {rules: [a]}, transformations: [{transform: trim, column: a, find: b}]}]",
        "[{id: c, match: {rules: [a]}, transformations: []}]",
        "[]",
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(body: str, validator: Draft202012Validator, write: Write) -> None:
    text = f"asset: silver.s\nversion: 1.0.0\nowner: me\ncorrections: {body}\n"
    assert list(validator.iter_errors(_data(text)))
    assert load_suites([write("corrections/s.yml", text)], project=Path.cwd()).errors
