"""Which edits of a suite file change its fingerprint, and which do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lazaretto.config.suites import load_suite
from lazaretto.model.fingerprint import rule_fingerprint, rule_set_fingerprint

BASE = """\
suite: s
version: 1.0.0
asset: silver.t
owner: me
tier: standard
certify_below: 1%
rules:
  - id: amount
    check: range
    column: amount
    min: 0
    max: 1000
    where: currency = 'AED' AND kind = 'x'
    severity: medium
    block_above: 5%
  - id: status
    check: allowed_values
    column: status
    allowed: [OPEN, CLOSED, 1]
  - id: present
    check: not_null
    columns: [a, b]
"""


def fingerprint(text: str, folder: Path) -> str:
    path = folder / "s.yml"
    path.write_text(text)
    return rule_set_fingerprint(load_suite(path))


def edited(*edits: tuple[str, str]) -> str:
    text = BASE
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


CHANGES = {
    "a bound": ("min: 0", "min: 1"),
    "a bound taken away": ("    min: 0\n", ""),
    "a number that became text": ("max: 1000", "max: '1000'"),
    "the condition": ("kind = 'x'", "kind = 'y'"),
    "no condition": ("    where: currency = 'AED' AND kind = 'x'\n", ""),
    "severity": ("severity: medium", "severity: high"),
    "a threshold": ("block_above: 5%", "block_above: 6%"),
    "a rate that became a count": ("block_above: 5%", "block_above: 5"),
    "the column": ("column: amount", "column: price"),
    "the action": ("severity: medium", "severity: medium\n    on_fail: warn"),
    "what NULL means": ("severity: medium", "severity: medium\n    on_null: fail"),
    "what an error means": ("severity: medium", "severity: medium\n    on_error: warn"),
    "open bounds": ("min: 0", "min: 0\n    open: true"),
    "a value of a list": ("[OPEN, CLOSED, 1]", "[OPEN, CLOSE, 1]"),
    "a text instead of a number in a list": ("[OPEN, CLOSED, 1]", "[OPEN, CLOSED, '1']"),
    "an option": ("column: status", "column: status\n    ignore_case: true"),
    "a column more": ("columns: [a, b]", "columns: [a, b, c]"),
    "switched off": ("columns: [a, b]", "columns: [a, b]\n    active: false"),
    "the check": ("check: not_null", "check: not_empty"),
    "the tier": ("tier: standard", "tier: regulatory"),
    "certify_below": ("certify_below: 1%", "certify_below: 2%"),
    "the mode": ("tier: standard", "tier: standard\nmode: annotate"),
    "the key": ("tier: standard", "tier: standard\nkey: [a]"),
}
KEEPS = {
    "a comment": ("min: 0", "min: 0  # not negative"),
    "0 and 0.0": ("min: 0", "min: 0.0"),
    "1000 and 1_000": ("max: 1000", "max: 1_000"),
    "1000 and 1e3": ("max: 1000", "max: 1e3"),
    "key order": ("    min: 0\n    max: 1000\n", "    max: 1000\n    min: 0\n"),
    "flow style": (
        "    check: not_null\n    columns: [a, b]\n",
        "    check: not_null\n    columns:\n      - a\n      - b\n",
    ),
    "quotes": ("column: amount", "column: 'amount'"),
    "the case of a word": ("severity: medium", "severity: MEDIUM"),
    "a default written out": (
        "severity: medium",
        "severity: medium\n    on_fail: quarantine_records\n    open: false",
    ),
    "the order of a list that is a set": ("[OPEN, CLOSED, 1]", "[1, CLOSED, OPEN]"),
    "the order of columns": ("columns: [a, b]", "columns: [b, a]"),
    "the name of a rule": ("id: amount", "id: amount_in_range"),
    "a description": ("severity: medium", "severity: medium\n    description: why"),
    "an owner": ("owner: me", "owner: you"),
    "the owner of a rule": ("severity: medium", "severity: medium\n    owner: you"),
    "tags, metadata, runbook": (
        "severity: medium",
        "severity: medium\n    tags: [a]\n    metadata: {a: b}\n    runbook: x",
    ),
    "the message": ("severity: medium", "severity: medium\n    message: '{value} is wrong'"),
    "the version": ("version: 1.0.0", "version: 1.0.1"),
    "the name of the suite": ("suite: s", "suite: t"),
    "blanks in SQL": ("currency = 'AED' AND kind = 'x'", "currency  =  'AED'  AND kind='x'"),
    "a rate written otherwise": ("block_above: 5%", "block_above: 5.0 %"),
    "a rule that is off": ("rules:\n", "rules:\n  - {id: off, check: not_null, column: z, active: false}\n"),
}


@pytest.mark.parametrize("edit", CHANGES.values(), ids=CHANGES)
def test_it_changes_with(edit: tuple[str, str], tmp_path: Path) -> None:
    assert fingerprint(edited(edit), tmp_path) != fingerprint(BASE, tmp_path)


@pytest.mark.parametrize("edit", KEEPS.values(), ids=KEEPS)
def test_it_does_not_change_with(edit: tuple[str, str], tmp_path: Path) -> None:
    assert fingerprint(edited(edit), tmp_path) == fingerprint(BASE, tmp_path)


def test_it_does_not_change_with_the_order_of_rules(tmp_path: Path) -> None:
    head, _, rest = BASE.partition("rules:\n")
    first, second, third = rest.split("  - id: ")[1:]
    turned = head + "rules:\n" + "".join(f"  - id: {rule}" for rule in (third, first, second))
    assert fingerprint(turned, tmp_path) == fingerprint(BASE, tmp_path)


def test_a_variable_counts_by_its_value(write: Any, tmp_path: Path) -> None:
    write("lazaretto.yml", "project: p\nenvironments: {dev: {limit: 1000}, prod: {limit: 2000}}\n")
    (tmp_path / "v.yml").write_text(edited(("max: 1000", "max: ${limit}")))
    assert rule_set_fingerprint(load_suite(tmp_path / "v.yml", env="dev")) == fingerprint(BASE, tmp_path)
    assert rule_set_fingerprint(load_suite(tmp_path / "v.yml", env="prod")) != fingerprint(BASE, tmp_path)


def test_a_preset_counts_like_the_rules_written_out(write: Any, tmp_path: Path) -> None:
    head, _, rules = BASE.partition("rules:\n")
    write("lazaretto.yml", "project: p")
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "r.yml").write_text("rules:\n" + rules)
    (tmp_path / "e.yml").write_text("extends: r\n" + head)
    assert rule_set_fingerprint(load_suite(tmp_path / "e.yml")) == fingerprint(BASE, tmp_path)


def test_a_rule_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "s.yml").write_text(BASE)
    prints = [rule_fingerprint(rule) for rule in load_suite(tmp_path / "s.yml").rules]
    assert len(set(prints)) == 3
    assert all(len(text) == 64 for text in prints)
