"""The docs cannot drift: generated pages are current, shipped examples run, and the guide to new checks is followed."""

from __future__ import annotations

import importlib.util
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import lazaretto as lz
from lazaretto.cli import app
from lazaretto.config.suites import load_suites
from lazaretto.model import catalogue

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def _pages() -> Any:
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "tools" / "generate_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PAGES


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("name", ["checks.md", "corrections.md", "errors.md", "commands.md"])
def test_generated_pages_are_current(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == _pages()[name](), "run: make docs"


def test_every_example_of_a_check_is_a_valid_rule(tmp_path: Path) -> None:
    head = "suite: s\nversion: 1.0.0\nasset: a.b\nowner: o\nrules:\n"
    for check in catalogue.all_checks():
        if not check.__module__.startswith("lazaretto."):
            continue
        assert check.example, f"{check.name} has no example"
        rule = textwrap.indent(textwrap.dedent(check.example).strip(), "    ").replace("    ", "  - ", 1)
        other = "  - {id: other, check: not_null, column: x}\n"
        file = tmp_path / f"{check.name}.yml"
        file.write_text(f"{head}{rule}\n{other}")
        result = load_suites([file])
        assert not result.errors, (check.name, [str(problem) for problem in result.errors])


def test_yaml_in_the_docs_is_valid(tmp_path: Path) -> None:
    for page in ("suites.md", "adding-a-check.md"):
        for number, block in enumerate(blocks(DOCS / page, "yaml")):
            project = tmp_path / f"{page}{number}"
            (project / "checks").mkdir(parents=True)
            (project / "lazaretto.yml").write_text("project: docs\n")
            for code in blocks(DOCS / "adding-a-check.md", "python"):
                (project / "checks" / "own.py").write_text(code)
            file = project / "suite.yml"
            file.write_text(block)
            result = load_suites([file])
            assert not result.errors, (page, [str(problem) for problem in result.errors])


def test_corrections_in_the_docs_are_valid(tmp_path: Path) -> None:
    suite, corrections = (block for block in blocks(DOCS / "corrections.md", "yaml") if "asset:" in block)
    (tmp_path / "suites").mkdir()
    (tmp_path / "corrections").mkdir()
    (tmp_path / "lazaretto.yml").write_text("project: docs\n")
    (tmp_path / "suites" / "s.yml").write_text(suite)
    (tmp_path / "corrections" / "s.yml").write_text(corrections)
    result = load_suites(project=tmp_path)
    assert result.problems == ()
    assert len(result.corrections) == 1


def test_the_guide_to_adding_a_check_works(tmp_path: Path, spark: Any) -> None:
    (code,) = blocks(DOCS / "adding-a-check.md", "python")
    (suite,) = blocks(DOCS / "adding-a-check.md", "yaml")
    (tmp_path / "checks").mkdir()
    (tmp_path / "suites").mkdir()
    (tmp_path / "checks" / "cash.py").write_text(code)
    (tmp_path / "lazaretto.yml").write_text("project: guide\n")
    (tmp_path / "suites" / "cash.yml").write_text(suite)
    runner = CliRunner()

    listed = runner.invoke(app, ["checks", "multiple_of", "--project", str(tmp_path)])
    assert listed.exit_code == 0
    assert "The number is a whole multiple of another." in listed.output
    assert "divisible" in listed.output
    (tmp_path / "suites" / "bad.yml").write_text(
        suite.replace("step: 100", "step: 0").replace("suite: cash", "suite: b")
    )
    refused = runner.invoke(app, ["validate", "--project", str(tmp_path)])
    assert refused.exit_code == 2
    assert "step" in refused.output
    explained = runner.invoke(app, ["explain", "cash", "--project", str(tmp_path)])
    assert "`amount` % 100 = 0" in explained.output

    frame = spark.createDataFrame([(200,), (150,), (None,)], "amount int")
    clean, quarantined = lz.split(frame, lz.load_suite(tmp_path / "suites" / "cash.yml"))
    assert sorted(r.amount or 0 for r in clean.collect()) == [0, 200]
    (row,) = quarantined.collect()
    assert row.dq_failed_rules[0].expected_value == "a multiple of 100"
