"""`${...}`: what it stands for, what it cannot do, and where secrets may be named."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazaretto.config import codes
from lazaretto.config.problems import Problems
from lazaretto.config.substitution import Substitution
from lazaretto.config.suites import load_suites
from lazaretto.config.yaml_reader import read_text
from lazaretto.model.catalogue import find

VARIABLES = {
    "limit": 1000000,
    "rate": Decimal("0.10"),
    "on": True,
    "names": ["a", "b"],
    "region": "AE",
    "number": "007",
}


def substituted(value: str, variables: dict[str, Any] | None = None, **process: str) -> tuple[Any, list[str]]:
    problems = Problems()
    root = read_text("a: x", "f.yml", problems)
    assert root is not None
    quoted = "a: '" + value.replace("'", "''") + "'"
    root = read_text(quoted, "f.yml", problems)
    assert root is not None
    substitution = Substitution(VARIABLES if variables is None else variables, problems, "dev", process=process)
    return substitution.apply(root).plain()["a"], [problem.code for problem in problems.found]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("${limit}", 1000000),
        ("${rate}", Decimal("0.10")),
        ("${on}", True),
        ("${names}", ["a", "b"]),
        ("${region}", "AE"),
        ("${number}", "007"),
        ("under ${limit}", "under 1000000"),
        ("${rate}%", "0.10%"),
        ("${on}-${region}", "true-AE"),
        ("${none:-5}", 5),
        ("${none:-0.5}", Decimal("0.5")),
        ("${none:-x}", "x"),
        ("${none:-}", ""),
        ("${none:-010}", "010"),
        ("${none:-5}%", "5%"),
        ("${limit:-5}", 1000000),
        ("${env:HOME_OF_TEST}", "42"),
        ("${env:UNSET:-7}", 7),
        ("in ${env:HOME_OF_TEST}", "in 42"),
        ("$${limit}", "${limit}"),
        ("$$${limit}", "$${limit}"),
        ("a$b", "a$b"),
        ("^a$", "^a$"),
        ("$5", "$5"),
    ],
)
def test_what_it_stands_for(written: str, value: object) -> None:
    found, problems = substituted(written, HOME_OF_TEST="42")
    assert problems == []
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("${limt}", codes.UNRESOLVED),
        ("${env:UNSET}", codes.NO_ENVIRONMENT_VARIABLE),
        ("${", codes.BAD_REFERENCE),
        ("${}", codes.BAD_REFERENCE),
        ("${a b}", codes.BAD_REFERENCE),
        ("${names} x", codes.NOT_TEXT),
        ("${secret:a/b}", codes.SECRET_HERE),
        ("${secret:a}", codes.BAD_REFERENCE),
        ("${env:}", codes.BAD_REFERENCE),
        ("${secret:a/b:-c}", codes.BAD_REFERENCE),
        ("${env:A B}", codes.BAD_REFERENCE),
    ],
)
def test_what_it_refuses(written: str, code: str) -> None:
    assert substituted(written)[1] == [code]


@given(st.text())
def test_a_value_cannot_become_yaml(value: str) -> None:
    """Whatever a variable holds, the one key it is the value of stays the only one."""
    found, problems = substituted("<${v}>", {"v": value})
    assert problems == []
    assert found == f"<{value}>"
    whole, _ = substituted("${v}", {"v": value})
    assert whole == value


@given(st.text(alphabet="${}:-/ envscrtab\n"))
def test_no_text_is_a_traceback(value: str) -> None:
    substituted(value)


def test_injection_through_the_environment(write: Any, suite_text: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LZ_TEST_NOTE", "x\nrules: []\nowner: mallory")
    write("s.yml", suite_text("description: ${env:LZ_TEST_NOTE}"))
    (suite,) = load_suites("s.yml").suites
    assert suite.owner == "me"
    assert suite.description == "x\nrules: []\nowner: mallory"
    assert len(suite.rules) == 1


def test_numbers_stay_numbers_and_text_stays_text(write: Any, suite_text: Any) -> None:
    write(
        "lazaretto.yml",
        "project: p\nenvironments: {dev: {limit: 1000000, v: 1.10, off: false, cols: [a, b]}}\n",
    )
    write(
        "suites/s.yml",
        suite_text(
            "description: at most ${limit}",
            """
            rules:
              - {id: r, check: range, column: a, max: "${limit}", version: "${v}", owner: "${limit}"}
              - {id: n, check: not_null, columns: "${cols}", active: "${off}"}
            """,
        ),
    )
    result = load_suites(env="dev")
    assert result.problems == ()
    first, second = result.suites[0].rules
    assert isinstance(first, find("range"))
    assert (first.max, first.version, first.owner) == (1000000, "1.10", "1000000")  # type: ignore[attr-defined]
    assert (second.columns, second.active) == (("a", "b"), False)
    assert result.suites[0].description == "at most 1000000"


def test_what_an_environment_variable_held_is_not_shown(
    write: Any, suite_text: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LZ_TEST_VALUE", "hunter2")
    write("s.yml", suite_text("tier: ${env:LZ_TEST_VALUE}\nwrite: ${env:LZ_TEST_VALUE}\nkey: {a: b}"))
    result = load_suites("s.yml")
    assert len(result.errors) == 3
    assert not [str(problem) for problem in result.problems if "hunter2" in str(problem)]
