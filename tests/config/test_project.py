"""lazaretto.yml: found, read, and refused where it is wrong."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from lazaretto.config.project import find_root, load_project
from lazaretto.model.errors import ConfigError

FULL = """
    project: payments
    lake: ./lake
    store: sqlite:///.lazaretto/control.db
    tables: {schema: dq, archive: s3://cold/archive}
    broadcast_below: 128MB
    policy: strict
    alerts: {slack: "https://hooks.example.com/${secret:slack/hook}"}
    environments:
      dev: {limit: 1000000, rate: 0.05, names: [a, b], on: true}
      prod: {limit: 5}
"""


def errors_of(write: Any, text: str, env: str | None = None) -> str:
    write("lazaretto.yml", text)
    with pytest.raises(ConfigError) as caught:
        load_project(env=env)
    return str(caught.value)


def test_everything_it_can_say(write: Any, tmp_path: Path) -> None:
    write("lazaretto.yml", FULL)
    project = load_project(env="dev")
    assert project.project == "payments"
    assert project.lake_root == str(tmp_path / "lake")
    assert project.store_url == f"sqlite:///{tmp_path}/.lazaretto/control.db"
    assert project.tables.schema_ == "dq"
    assert project.broadcast_below == 128 * 2**20
    assert project.variables() == {"limit": 1000000, "rate": Decimal("0.05"), "names": ["a", "b"], "on": True}
    assert project.variables("prod") == {"limit": 5}
    with pytest.raises(ConfigError, match=r"no environment 'prd'; expected one of dev, prod; did you mean prod\?"):
        project.variables("prd")


def test_defaults(write: Any, tmp_path: Path) -> None:
    write("lazaretto.yml", "project: p")
    project = load_project()
    assert project.lake_root == str(tmp_path / "lake")
    assert project.store == "sqlite:///.lazaretto/control.db"
    assert project.tables.schema_ == "quarantine"
    assert project.variables() == {}


def test_found_from_below(write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("lazaretto.yml", "project: p")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert load_project().folder == tmp_path
    assert find_root(below) == tmp_path


def test_not_found(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"LZ-CFG-020 there is no lazaretto\.yml in .*lazaretto init"):
        load_project(tmp_path)


def test_the_lake_may_depend_on_the_environment(write: Any) -> None:
    write(
        "lazaretto.yml",
        "project: p\nlake: s3://${bucket}/lake\nenvironments: {dev: {bucket: d}, prod: {bucket: p}}\n",
    )
    assert load_project(env="dev").lake_root == "s3://d/lake"
    assert load_project(env="prod").lake_root == "s3://p/lake"
    with pytest.raises(
        ConfigError, match=r"lazaretto.yml:2:12: LZ-CFG-022 .*no environment is chosen; choose one by --env"
    ):
        load_project()


def test_environment_variables(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LZ_TEST_LAKE", "/mnt/lake")
    write(
        "lazaretto.yml",
        "project: p\nlake: ${env:LZ_TEST_LAKE}\nenvironments: {dev: {home: '${env:LZ_TEST_LAKE}'}}\n",
    )
    project = load_project(env="dev")
    assert project.lake_root == "/mnt/lake"
    assert project.variables() == {"home": "/mnt/lake"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lake: x", "LZ-CFG-042 `project` is missing"),
        ("project: p\nlaek: x", "2:1: LZ-CFG-040 `laek` is not a key of the project; did you mean `lake`?"),
        (
            "project: p\ntables: {shema: x}",
            "2:10: LZ-CFG-040 `shema` is not a key of `tables`; did you mean `schema`?",
        ),
        (
            "project: p\nbroadcast_below: big",
            "2:18: LZ-CFG-046 `broadcast_below` is 'big'; expected a size such as 64MB",
        ),
        (
            "project: p\nenvironments: {dev: {a: {b: c}}}",
            "LZ-CFG-046 `environments`: `a` of dev must be a single value",
        ),
        ("project: p\nenvironments: [dev]", "LZ-CFG-044 `environments` is a list; expected keys and values"),
        (
            "project: p\nenvironments:\n  dev: 5",
            "3:8: LZ-CFG-044 `dev` is the number 5; expected keys and values",
        ),
        ("project:", "1:1: LZ-CFG-016 `project` has no value"),
        ("- project", "LZ-CFG-014 a project is a list"),
        ("project: [", "LZ-CFG-005"),
        ("", "LZ-CFG-004"),
    ],
)
def test_mistakes(write: Any, text: str, words: str) -> None:
    assert words in errors_of(write, text)


def test_unknown_environment(write: Any) -> None:
    words = errors_of(write, "project: p\nenvironments: {dev: {a: 1}, prod: {a: 2}}", env="pord")
    assert (
        words == "lazaretto.yml:2:1: LZ-CFG-021 there is no environment 'pord'; "
        "expected one of dev, prod; did you mean prod?"
    )


def test_paths_are_shown_from_the_working_folder(write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("lazaretto.yml", "project: p\nfoo: 1")
    monkeypatch.chdir(tmp_path.parent)
    with pytest.raises(ConfigError, match=f"^{tmp_path.name}/lazaretto.yml:2:1: "):
        load_project(tmp_path.name)
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    with pytest.raises(ConfigError, match=r"^lazaretto.yml:2:1: "):
        load_project()
