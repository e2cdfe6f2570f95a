"""A suite goes into the checks table and comes back demanding the same; what was altered there is refused."""

from __future__ import annotations

import json
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import lazaretto as lz
from lazaretto.model import catalogue
from lazaretto.model.fingerprint import rule_fingerprint, rule_set_fingerprint
from lazaretto.observe.checks_table import ChecksTableUnusable, rows, suite_of

AT = datetime(2026, 11, 18, tzinfo=UTC)
HEAD = "suite: s\nversion: 1.0.0\nasset: a.b\nowner: o\n"
SUITE = """
tier: regulatory
key: [id, part]
certify_below: 0.125%
write: replace_partitions
source: {format: csv, path: /in, schema: "id STRING"}
metadata: {team: payments}
rules:
  - {id: present, check: not_null, columns: [id, part], severity: critical, metadata: {jira: "1"}}
  - {id: amount, check: range, column: amount, min: 0.10, max: 12345678901234567890.123456789, where: "kind = 'a'",
     warn_above: 3, block_above: 2.5%, version: 7.0.0}
  - {id: opened, check: range, column: opened, min: 2020-01-01, on_fail: warn, message: "{value} is {expected}"}
  - {id: seen, check: allowed_values, column: kind, allowed: ["1", 1, "on", true], on_fail: observe,
     expires: 2031-01-01}
  - {id: off, check: is_null, column: x, active: false}
"""


def loaded(tmp_path: Path, text: str) -> lz.Suite:
    file = tmp_path / "s.yml"
    file.write_text(text)
    return lz.load_suite(file)


def test_a_suite_comes_back_with_its_fingerprint(tmp_path: Path) -> None:
    suite = loaded(tmp_path, HEAD + SUITE)
    saved = rows(suite, AT)
    assert [row["name"] for row in saved] == ["present", "amount", "opened", "seen"]
    assert [row["criticality"] for row in saved] == ["error", "error", "warn", "warn"]
    assert saved[0]["check"] == {"function": "not_null", "for_each_column": ["id", "part"], "arguments": {}}
    assert saved[0]["user_metadata"]["jira"] == "1"
    assert saved[1]["filter"] == "kind = 'a'"
    assert json.loads(saved[1]["check"]["arguments"]["column"]) == "amount"
    assert {row["run_config_name"] for row in saved} == {"s"}
    back = suite_of(saved)
    assert rule_set_fingerprint(back) == rule_set_fingerprint(suite)
    assert back.model_dump() == suite.model_copy(update={"rules": suite.active_rules}).model_dump()


def test_every_check_of_the_catalogue_comes_back(tmp_path: Path) -> None:
    for check in catalogue.all_checks():
        if not check.__module__.startswith("lazaretto."):
            continue
        rule = textwrap.indent(textwrap.dedent(check.example).strip(), "    ").replace("    ", "  - ", 1)
        suite = loaded(tmp_path, f"{HEAD}rules:\n{rule}\n  - {{id: other, check: not_null, column: x}}\n")
        back = suite_of(rows(suite, AT))
        assert [rule_fingerprint(r) for r in back.rules] == [rule_fingerprint(r) for r in suite.rules], check.name


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda row: row["check"]["arguments"].update(min="1"), "the rules amount were altered"),
        (lambda row: row.update(filter=None), "the rules amount were altered"),
        (lambda row: row["check"]["arguments"].update(min="{"), "no suite any more"),
        (lambda row: row["check"].update(function="rnage"), "no suite any more"),
        (lambda row: row["user_metadata"].pop("lazaretto.rule"), "were not written by lazaretto export checks"),
    ],
)
def test_what_was_altered_in_the_table_is_refused(tmp_path: Path, change: Any, named: str) -> None:
    saved = rows(loaded(tmp_path, HEAD + SUITE), AT)
    change(saved[1])
    with pytest.raises(ChecksTableUnusable, match=named):
        suite_of(saved)


def test_a_missing_rule_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ChecksTableUnusable, match="number of its rules"):
        suite_of(rows(loaded(tmp_path, HEAD + SUITE), AT)[:2])
    with pytest.raises(ChecksTableUnusable, match="no rows"):
        suite_of([])
