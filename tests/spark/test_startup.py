"""The archive of classes: used where it is, and never in the way."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lazaretto.spark import startup
from lazaretto.spark.jars import FOLDER_VARIABLE
from lazaretto.spark.java import find_java


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the archive would be, in a cache of its own."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "jars"))
    return startup.archive(find_java())


def test_without_an_archive_there_is_no_option(file: Path) -> None:
    assert startup.options(find_java()) == ""


def test_a_damaged_archive_is_passed_over_in_silence(file: Path) -> None:
    file.write_bytes(b"not an archive")
    java = find_java()
    wish = startup.options(java)
    assert str(file) in wish
    done = subprocess.run([str(java.executable), *wish.split(), "-version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    assert "version" in done.stderr.splitlines()[0]


def test_a_jvm_that_cannot_make_it_is_no_fault(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(startup.NotMade, match="failed"):  # the jars are not there, and may not be fetched
        startup.make()
    assert list(file.parent.glob("*startup*")) == []


def test_another_java_or_pyspark_has_another_archive(file: Path) -> None:
    java = find_java()
    other = type(java)(java.executable, "17.0.99", java.major, java.home)
    assert startup.archive(other) != file
