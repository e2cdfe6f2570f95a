"""Optional packages: loaded late, and missed with the command that installs them."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import lazaretto.spark
from lazaretto.extras import package_folder, require
from lazaretto.model.errors import EnvironmentProblem, LazarettoError, MissingExtra


def test_a_missing_package_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingExtra, match=r"Run: pip install 'lazaretto\[spark\]'"):
        require("no_such_package_anywhere.part", extra="spark")
    with pytest.raises(MissingExtra, match="no_such_package_anywhere is not installed"):
        package_folder("no_such_package_anywhere", extra="spark")


def test_an_installed_package_is_returned() -> None:
    assert require("json.decoder", extra="spark").__name__ == "json.decoder"
    assert (package_folder("pyspark", extra="spark") / "jars").is_dir()


def test_a_broken_package_is_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_package_for_test.py").write_text("import another_package_that_is_not_there")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="another_package_that_is_not_there"):
        require("broken_package_for_test", extra="spark")


@pytest.mark.parametrize("package", ["pyspark", "delta"])
def test_a_session_without_the_extra(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # what Python takes for "not to be found"
    with pytest.raises(MissingExtra, match=rf"{package} is not installed.*pip install 'lazaretto\[spark\]'"):
        lazaretto.spark.session()


@pytest.mark.parametrize("module", ["lazaretto.spark", "lazaretto.cli", "lazaretto.spark.doctor"])
def test_importing_imports_no_pyspark(module: str) -> None:
    script = f"import sys, {module}; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(MissingExtra("This is wrong.", "Do that.")))  # noqa: S301
    assert isinstance(error, EnvironmentProblem)
    assert isinstance(error, LazarettoError)
    assert (str(error), error.problem, error.remedy) == (
        "This is wrong. Do that.",
        "This is wrong.",
        "Do that.",
    )
