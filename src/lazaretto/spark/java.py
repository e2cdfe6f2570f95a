"""Find the Java that Spark will run on, and refuse one it cannot run on before it tries."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lazaretto.model.errors import JavaError

SUPPORTED = (17, 21)
"""The releases Spark 4.2 is built and tested for."""

_VERSION = re.compile(r'version "(?P<full>(?P<first>\d+)(?:\.(?P<second>\d+))?[^"]*)"')
_TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that answered."""

    executable: Path
    version: str
    major: int
    home: Path | None
    """The JAVA_HOME it was found through; None when it was found on PATH."""


def find_java(env: Mapping[str, str] | None = None) -> Java:
    """Return the Java of JAVA_HOME, or else of PATH, if Spark can run on it; raise JavaError otherwise.

    JAVA_HOME wins even when it is wrong, as it does in Spark's own scripts: quietly taking another Java
    would hide a mistake that comes back in the next tool.
    """
    env = os.environ if env is None else env
    home = env.get("JAVA_HOME") or None
    java = _at_home(Path(home), env) if home else _on_path(env)
    if java is None:
        raise JavaError("Java is not installed: neither JAVA_HOME nor PATH leads to one.", _remedy())
    if java.major not in SUPPORTED:
        where = f"JAVA_HOME is {home}" if home else str(java.executable)
        raise JavaError(f"Spark needs Java 17 or 21, and this is Java {java.version} ({where}).", _remedy(home, env))
    return java


def _at_home(home: Path, env: Mapping[str, str]) -> Java:
    executable = home / "bin" / "java"
    if not executable.is_file():
        raise JavaError(f"JAVA_HOME is {home}, but there is no bin/java in it.", _remedy(str(home), env))
    return _ask(executable, home)


def _on_path(env: Mapping[str, str]) -> Java | None:
    found = shutil.which("java", path=env.get("PATH", ""))
    return _ask(Path(found), None) if found else None


def _ask(executable: Path, home: Path | None) -> Java:
    """Run `java -version`, which every vendor answers on standard error in the same first line."""
    try:
        answer = subprocess.run(
            [str(executable), "-version"],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaError(f"{executable} does not run: {error}.", _remedy()) from error
    said = answer.stderr + answer.stdout
    match = _VERSION.search(said)
    if match is None:
        # macOS ships a stub at /usr/bin/java that only says that there is no Java.
        first_line = next(iter(said.strip().splitlines()), f"nothing (exit code {answer.returncode})")
        raise JavaError(f"{executable} does not tell its version; it says: {first_line}", _remedy())
    # Up to Java 8 the version began with "1.".
    major = int(match["second"] or 0) if match["first"] == "1" else int(match["first"])
    return Java(executable=executable, version=match["full"], major=major, home=home)


def _remedy(home: str | None = None, env: Mapping[str, str] | None = None) -> str:
    if home and env is not None:
        try:
            other = _on_path(env)
        except JavaError:
            other = None
        if other is not None and other.major in SUPPORTED:
            return f"Run: unset JAVA_HOME (the java on PATH is {other.version}, which will do)"
    if sys.platform == "darwin":
        return "Run: brew install openjdk@17, then set JAVA_HOME to it"
    return "Run: apt-get install openjdk-17-jre-headless, or set JAVA_HOME to a Java 17 or 21"
