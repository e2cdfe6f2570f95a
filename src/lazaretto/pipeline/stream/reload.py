"""`--reload`: a changed suite takes effect at a batch border, if it is valid and its version was raised."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from lazaretto.config.project import Project
from lazaretto.config.suites import load_suite, suite_named
from lazaretto.model.errors import ConfigError
from lazaretto.model.fingerprint import rule_set_fingerprint
from lazaretto.model.suite import Suite

_FOLDERS = ("suites", "presets", "checks")
_NUMBER = re.compile(r"(\d+)")


@dataclass
class Reloader:
    """Looks whether the files of a project changed, and reads the suite again if they did."""

    project: Project
    env: str | None
    say: Callable[[str], None]
    _seen: frozenset[tuple[str, int, int]] = field(init=False)

    def __post_init__(self) -> None:
        self._seen = self._files()

    def __call__(self, current: Suite) -> Suite:
        """The suite to judge the next batch by."""
        files = self._files()
        if files == self._seen:
            return current
        self._seen = files
        try:
            found = self._read(current)
        except ConfigError as error:
            return self._kept(current, f"the changed suite is not valid: {error}")
        if rule_set_fingerprint(found) == rule_set_fingerprint(current) and found.version == current.version:
            return current
        if not is_raised(current.version, found.version):
            return self._kept(current, f"the rules were changed, and the version {found.version} was not raised")
        if (found.source, found.asset, found.write) != (current.source, current.asset, current.write):
            return self._kept(current, "source, asset and `write` change with a restart only")
        self.say(f"version {found.version} judges from here on, in place of {current.version}")
        return found.model_copy(update={"stream": current.stream})

    def _read(self, current: Suite) -> Suite:
        """By its file, where that is known: any mistake in it counts then."""
        if current.location is None:
            return suite_named(current.suite, self.env, self.project)
        return load_suite(Path(self.project.root) / current.location.file, self.env, self.project, current.suite)

    def _kept(self, current: Suite, why: str) -> Suite:
        self.say(f"version {current.version} goes on to judge: {why}")
        return current

    def _files(self) -> frozenset[tuple[str, int, int]]:
        found = (path for name in _FOLDERS for path in (Path(self.project.root) / name).rglob("*") if path.is_file())
        seen = set()
        for path in found:
            about = path.stat()
            seen.add((str(path), about.st_mtime_ns, about.st_size))
        return frozenset(seen)


def is_raised(before: str, after: str) -> bool:
    """Whether a version is a later one: numbers count as numbers."""
    return _parts(after) > _parts(before)


def _parts(version: str) -> list[tuple[int, int, str]]:
    """Numbers compare with numbers, and come after words (1.0.0-rc1 < 1.0.0 is not asked for)."""
    pieces = (piece for piece in _NUMBER.split(version) if piece)
    return [(1, int(piece), "") if piece.isdigit() else (0, 0, piece) for piece in pieces]
