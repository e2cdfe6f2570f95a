"""Loading suites: files, entities, projects, lone files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lazaretto
from lazaretto.config import codes
from lazaretto.config.suites import load_suite, load_suites, suite_named
from lazaretto.model import catalogue
from lazaretto.model.description import rule_example
from lazaretto.model.errors import ConfigError

ENTITIES = """
    source_system: core
    version: 1.0.0
    owner: payments
    metadata: {team: a}
    rules:
      - {id: shared, check: not_null, column: id}
    entities:
      accounts:
        asset: silver.accounts
        rules:
          - {id: own, check: not_empty, column: name}
          - {id: shared, severity: high}
      cards:
        suite: cards
        asset: silver.cards
        owner: cards-team
        metadata: {cost: 5}
"""


def test_a_file_of_entities(write: Any) -> None:
    write("core.yml", ENTITIES)
    result = load_suites("core.yml")
    assert result.problems == ()
    accounts, cards = result.suites
    assert (accounts.suite, accounts.entity, accounts.source_system) == ("core-accounts", "accounts", "core")
    assert [(rule.id, rule.severity) for rule in accounts.rules] == [("shared", "HIGH"), ("own", "MEDIUM")]
    assert (cards.suite, cards.entity, cards.owner) == ("cards", "cards", "cards-team")
    assert cards.metadata == {"team": "a", "cost": "5"}
    assert str(cards.location) == "core.yml:14:3"
    assert load_suite("core.yml", name="cards") == cards


def test_which_of_several(write: Any) -> None:
    write("core.yml", ENTITIES)
    with pytest.raises(ConfigError, match=r"core.yml holds 2 suites; expected one of cards, core-accounts"):
        load_suite("core.yml")
    with pytest.raises(ConfigError, match=r"no suite 'card' .* did you mean cards\?"):
        load_suite("core.yml", name="card")


def test_a_lone_file(write: Any, suite_text: Any, tmp_path: Path) -> None:
    suite = load_suite(write("s.yml", suite_text()))
    assert suite.suite == "s"
    assert suite.project_root is None
    assert str(suite.location) == "s.yml:2:1"
    assert str(suite.rules[0].location) == "s.yml:10:5"
    with pytest.raises(ConfigError, match=r"LZ-CFG-021 .*belongs to no project"):
        load_suite("s.yml", env="dev")


def test_a_project(write: Any, suite_text: Any, tmp_path: Path) -> None:
    write("lazaretto.yml", "project: p")
    write("suites/a.yml", suite_text())
    write("suites/core/b.yaml", suite_text().replace("suite: s", "suite: b"))
    result = load_suites()
    assert [suite.suite for suite in result.suites] == ["s", "b"]
    assert result.files == ("suites/a.yml", "suites/core/b.yaml")
    assert result.project is not None
    assert result.suites[0].project_root == tmp_path
    assert load_suites(tmp_path).suites == result.suites
    assert load_suites(project=tmp_path).suites == result.suites
    assert load_suites(project=result.project).suites == result.suites
    assert len(load_suites(["suites/core"]).suites) == 1
    assert suite_named("b") == result.suites[1]
    with pytest.raises(ConfigError, match="no suite 'c' in the project"):
        suite_named("c")


def test_a_suite_by_name_does_not_mind_the_others(write: Any, suite_text: Any) -> None:
    write("lazaretto.yml", "project: p")
    write("suites/a.yml", suite_text())
    write("suites/b.yml", "suite: b\nfoo: bar\n")
    assert suite_named("s").suite == "s"
    with pytest.raises(ConfigError, match="LZ-CFG-040"):
        suite_named("b")


def test_one_name_twice(write: Any, suite_text: Any) -> None:
    write("lazaretto.yml", "project: p")
    write("suites/a.yml", suite_text())
    write("suites/b.yml", suite_text())
    result = load_suites()
    assert [str(p) for p in result.problems] == [
        "suites/b.yml:2:8: LZ-CFG-050 the suite s exists already, in suites/a.yml:2; give it a name of its own"
    ]
    assert len(result.suites) == 1


def test_two_suites_may_guard_one_asset(write: Any, suite_text: Any) -> None:
    write("lazaretto.yml", "project: p")
    write("suites/a.yml", suite_text())
    write("suites/b.yml", suite_text().replace("suite: s", "suite: b"))
    assert load_suites().problems == ()


def test_nothing_to_load(write: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert [p.code for p in load_suites("empty").problems] == [codes.NO_SUITES]
    assert [p.code for p in load_suites("none.yml").problems] == [codes.UNREADABLE]
    assert [p.code for p in load_suites(project=tmp_path).problems] == [codes.NO_PROJECT]
    write("lazaretto.yml", "project: p")
    assert [p.code for p in load_suites().problems] == [codes.NO_SUITES]


def test_a_broken_project_does_not_hide_the_mistakes_of_its_suites(write: Any, suite_text: Any) -> None:
    write("lazaretto.yml", "project: p\nfoo: 1\n")
    write("suites/a.yml", suite_text("bar: 1\ndescription: ${x}"))
    found = load_suites(env="dev").problems
    assert [p.code for p in found] == [codes.UNKNOWN_ENVIRONMENT, codes.UNKNOWN_KEY, codes.UNKNOWN_KEY]


def test_text_is_text_as_written(write: Any, suite_text: Any) -> None:
    keys = "columns: [1, 010, true], owner: 1.10, tags: [2026-01-01, no]"
    rules = f"rules:\n  - {{id: 'null', check: not_null, {keys}}}"
    write(
        "s.yml",
        suite_text("source: {format: csv, path: 5, schema: a INT, options: {header: true, n: 1.0}}", rules),
    )
    suite = load_suite("s.yml")
    assert suite.version == "1.0.0"
    assert suite.source is not None
    assert suite.source.options == {"header": "true", "n": "1.0"}
    assert suite.rules[0].columns == ("1", "010", "true")
    assert (suite.rules[0].owner, suite.rules[0].tags) == ("1.10", ("2026-01-01", "no"))


def test_versions_keep_their_zeros(write: Any, suite_text: Any) -> None:
    write("s.yml", suite_text().replace("version: 1.0.0", "version: 1.10"))
    assert load_suite("s.yml").version == "1.10"


def test_words_in_any_case(write: Any, suite_text: Any) -> None:
    write(
        "s.yml",
        suite_text("tier: REGULATORY", "rules:\n  - {id: a, check: not_null, column: a, severity: High}"),
    )
    assert load_suite("s.yml").rules[0].severity == "HIGH"


def test_places_inside_expressions(write: Any, suite_text: Any) -> None:
    rules = """
        rules:
          - id: a
            check: custom_sql
            expression: |
              a > 1 and
                rand() > 0.5
          - id: b
            check: custom_sql
            expression: "a > 1 and rand() > 0.5"
    """
    write("s.yml", suite_text("", rules))
    places = [str(problem.location) for problem in load_suites("s.yml").problems]
    assert places == ["s.yml:14:9", "s.yml:17:28"]


def test_every_example_of_the_catalogue_is_sound(write: Any, suite_text: Any) -> None:
    load_suites([])
    examples = [rule_example(check) for check in catalogue.all_checks() if check.family != "own"]
    assert len(examples) > 30
    listed = "".join("\n  " + example.replace("\n", "\n  ") for example in examples)
    write("s.yml", suite_text("", "rules:") + listed)
    assert load_suites("s.yml").errors == ()


def test_no_spark_and_nothing_heavy_is_imported() -> None:
    code = (
        "import sys\n"
        "from lazaretto.config.suites import load_suites\n"
        "load_suites([])\n"
        "assert not {'pyspark', 'py4j', 'delta', 'sqlalchemy', 'rich', 'typer'} & set(sys.modules)\n"
    )
    source = str(Path(lazaretto.__file__).parents[1])
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": source})


_KEYS = [
    "suite",
    "version",
    "asset",
    "owner",
    "rules",
    "id",
    "check",
    "column",
    "columns",
    "min",
    "max",
    "where",
    "extends",
    "entities",
    "source",
    "reference",
    "allowed",
    "severity",
    "on_fail",
    "expires",
    "if",
    "then",
    "type",
    "zzz",
    "message",
]
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(max_size=8),
    st.sampled_from(
        [
            "not_null",
            "range",
            "regex",
            "high",
            "5%",
            "${x}",
            "${secret:a/b}",
            "a.b",
            "observe",
            "2026-01-01",
            "transition",
        ]
    ),
)
_TREES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.sampled_from(_KEYS), st.text(max_size=4)), inner, max_size=6),
    ),
    max_leaves=25,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=_TREES)
def test_no_tree_is_a_traceback(tmp_path: Path, tree: object) -> None:
    """JSON is YAML: whatever is written, the answer is a suite or problems with places."""
    import json

    path = tmp_path / "s.yml"
    path.write_text(json.dumps(tree), encoding="utf-8")
    result = load_suites(path)
    assert result.suites or result.errors


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rule=st.dictionaries(st.sampled_from(_KEYS), _TREES, max_size=8), check=st.integers(0, 100))
def test_no_rule_is_a_traceback(tmp_path: Path, rule: dict[str, object], check: int) -> None:
    import json

    checks = catalogue.all_checks() or [lazaretto]
    rule["check"] = getattr(checks[check % len(checks)], "name", "not_null")
    suite = {"suite": "s", "version": "1", "asset": "a.b", "owner": "me", "rules": [rule]}
    path = tmp_path / "s.yml"
    path.write_text(json.dumps(suite), encoding="utf-8")
    result = load_suites(path)
    assert result.suites or result.errors


def test_a_suite_with_a_mistake_is_not_run_as_it_was_probably_meant(tmp_path: Path) -> None:
    (tmp_path / "suites").mkdir()
    (tmp_path / "lazaretto.yml").write_text("project: test\n")
    suite = (
        "suite: {}\nversion: 1.0.0\nasset: a.b\nowner: x\nrules:\n  - {{id: r, check: {}, column: amount, min: 0}}\n"
    )
    (tmp_path / "suites" / "sound.yml").write_text(suite.format("sound", "range"))
    (tmp_path / "suites" / "guessed.yml").write_text(suite.format("guessed", "rnage"))
    assert [s.suite for s in load_suites(None, None, tmp_path).suites] == ["sound"]
    assert suite_named("sound", None, tmp_path).suite == "sound"
    with pytest.raises(ConfigError, match="rnage"):
        suite_named("guessed", None, tmp_path)
