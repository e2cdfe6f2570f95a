"""Everything Lazaretto raises on purpose, under one base class.

::

    LazarettoError
    ├── ConfigError              the project or a suite is wrong; carries every problem found
    ├── FrameError               a DataFrame that cannot be judged as it is
    └── EnvironmentProblem       the machine lacks something; the message ends with what mends it
        ├── MissingExtra         an optional package is not installed
        ├── JavaError            no Java, or not one that Spark runs on
        ├── JarError             a jar is missing, damaged or cannot be fetched
        └── SparkStartError      Spark was asked to start and did not

Messages are written for the person at the keyboard: what is wrong, then what to do.
"""

from __future__ import annotations


class LazarettoError(Exception):
    """Base of everything Lazaretto raises on purpose."""


class ConfigError(LazarettoError):
    """A project or suite that cannot be used, with all its problems rather than the first one."""

    def __init__(self, message: str, problems: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class FrameError(LazarettoError):
    """A DataFrame that cannot be judged as it is; the message says what to change."""


class EnvironmentProblem(LazarettoError):
    """Something outside the project is missing or wrong.

    `problem` says what, `remedy` what to do about it; the message is both. They are kept apart because
    `lazaretto doctor` shows them in two places.
    """

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem} {remedy}")
        self.problem = problem
        self.remedy = remedy

    def __reduce__(self) -> tuple[type[EnvironmentProblem], tuple[str, str]]:
        """Survive pickling: Exception would call the constructor again with the joined message alone."""
        return type(self), (self.problem, self.remedy)


class MissingExtra(EnvironmentProblem):
    """An optional package is not installed."""


class JavaError(EnvironmentProblem):
    """Java is missing, or is not a version that Spark runs on."""


class JarError(EnvironmentProblem):
    """A jar that Spark needs is missing, damaged or cannot be fetched."""


class SparkStartError(EnvironmentProblem):
    """Spark was asked to start and did not."""
