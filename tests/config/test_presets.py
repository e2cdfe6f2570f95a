"""`extends`: what is merged, who wins, and where the files may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lazaretto.config import codes
from lazaretto.config.suites import load_suite, load_suites

BASE = """
    tier: regulatory
    key: [a, b]
    metadata: {team: core, cost: 1}
    rules:
      - {id: first, check: not_null, column: a, severity: low, tags: [x, y]}
      - {id: second, check: range, column: b, min: 0, max: 10}
"""


@pytest.fixture(autouse=True)
def _project(write: Any) -> None:
    write("lazaretto.yml", "project: p")
    write("presets/base.yml", BASE)


def suite_of(write: Any, suite_text: Any, more: str, rules: str) -> Any:
    write("suites/s.yml", suite_text(more, rules))
    return load_suite("suites/s.yml")


def test_own_keys_win_and_mappings_are_merged(write: Any, suite_text: Any) -> None:
    more = "extends: base\nmetadata: {cost: 2, extra: 010}\nkey: [c]"
    suite = suite_of(write, suite_text, more, "rules:\n  - {id: third, check: not_null, column: c}")
    assert suite.tier == "regulatory"
    assert suite.metadata == {"team": "core", "cost": "2", "extra": "010"}
    assert suite.key == ("c",)
    assert [rule.id for rule in suite.rules] == ["first", "second", "third"]
    assert suite.extends == ("base",)


def test_rules_are_merged_by_id_key_by_key(write: Any, suite_text: Any) -> None:
    rules = """
        rules:
          - {id: third, check: not_null, column: c}
          - {id: second, max: 20, severity: high}
          - {id: first, columns: [a, z], tags: [w], severity: null}
    """
    suite = suite_of(write, suite_text, "extends: base", rules)
    first, second, third = suite.rules
    assert (second.min, second.max, second.severity, second.column) == (0, 20, "HIGH", "b")
    assert (first.columns, first.column, first.tags) == (("a", "z"), None, ("w",))
    assert first.severity == "MEDIUM"  # null takes the preset's word back
    assert (first.location.file, first.location.line) == ("suites/s.yml", suite.rules[1].location.line + 1)
    assert third.id == "third"


def test_another_check_replaces_the_rule(write: Any, suite_text: Any) -> None:
    suite = suite_of(write, suite_text, "extends: base", "rules:\n  - {id: second, check: not_empty, column: q}")
    assert (suite.rules[1].check, suite.rules[1].column) == ("not_empty", "q")


def test_a_rule_of_a_preset_is_located_in_it(write: Any, suite_text: Any) -> None:
    suite = suite_of(write, suite_text, "extends: base", "")
    assert str(suite.rules[0].location) == "presets/base.yml:6:5"


def test_several_presets_and_presets_of_presets(write: Any, suite_text: Any) -> None:
    write("presets/team/more.yml", "extends: base\ntier: standard\ndescription: more\n")
    write("presets/last.yml", "tier: exploratory\n")
    suite = suite_of(write, suite_text, "extends: [team/more, last]", "")
    assert (suite.tier, suite.description, len(suite.rules)) == ("exploratory", "more", 2)


def test_a_mistake_in_a_preset_is_told_once_and_spoils_every_suite(write: Any, suite_text: Any) -> None:
    write("presets/base.yml", "rules:\n  - {id: first, check: not_nul, column: a}\nmetadata: {a: 1, a: 2}\n")
    for name in ("s", "t", "u"):
        write(f"suites/{name}.yml", suite_text("extends: base").replace("suite: s", f"suite: {name}"))
    result = load_suites()
    assert [(p.code, str(p.location)) for p in result.problems] == [
        (codes.UNKNOWN_CHECK, "presets/base.yml:2:24"),
        (codes.DUPLICATE_KEY, "presets/base.yml:3:18"),
    ]
    assert result.suites == ()


def test_flaws_of_yaml_alone_spoil_every_suite_too(write: Any, suite_text: Any) -> None:
    write("presets/base.yml", "metadata: {a: 1, a: 2}\n")
    for name in ("s", "t"):
        write(f"suites/{name}.yml", suite_text("extends: base").replace("suite: s", f"suite: {name}"))
    result = load_suites()
    assert len(result.errors) == 1
    assert result.suites == ()


def test_presets_that_nobody_extends_are_read_too(write: Any, suite_text: Any) -> None:
    write("presets/lonely.yml", "a: [\n")
    write("suites/s.yml", suite_text())
    assert [str(problem.location) for problem in load_suites().problems] == ["presets/lonely.yml:2:1"]


def test_a_link_out_of_the_project_is_refused(write: Any, suite_text: Any, tmp_path_factory: Any) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.yml").write_text("tier: standard\n")
    (outside / "suite.yml").write_text(suite_text().replace("\f", "\n"))
    write("suites/s.yml", suite_text("extends: leak"))
    Path("presets/leak.yml").symlink_to(outside / "secret.yml")
    Path("suites/linked.yml").symlink_to(outside / "suite.yml")
    result = load_suites()
    assert [(p.code, str(p.location)) for p in result.problems] == [
        (codes.OUTSIDE, "suites/linked.yml:1:1"),
        (codes.OUTSIDE, "suites/s.yml:7:10"),
    ]


@pytest.mark.parametrize("name", ["../base", "/etc/passwd", "a/../../base", "a\\0b"])
def test_names_that_are_paths_are_refused(write: Any, suite_text: Any, name: str) -> None:
    write("suites/s.yml", suite_text(f'extends: "{name}"'))
    assert [problem.code for problem in load_suites().problems] == [codes.OUTSIDE]


def test_a_link_inside_the_project_is_fine(write: Any, suite_text: Any) -> None:
    Path("presets/also.yml").symlink_to(Path("presets/base.yml").absolute())
    assert len(suite_of(write, suite_text, "extends: also", "").rules) == 2
