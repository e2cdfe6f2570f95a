"""Which Java is taken, and what is said of those that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from lazaretto.model.errors import EnvironmentProblem, JavaError
from lazaretto.spark.java import find_java

OPENJDK = 'openjdk version "{}" 2025-04-15\nOpenJDK Runtime Environment (build 1)\n'
ORACLE_8 = 'java version "1.8.0_392"\nJava(TM) SE Runtime Environment (build 1.8.0_392-b08)\n'


def fake_java(home: Path, says: str, exit_code: int = 0) -> Path:
    """A JAVA_HOME whose java answers `says` on standard error, as the real one does."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}END\nexit {exit_code}\n")
    executable.chmod(0o755)
    return home


def environment(java_home: Path | None = None, path: Path | None = None) -> dict[str, str]:
    system = "/usr/bin:/bin" if path else ""  # the fake needs sh and cat only where it is on PATH by name
    env = {"PATH": f"{path}/bin:{system}" if path else ""}
    return env | ({"JAVA_HOME": str(java_home)} if java_home else {})


@pytest.mark.parametrize(
    ("version", "major"),
    [("17", 17), ("17.0.15", 17), ("21.0.2", 21), ("21-ea", 21), ("17.0.9-internal", 17)],
)
def test_accepts_what_spark_runs_on(tmp_path: Path, version: str, major: int) -> None:
    home = fake_java(tmp_path / "jdk", OPENJDK.format(version))
    java = find_java(environment(java_home=home))
    assert (java.major, java.version, java.home) == (major, version, home)
    assert java.executable == home / "bin" / "java"


@pytest.mark.parametrize("says", [ORACLE_8, OPENJDK.format("11.0.22"), OPENJDK.format("25.0.1")])
def test_refuses_others_with_a_remedy(tmp_path: Path, says: str) -> None:
    home = fake_java(tmp_path / "jdk", says)
    with pytest.raises(JavaError, match=r"needs Java 17 or 21, and this is Java (1\.8\.0_392|11|25)") as caught:
        find_java(environment(java_home=home))
    assert "openjdk" in caught.value.remedy
    assert str(home) in caught.value.problem
    assert "\n" not in str(caught.value)


def test_takes_the_java_on_path_without_java_home(tmp_path: Path) -> None:
    java = find_java(environment(path=fake_java(tmp_path, OPENJDK.format("21.0.2"))))
    assert java.major == 21
    assert java.home is None


def test_java_home_wins_over_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", OPENJDK.format("17.0.1"))
    path = fake_java(tmp_path / "path", OPENJDK.format("21.0.2"))
    assert find_java(environment(java_home=home, path=path)).major == 17


def test_an_empty_java_home_counts_as_none(tmp_path: Path) -> None:
    path = fake_java(tmp_path, OPENJDK.format("21.0.2"))
    assert find_java(environment(path=path) | {"JAVA_HOME": ""}).major == 21


def test_a_wrong_java_home_is_not_overlooked_but_the_way_out_is_short(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", OPENJDK.format("11.0.1"))
    path = fake_java(tmp_path / "path", OPENJDK.format("21.0.2"))
    with pytest.raises(JavaError, match="unset JAVA_HOME") as caught:
        find_java(environment(java_home=home, path=path))
    assert "21.0.2" in caught.value.remedy


def test_java_home_without_java(tmp_path: Path) -> None:
    with pytest.raises(JavaError, match="no bin/java in it"):
        find_java(environment(java_home=tmp_path))


def test_no_java_at_all() -> None:
    with pytest.raises(JavaError, match=r"not installed.*(apt-get|brew) install openjdk"):
        find_java(environment())


@pytest.mark.parametrize("says", ["The operation couldn't be completed. Unable to locate a Java Runtime.\n", ""])
def test_a_java_that_is_none(tmp_path: Path, says: str) -> None:
    home = fake_java(tmp_path / "jdk", says, exit_code=1)
    with pytest.raises(JavaError, match="does not tell its version"):
        find_java(environment(java_home=home))


def test_a_java_that_does_not_run(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jdk", "")
    (home / "bin" / "java").chmod(0o644)
    with pytest.raises(EnvironmentProblem, match="does not run"):
        find_java(environment(java_home=home))
