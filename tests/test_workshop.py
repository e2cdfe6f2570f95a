"""The workshop itself: targets are documented, versions agree, nothing of one machine is committed."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from lazaretto.spark.doctor import PINNED
from lazaretto.spark.jars import pinned_jars

ROOT = Path(__file__).parent.parent
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements" / "lock.txt").read_text(encoding="utf-8")

# Hosts of package indexes, and folders that exist on one machine only.
FOREIGN = re.compile(
    r"pypi\.org|pythonhosted\.org|repo1?\.maven\.|maven\.apache\.org/maven2|npmjs\.org|crates\.io|proxy\.golang\.org"
    r"|deb\.debian\.org|(?<![\w.])/(?:work|farm|root)/[A-Za-z.]"
)


def committed_files() -> list[Path]:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_help_lists_every_target() -> None:
    targets = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert targets is not None
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^  ([\w-]+) +\S", shown, re.MULTILINE) == targets[1].split()


def test_help_is_the_default() -> None:
    command = ["make", "--dry-run"]
    default, named = (
        subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for arguments in (command, [*command, "help"])
    )
    assert default == named


def test_setup_without_a_python_says_what_is_missing(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "requirements"):
        (tmp_path / name).symlink_to(ROOT / name)
    answer = subprocess.run(["make", "setup", "PYTHON="], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert answer.returncode != 0
    assert "error: Python 3.11 or newer with the venv module is missing." in answer.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize("text", ["https://pypi" + ".org/simple", "see /work" + "/main/x"])
def test_the_search_for_foreign_names_finds_them(text: str) -> None:
    assert FOREIGN.search(text)


def test_no_index_host_and_no_path_of_a_machine_is_committed() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in committed_files()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if (match := FOREIGN.search(line))
    ]
    assert found == []
    assert not (ROOT / "uv.lock").exists()


def test_everything_that_is_required_is_locked() -> None:
    project = PROJECT["project"]
    required = [
        *project["dependencies"],
        *(r for extra in project["optional-dependencies"].values() for r in extra),
    ]
    names = {re.split(r"[<>=\[]", requirement)[0] for requirement in required} - {"lazaretto"}
    locked = set(re.findall(r"^([\w.-]+)==", LOCK, re.MULTILINE))
    assert {name.replace(".", "-") for name in names} <= {name.replace(".", "-") for name in locked}


def test_pyspark_delta_and_the_jars_agree() -> None:
    spark_extra = dict(r.split("==") for r in PROJECT["project"]["optional-dependencies"]["spark"])
    assert spark_extra == PINNED
    jars = {jar.artifact: jar.version for jar in pinned_jars()}
    assert jars["delta-spark_4.2_2.13"] == spark_extra["delta-spark"]
    assert jars["spark-sql-kafka-0-10_2.13"] == spark_extra["pyspark"]
