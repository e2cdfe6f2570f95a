"""Policies of a project: read with places, checked for dead rows, gaps and inversions, explained, used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lazaretto.cli import app
from lazaretto.config.project import load_project
from lazaretto.config.suites import load_suites
from lazaretto.model.policy import BUILT_IN
from lazaretto.model.policy_cases import covering, deciding_rows, silent
from lazaretto.pipeline.control import open_project_store

SUITE = """
suite: s
version: 1.0.0
asset: a.b
owner: o
rules:
  - {id: x, check: not_null, column: x}
  - {id: p, check: not_null, column: y, dimension: privacy}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "suites").mkdir()
    (tmp_path / "policies").mkdir()
    (tmp_path / "suites" / "s.yml").write_text(SUITE)
    (tmp_path / "lazaretto.yml").write_text("project: p\npolicy: mine\n")
    return tmp_path


def problems(project: Path, text: str) -> list[str]:
    (project / "policies" / "mine.yml").write_text(text)
    found = load_suites(None, project=project).problems
    return [f"{p.location.line if p.location else 0} {p.code[-3:]} {p.message}" for p in found]


def test_a_row_that_is_never_reached_is_an_error_naming_both_lines(project: Path) -> None:
    text = "rows:\n- {severity: high, action: warn}\n- {severity: high, tier: regulatory, action: fail_closed}\n"
    dead = [p for p in problems(project, text + "- {action: fail_closed}\n") if " 061 " in p]
    assert dead == ["3 061 line 3 is never reached: line 2 decides all its cases"]
    assert "is for no case that can occur" in problems(project, "rows:\n- {status: skipped, action: warn}\n")[1]


def test_gaps_are_listed_and_mildness_for_something_worse_names_both_cases(project: Path) -> None:
    text = "rows:\n- {severity: critical, status: fail, action: warn}\n- {status: fail, action: block_publication}\n"
    gap, milder = problems(project, text)
    assert gap.endswith("which are closed: status ERROR")
    assert milder.startswith("2 111 line 2 does WARN for (")
    assert "severity CRITICAL" in milder
    assert "line 3 does BLOCK_PUBLICATION for the milder (" in milder
    assert problems(project, "rows:\n- {action: fail_closed}\n") == []


def test_mistakes_have_their_place_and_an_unknown_policy_is_named(project: Path) -> None:
    found = problems(project, "rows:\n- {severty: high, action: warn}\n- {consumers: vital, action: warn}\n- no\n")
    assert [p[:5] for p in found] == ["2 040", "3 045", "4 044"]
    (project / "lazaretto.yml").write_text("project: p\npolicy: mien\n")
    assert "there is no policy 'mien'" in problems(project, "rows:\n- {action: fail_closed}\n")[0]


def test_the_built_in_policy_has_neither_dead_rows_nor_gaps() -> None:
    deciding = deciding_rows(BUILT_IN.rows)
    assert all(covering(BUILT_IN.rows, i, deciding) is None for i in range(len(BUILT_IN.rows)))
    assert silent(deciding) == ()


def test_explain_names_the_row_and_the_floor(project: Path) -> None:
    (project / "policies" / "mine.yml").write_text("rows:\n- {consumers: critical, action: warn}\n")
    asked = ["--asked", "quarantine_batch", "--consumers", "critical", "--output", "json"]
    result = CliRunner().invoke(app, ["policy", "explain", "--project", str(project), *asked])
    case = json.loads(result.output)["case"]
    assert (case["policy_says"], case["floor"], case["action"], case["row"]) == (
        "WARN",
        "QUARANTINE_BATCH",
        "QUARANTINE_BATCH",
        5,
    )
    assert case["place"].endswith("mine.yml:2:3")
    silent_case = CliRunner().invoke(app, ["policy", "explain", "--project", str(project), "--tier", "standard"])
    assert "the default says FAIL_CLOSED" in silent_case.output
    assert CliRunner().invoke(app, ["policy", "explain", "--project", str(project), "--tier", "no"]).exit_code == 2


def test_an_exception_needs_four_eyes_an_expiry_to_come_and_a_rule_that_can_have_one(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lazaretto.pipeline.person.os_user", lambda: "maria")
    (project / "lazaretto.yml").write_text("project: p\n")

    def add(rule: str = "p", by: str = "ann", expires: str = "2999-01-01") -> int:
        given = ["--rules", rule, "--requested-by", by, "--expires", expires, "--reason", "r"]
        return CliRunner().invoke(app, ["exceptions", "add", "a.b", "--project", str(project), *given]).exit_code

    refused = [add(by="Maria"), add(expires="2020-01-01"), add(rule="x"), add(rule="q"), add(expires="soon")]
    assert refused == [2] * 5
    assert not (project / ".lazaretto" / "control.db").exists()
    assert add() == 0
    with open_project_store(load_project(project), None) as store:
        (approval,) = store.approvals("a.b")
    assert (approval.approver, approval.assurance, approval.rules) == ("maria", "asserted", ("p",))
    listed = CliRunner().invoke(app, ["exceptions", "list", "--project", str(project), "--output", "json"])
    assert [(e["requested_by"], e["in_force"]) for e in json.loads(listed.output)] == [("ann", True)]
