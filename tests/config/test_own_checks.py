"""A project's own checks: loaded before its suites, and refused with their line where Python refuses them."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Any

import pytest

from lazaretto.config import codes, own_checks
from lazaretto.config.own_checks import load_catalogue
from lazaretto.config.problems import Problems
from lazaretto.config.suites import load_suites
from lazaretto.model import catalogue
from lazaretto.model.errors import ConfigError

CHECK = """
    from __future__ import annotations
    from typing import ClassVar
    from lazaretto.model.rule import Rule, Site
    from . import _helper

    class {cls}(Rule):
        '''The number can be divided.'''

        name: ClassVar[str] = "{name}"
        family: ClassVar[str] = "own"
        by: int = 2
        '''Divisor.'''

        def passes(self, site: Site) -> str:
            return f"{{site.value}} % {{self.by}} = 0"

        def expects(self) -> str:
            return _helper.WORDS
"""


@pytest.fixture(autouse=True)
def _project(write: Any) -> None:
    write("lazaretto.yml", "project: p")
    write("checks/_helper.py", "WORDS = 'divisible'\n")


def test_it_is_a_check_like_any_other(write: Any, suite_text: Any) -> None:
    write("checks/divisible.py", CHECK.format(cls="Divisible", name="own_divisible"))
    rules = "rules:\n  - {id: a, check: own_divisible, column: a, by: 3}"
    rules += "\n  - {id: b, check: own_divisible, column: a, bye: 3}"
    write("suites/s.yml", suite_text("", rules))
    result = load_suites()
    assert [str(p).split(": ", 1)[1] for p in result.problems] == [
        "LZ-CFG-040 `bye` is not a key of the check own_divisible; did you mean `by`?"
    ]
    write("suites/s.yml", suite_text("", rules.split("\n  - {id: b")[0]))
    (suite,) = load_suites().suites
    assert suite.rules[0].expects() == "divisible"
    assert load_suites().suites[0] == suite  # loaded twice, the class is the same


def test_a_changed_file_is_read_again(write: Any, suite_text: Any) -> None:
    write("checks/changing.py", CHECK.format(cls="Changing", name="own_changing"))
    load_catalogue()
    assert catalogue.find("own_changing").model_fields["by"].default == 2
    write("checks/changing.py", CHECK.format(cls="Changing", name="own_changing").replace("int = 2", "int = 12"))
    load_catalogue()
    assert catalogue.find("own_changing").model_fields["by"].default == 12


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("x = 1\ny = = 2\n", 2, "SyntaxError"),
        ("import none_such\n", 1, "ModuleNotFoundError: No module named 'none_such'"),
        ("def f():\n    1 / 0\n\n\nf()\n", 2, "ZeroDivisionError"),
        ("raise SystemExit(3)\n", 1, "SystemExit"),
        (CHECK.format(cls="Mine", name="not_null"), 7, "'not_null' exists in lazaretto.checks"),
        (
            CHECK.format(cls="Mine", name="own_mine").replace("by: int", "column: int"),
            7,
            "'column' is a key of every rule",
        ),
    ],
)
def test_what_python_refuses_is_a_problem(write: Any, suite_text: Any, text: str, line: int, words: str) -> None:
    write("checks/broken.py", text)
    write("suites/s.yml", suite_text())
    (problem,) = load_suites().problems
    assert (problem.code, str(problem.location)) == (codes.OWN_CHECK, f"checks/broken.py:{line}:1")
    assert words in problem.message
    with pytest.raises(ConfigError, match="LZ-CFG-027"):
        load_catalogue()


def test_a_name_that_is_no_module_and_a_link_outside(write: Any, suite_text: Any, tmp_path_factory: Any) -> None:
    outside = tmp_path_factory.mktemp("outside") / "evil.py"
    outside.write_text("raise SystemExit('ran')\n")
    Path("checks/linked.py").symlink_to(outside)
    write("checks/my-check.py", "")
    write("suites/s.yml", suite_text())
    assert [problem.code for problem in load_suites().problems] == [codes.OUTSIDE, codes.OWN_CHECK]


def test_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    good = importlib.metadata.EntryPoint("good", "lazaretto.model.words", own_checks.GROUP)
    bad = importlib.metadata.EntryPoint("bad", "lazaretto.none_such", own_checks.GROUP)
    monkeypatch.setattr(own_checks, "_entry_points_loaded", False)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [good, bad])
    problems = Problems()
    own_checks.load_checks(None, problems)
    (problem,) = problems.found
    assert problem.location is None
    assert str(problem).startswith(
        "LZ-CFG-027 the checks of the package lazaretto.none_such cannot be loaded: ModuleNot"
    )
