"""Checks from outside the package: the built-in ones, those of installed packages, and those of a project.

They enter the catalogue by being imported. What Python has against that becomes a problem with its line.
"""

from __future__ import annotations

import importlib
import sys
import traceback
import types
from pathlib import Path

from lazaretto.config import codes
from lazaretto.config.presets import confined
from lazaretto.config.problems import Problems, display_path
from lazaretto.config.project import find_root
from lazaretto.model.values import Location

GROUP = "lazaretto.checks"
PACKAGE = "_lazaretto_own_checks"
"""The private package whose modules a project's checks/*.py are; `from . import helper` works there."""

_entry_points_loaded = False


def load_catalogue(project: str | Path | None = None) -> None:
    """Enter all checks into the catalogue, those of the project around a folder too. Raises ConfigError."""
    problems = Problems()
    load_checks(find_root(Path.cwd() if project is None else Path(project)), problems)
    problems.raise_errors()


def load_checks(root: Path | None, problems: Problems) -> None:
    """Enter all checks into the catalogue: built in, installed, and the project's."""
    import lazaretto.checks  # noqa: F401 - importing it is what fills the catalogue

    _load_entry_points(problems)
    if root is not None and (root / "checks").is_dir():
        _load_folder(root, problems)


def _load_entry_points(problems: Problems) -> None:
    global _entry_points_loaded
    if _entry_points_loaded:
        return
    from importlib.metadata import entry_points

    failed = False
    for point in entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:  # whatever a foreign module raises is a problem of the configuration
            failed = True
            message = f"the checks of the package {point.value} cannot be loaded: {_reason(error)}"
            problems.add(codes.OWN_CHECK, None, message)
    _entry_points_loaded = not failed


def _load_folder(root: Path, problems: Problems) -> None:
    folder = root / "checks"
    _open_package(folder)
    for path in sorted(folder.glob("*.py")):
        if path.name.startswith("_"):
            continue
        shown = display_path(path, root)
        if not confined(path, root):
            problems.add(codes.OUTSIDE, Location(shown, 1, 1), "is outside the project's folder")
            continue
        if not path.stem.isidentifier():
            message = f"{path.name} is not the name of a Python module"
            problems.add(codes.OWN_CHECK, Location(shown, 1, 1), message, expected="letters, digits and _")
            continue
        try:
            importlib.import_module(f"{PACKAGE}.{path.stem}")
        except (Exception, SystemExit) as error:  # the project's own code may raise anything
            place = Location(shown, _line_of(error, path), 1)
            problems.add(codes.OWN_CHECK, place, f"the check cannot be loaded: {_reason(error)}")


def _open_package(folder: Path) -> None:
    """Make the private package stand for this folder; modules of another one, or changed, are forgotten."""
    stamp = tuple((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(folder.glob("*.py")))
    known = sys.modules.get(PACKAGE)
    if known is not None and getattr(known, "stamp", None) == (str(folder), stamp):
        return
    for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
        del sys.modules[name]
    package = types.ModuleType(PACKAGE, "Checks of the project.")
    package.__path__ = [str(folder)]
    package.stamp = (str(folder), stamp)  # type: ignore[attr-defined]
    sys.modules[PACKAGE] = package
    importlib.invalidate_caches()


def _line_of(error: BaseException, path: Path) -> int:
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno or 1
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return (lines[-1] if lines else None) or 1


def _reason(error: BaseException) -> str:
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {words.splitlines()[0] if words else 'no reason given'}"
