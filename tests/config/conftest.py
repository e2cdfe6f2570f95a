"""Small projects written on the spot."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# The first example imports what the others find in place, and CI machines are slow.
settings.register_profile("config", deadline=None)
settings.load_profile("config")

Write = Callable[[str, str], Path]

RULES = """
    rules:
      - {id: a, check: not_null, column: a}
"""
HEAD = """
    suite: s
    version: 1.0.0
    asset: silver.s
    owner: me
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a file of the project in `tmp_path`, which is the working folder."""
    monkeypatch.chdir(tmp_path)

    def _write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(textwrap.dedent(part) for part in text.split("\f")), encoding="utf-8")
        return path

    return _write


@pytest.fixture
def suite_text() -> Callable[[str], str]:
    """A sound suite with more keys or rules below it."""

    def _suite(more: str = "", rules: str = RULES) -> str:
        return "\f".join((HEAD, more, rules))

    return _suite
