"""`lazaretto init`: the project it writes is sound, and nothing is overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lazaretto.config.codes import catalogue, catalogue_markdown
from lazaretto.config.scaffold import PROJECT_SCHEMA, SUITE_SCHEMA, init
from lazaretto.config.suites import load_suites
from lazaretto.model.errors import ConfigError


@pytest.mark.parametrize("env", [None, "dev", "prod"])
def test_it_validates(tmp_path: Path, env: str | None) -> None:
    written = init(tmp_path / "my project!")
    assert all(path.is_file() for path in written)
    result = load_suites(project=tmp_path / "my project!", env=env)
    assert result.problems == ()
    assert [suite.suite for suite in result.suites] == ["silver-transactions"]
    assert result.project is not None
    assert result.project.project == "my-project"


def test_editors_find_the_schema(tmp_path: Path) -> None:
    init(tmp_path)
    suite = tmp_path / "suites" / "transactions.yml"
    first = suite.read_text().splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert (suite.parent / first.partition("$schema=")[2]).resolve() == (tmp_path / SUITE_SCHEMA).resolve()
    schema = json.loads((tmp_path / SUITE_SCHEMA).read_text())
    assert "check.weekday" in schema["$defs"]  # the project's own check
    assert (tmp_path / PROJECT_SCHEMA).is_file()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "common.yml").write_text("mine")
    with pytest.raises(ConfigError, match=r"LZ-CFG-029 .*presets/common.yml"):
        init(tmp_path)
    assert not (tmp_path / "lazaretto.yml").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="is a file"):
        init(tmp_path / "file")


def test_the_catalogue_of_problems_is_a_page() -> None:
    page = catalogue_markdown()
    for entry in catalogue():
        assert f"| `{entry.code}` | {entry.level} | {entry.title} |" in page
        assert entry.explanation.endswith((".", ")"))
