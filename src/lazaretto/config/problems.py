"""Problems found in a configuration: where, what, what was expected, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from lazaretto.config import codes
from lazaretto.config.codes import Level
from lazaretto.model.errors import ConfigError
from lazaretto.model.values import Location


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong (or suspicious), said so that a person can mend it."""

    code: str
    level: Level
    location: Location | None
    message: str
    expected: str | None = None
    hint: str | None = None

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        parts = [f"{self.code} {self.message}"]
        if self.expected:
            parts.append(f"expected {self.expected}")
        if self.hint:
            parts.append(self.hint)
        return place + "; ".join(parts)

    def to_dict(self) -> dict[str, object]:
        """For `--output json`."""
        return {
            "code": self.code,
            "level": str(self.level),
            "file": self.location.file if self.location else None,
            "line": self.location.line if self.location else None,
            "column": self.location.column if self.location else None,
            "message": self.message,
            "expected": self.expected,
            "hint": self.hint,
        }


@dataclass
class Problems:
    """A growing list of problems; the same problem met twice (by way of a preset) is kept once."""

    found: list[Problem] = field(default_factory=list)

    def add(
        self,
        code: str,
        location: Location | None,
        message: str,
        *,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        """Note a problem; its level is the code's."""
        problem = Problem(code, codes.entry(code).level, location, message, expected, hint)
        if problem not in self.found:
            self.found.append(problem)

    def extend(self, problems: Iterable[Problem]) -> None:
        """Note several."""
        self.found.extend(problem for problem in problems if problem not in self.found)

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Those that stop everything."""
        return tuple(problem for problem in self.found if problem.level is Level.ERROR)

    def sorted(self) -> tuple[Problem, ...]:
        """In the order of the files."""
        return tuple(sorted(self.found, key=_place))

    def raise_errors(self) -> None:
        """Raise all errors at once, if there are any."""
        if self.errors:
            raise config_error(self.errors)


def config_error(problems: Iterable[Problem]) -> ConfigError:
    """The exception that carries these problems and lists them all."""
    listed = tuple(sorted(problems, key=_place))
    return ConfigError("\n".join(map(str, listed)), listed)


def display_path(path: Path, root: Path | None = None) -> str:
    """A path as people see it: from the working folder if it is below, else from the project's root."""
    for base in (Path.cwd(), root):
        if base is not None and path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return path.as_posix()


def _place(problem: Problem) -> tuple[str, int, int, str]:
    at = problem.location
    return (at.file, at.line, at.column, problem.code) if at else ("", 0, 0, problem.code)
