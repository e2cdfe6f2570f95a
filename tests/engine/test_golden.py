"""Every check on rows with known verdicts: the golden pairs of tests/golden."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lazaretto as lz
import lazaretto.checks
from golden_support import KINDS, NUMBER, all_files, comparable, read
from lazaretto.model import catalogue
from lazaretto.model.rule import RESERVED_PREFIX

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def test_every_check_has_a_golden_file() -> None:
    checks = {check.name for check in catalogue.all_checks() if check.__module__.startswith("lazaretto.")}
    names = {name for name in checks if not name.startswith(RESERVED_PREFIX)}
    assert names - {path.stem for path in all_files()} == set()


@pytest.mark.parametrize("path", all_files(), ids=lambda path: path.stem)
def test_golden_file_has_every_kind_of_row(path: Path) -> None:
    golden = read(path)
    assert golden.kinds == KINDS
    assert f"check: {path.stem}\n" in golden.suite_text


@pytest.mark.parametrize("path", all_files(), ids=lambda path: path.stem)
def test_golden(path: Path, spark: SparkSession, tmp_path: Path) -> None:
    golden = read(path)
    file = tmp_path / path.name
    file.write_text(golden.suite_text)
    suite = lz.load_suite(file)
    frame = golden.frame(spark)
    clean, quarantined = lz.split(
        frame, suite, run_time=NOW, run_id="golden", references=golden.reference_frames(spark)
    )
    kept = quarantined.selectExpr(*_quoted(frame.columns), "dq_failed_rules")
    rows = clean.unionByName(kept, allowMissingColumns=True).collect()

    came_in = Counter(comparable(row) for row in golden.values(frame.schema))
    assert Counter(comparable(tuple(row)[: len(frame.columns)]) for row in rows) == came_in
    found = {row[NUMBER]: _failures(row) for row in rows}
    wrong: list[str] = []
    for number, row in enumerate(golden.rows):
        expected = [_expected(failure) for failure in row.get("fails", [])]
        asked = [_only(found_one, _wanted(row, found_one)) for found_one in found[number]]
        if sorted(asked, key=_by_rule) != sorted(expected, key=_by_rule):
            wrong += [
                f"row {number}: {row['row']}",
                f"  expected: {expected}",
                f"  found:    {found[number]}",
            ]
    assert not wrong, "\n".join(wrong)


def _by_rule(failure: dict[str, Any]) -> tuple[str, str]:
    return failure["rule"], str(failure["column"])


def _quoted(names: list[str]) -> list[str]:
    return ["`" + name.replace("`", "``") + "`" for name in names]


def _failures(row: Row) -> list[dict[str, Any]]:
    return [
        {
            "rule": failure["rule_id"],
            "column": failure["column_name"],
            "status": failure["status"],
            "found": failure["actual_value"],
            "expected": failure["expected_value"],
            "message": failure["message"],
        }
        for failure in row["dq_failed_rules"] or []
    ]


def _expected(failure: dict[str, Any]) -> dict[str, Any]:
    assert "found" in failure, failure
    return {"column": None, "status": "FAIL"} | failure


def _wanted(row: dict[str, Any], failure: dict[str, Any]) -> set[str]:
    """The optional keys that the file gives for this failure."""
    for written in row.get("fails", []):
        if (written["rule"], written.get("column")) == (failure["rule"], failure["column"]):
            return set(written)
    return set()


def _only(failure: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    return {k: v for k, v in failure.items() if k in keys | {"rule", "column", "status", "found"}}
