"""Which changed suites are taken up. No Spark here."""

from __future__ import annotations

from pathlib import Path

import pytest

import lazaretto as lz
from lazaretto.config.project import load_project
from lazaretto.pipeline.stream.reload import Reloader, is_raised
from world import SUITE


@pytest.mark.parametrize(
    ("before", "after", "raised"),
    [
        ("1.9.0", "1.10.0", True),
        ("1.0.0", "1.0.0", False),
        ("2.0.0", "1.9.9", False),
        ("v1", "v2", True),
        ("1", "1.1", True),
    ],
)
def test_a_raised_version(before: str, after: str, raised: bool) -> None:
    assert is_raised(before, after) is raised


@pytest.mark.parametrize(
    ("change", "version", "said"),
    [
        ({"min: 0": "min: 5"}, "1.0.0", "was not raised"),
        ({"min: 0": "min: 5", "1.0.0": "1.1.0"}, "1.1.0", "version 1.1.0 judges from here on"),
        ({"check: range": "check: rnage", "1.0.0": "1.1.0"}, "1.0.0", "is not valid"),
        ({"bronze.orders": "bronze.other", "1.0.0": "1.1.0"}, "1.0.0", "change with a restart only"),
        ({"suite: orders": "suite: orders\ndescription: words"}, "1.0.0", None),
    ],
)
def test_what_becomes_of_a_change(tmp_path: Path, change: dict[str, str], version: str, said: str | None) -> None:
    (tmp_path / "suites").mkdir()
    (tmp_path / "lazaretto.yml").write_text("project: test\n")
    file = tmp_path / "suites" / "orders.yml"
    file.write_text(SUITE)
    current = lz.load_suite(file)
    notes: list[str] = []
    reload = Reloader(load_project(tmp_path), None, notes.append)
    assert reload(current) is current
    changed = SUITE
    for old, new in change.items():
        changed = changed.replace(old, new)
    file.write_text(changed + "\n")
    assert reload(current).version == version
    assert (notes == []) if said is None else (said in notes[0])
    assert reload(current).version == current.version  # told once
