"""The jar cache: complete, verified, and right whoever dies or starts at the same time."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from lazaretto.model.errors import JarError
from lazaretto.spark import ivy, jars
from lazaretto.spark.jars import Jar, ensure_jars, faults, jars_folder, pinned_jars

FETCH = [sys.executable, "-m", "lazaretto.spark.jars"]


def silent(_: str) -> None:
    """Say nothing about downloads."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.delenv(jars.FOLDER_VARIABLE, raising=False)
    monkeypatch.delenv(ivy.SETTINGS_VARIABLE, raising=False)
    monkeypatch.setenv(jars.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def fetched() -> Path:
    """The folder with the real jars of this user, fetched if need be."""
    ensure_jars()
    return jars_folder()


def ivy_settings(file: Path, resolver: str) -> Path:
    file.write_text(f'<ivysettings><settings defaultResolver="only"/><resolvers>{resolver}</resolvers></ivysettings>')
    return file


@pytest.fixture
def repository(tmp_path: Path, fetched: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the real Ivy fetch from a folder, so that these tests need no network."""
    folder = tmp_path / "repository"
    shutil.copytree(fetched, folder)
    resolver = f'<filesystem name="only"><artifact pattern="{folder}/[artifact]-[revision].[ext]"/></filesystem>'
    monkeypatch.setenv(ivy.SETTINGS_VARIABLE, str(ivy_settings(tmp_path / "settings.xml", resolver)))
    return folder


@pytest.fixture
def two_small_jars(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """A list of two jars of a few bytes, and a stand-in for Ivy that has them and counts in `calls`."""
    contents = {"one-1.0.jar": b"first jar", "two-2.0.jar": b"second jar"}

    def jar(name: str) -> Jar:
        artifact, _, version = name.removesuffix(".jar").partition("-")
        return Jar("org.example", artifact, version, hashlib.sha256(contents[name]).hexdigest(), len(contents[name]))

    listed = tuple(jar(name) for name in contents)
    monkeypatch.setattr(jars, "pinned_jars", lambda: listed)

    def fetch(wanted: Iterable[Jar], folder: Path) -> None:
        for jar in wanted:
            (folder / jar.file_name).write_bytes(contents[jar.file_name])

    monkeypatch.setattr(ivy, "fetch", fetch)
    return contents


def test_the_list_is_readable_and_complete() -> None:
    listed = pinned_jars()
    assert len(listed) == 10
    assert {jar.artifact for jar in listed} >= {"delta-spark_4.2_2.13", "delta-storage", "kafka-clients"}
    assert all(len(jar.sha256) == 64 and jar.size > 0 for jar in listed)


def test_two_processes_with_an_empty_cache_fetch_once(cache: Path, repository: Path) -> None:
    both = [subprocess.Popen(FETCH, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], answers
    assert {stdout.strip() for stdout, _ in answers} == {str(jars_folder())}
    assert sorted("Fetching 10 jars" in stderr for _, stderr in answers) == [False, True]
    assert not faults(jars_folder())
    # nothing is left but the jars and the lock file
    assert {entry.name for entry in (cache / "jars").iterdir()} == {
        jars_folder().name,
        f"{jars_folder().name}.lock",
    }


def test_offline_says_what_to_do(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # port 9 of this machine: refused at once
    resolver = '<ibiblio name="only" m2compatible="true" root="http://127.0.0.1:9/"/>'
    monkeypatch.setenv(ivy.SETTINGS_VARIABLE, str(ivy_settings(tmp_path / "settings.xml", resolver)))
    with pytest.raises(JarError, match="could not be fetched") as caught:
        ensure_jars(silent)
    for help_word in (
        str(jars_folder()),
        jars.FOLDER_VARIABLE,
        ivy.SETTINGS_VARIABLE,
        "delta-storage-4.4.0.jar",
    ):
        assert help_word in caught.value.remedy
    assert "refused" in caught.value.problem


def test_offline_from_the_command_line_is_a_sentence(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(jars.FOLDER_VARIABLE, str(tmp_path))
    answer = subprocess.run(FETCH, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert answer.stderr.startswith(f"error: LAZARETTO_JARS_DIR is {tmp_path}, and there ")
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize("damage", ["flipped", "cut", "gone"])
def test_a_damaged_jar_is_noticed_and_fetched_again(cache: Path, two_small_jars: dict[str, bytes], damage: str) -> None:
    first, second = ensure_jars(silent)
    untouched = second.stat()
    match damage:
        case "flipped":
            first.write_bytes(b"first jaR")
        case "cut":
            first.write_bytes(b"first")
        case "gone":
            first.unlink()
    said: list[str] = []
    assert ensure_jars(said.append) == (first, second)
    assert first.read_bytes() == b"first jar"
    assert "Fetching 1 jars" in said[0]
    assert second.stat().st_mtime_ns == untouched.st_mtime_ns


def test_real_ivy_fetches_only_the_damaged_jar(cache: Path, repository: Path) -> None:
    jars_folder().parent.mkdir(parents=True)
    shutil.copytree(repository, jars_folder())
    damaged = jars_folder() / "delta-storage-4.4.0.jar"
    content = damaged.read_bytes()
    damaged.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    said: list[str] = []
    ensure_jars(said.append)
    assert "Fetching 1 jars" in said[0]
    assert damaged.read_bytes() == content


def test_a_full_cache_is_not_touched(
    cache: Path, two_small_jars: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure_jars(silent)
    monkeypatch.delattr(ivy, "fetch")
    ensure_jars(silent)


def test_what_is_not_the_recorded_file_is_never_used(cache: Path, two_small_jars: dict[str, bytes]) -> None:
    two_small_jars["two-2.0.jar"] = b"second jaR"
    with pytest.raises(JarError, match=r"two-2\.0\.jar has SHA-256"):
        ensure_jars(silent)
    assert list(jars_folder().iterdir()) == []


def test_what_a_killed_process_left_is_swept_up(cache: Path, two_small_jars: dict[str, bytes]) -> None:
    left = jars_folder().with_name(f".{jars_folder().name}")
    left.mkdir(parents=True)
    (left / "one-1.0.jar").write_bytes(b"half")
    ensure_jars(silent)
    assert not left.exists()
    assert not faults(jars_folder())


def test_a_named_folder_is_used_and_never_written(
    tmp_path: Path, cache: Path, two_small_jars: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    named = tmp_path / "named"
    named.mkdir()
    (named / "one-1.0.jar").write_bytes(b"first jar")
    monkeypatch.setenv(jars.FOLDER_VARIABLE, str(named))
    with pytest.raises(JarError, match=r"two-2\.0\.jar is missing"):
        ensure_jars(silent)
    assert not (named / "two-2.0.jar").exists()
    (named / "two-2.0.jar").write_bytes(b"second jar")
    assert ensure_jars(silent) == (named / "one-1.0.jar", named / "two-2.0.jar")
    assert not cache.exists()


def test_a_cache_that_cannot_be_written(
    tmp_path: Path, two_small_jars: dict[str, bytes], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(jars.CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
    with pytest.raises(JarError, match="LAZARETTO_CACHE"):
        ensure_jars(silent)


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (jars.FOLDER_VARIABLE, jars.CACHE_VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    key = jars_folder().name
    monkeypatch.setenv("HOME", str(tmp_path))
    assert jars_folder() == tmp_path / ".cache" / "lazaretto" / "jars" / key
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert jars_folder() == tmp_path / ".cache" / "lazaretto" / "jars" / key
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert jars_folder() == tmp_path / "xdg" / "lazaretto" / "jars" / key
    monkeypatch.setenv(jars.CACHE_VARIABLE, str(tmp_path / "ours"))
    assert jars_folder() == tmp_path / "ours" / "jars" / key


def test_another_list_has_another_folder(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    before = jars_folder()
    fewer = pinned_jars()[:-1]
    monkeypatch.setattr(jars, "pinned_jars", lambda: fewer)
    assert jars_folder() != before
    monkeypatch.setattr(jars, "pinned_jars", lambda: tuple(reversed(fewer)))
    assert jars_folder() != before


def test_without_java_nothing_can_be_fetched_and_the_error_is_javas(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lazaretto.model.errors import JavaError

    monkeypatch.setenv("JAVA_HOME", str(cache))
    with pytest.raises(JavaError):
        ensure_jars(silent)


@pytest.mark.parametrize("content", ["", "x"])
def test_an_unreadable_jar_is_a_fault_not_a_crash(tmp_path: Path, content: str) -> None:
    jar = Jar("g", "a", "1", "0" * 64, 1)
    (tmp_path / jar.file_name).mkdir()
    assert jar.fault(tmp_path) is not None
