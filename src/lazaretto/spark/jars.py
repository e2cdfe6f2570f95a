"""The jars of a local session: pinned in jars.lock, fetched once per user, verified at every start.

`python -m lazaretto.spark.jars` fetches what is missing and prints the folder.

How it stays right when processes start together or die half-way: jars are fetched into a temporary folder,
verified there, and moved one by one into the cache by rename. A reader trusts a jar only if its SHA-256 is
the recorded one, so a half-filled folder is merely incomplete and a damaged jar merely missing. Hashing all
of them takes some hundredths of a second, against seconds for the start of a JVM: no stamp is needed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from lazaretto.model.errors import EnvironmentProblem, JarError
from lazaretto.spark import ivy

FOLDER_VARIABLE = "LAZARETTO_JARS_DIR"
"""Names a folder that already has the jars; nothing is fetched then."""
CACHE_VARIABLE = "LAZARETTO_CACHE"
"""Names the folder to cache in, instead of ~/.cache/lazaretto."""


@dataclass(frozen=True, slots=True)
class Jar(ivy.Coordinates):
    """One line of jars.lock."""

    sha256: str
    size: int

    @property
    def file_name(self) -> str:
        """The name of the file in the cache folder."""
        return f"{self.artifact}-{self.version}.jar"

    def fault(self, folder: Path) -> str | None:
        """Say what is wrong with this jar in `folder`, or nothing."""
        path = folder / self.file_name
        try:
            size = path.stat().st_size
            if size != self.size:
                return f"{self.file_name} has {size} bytes instead of {self.size}"
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            return f"{self.file_name} is missing"
        except OSError as error:
            return f"{self.file_name} cannot be read ({error.strerror})"
        return None if found == self.sha256 else f"{self.file_name} has SHA-256 {found} instead of {self.sha256}"


@cache
def pinned_jars() -> tuple[Jar, ...]:
    """The list in jars.lock."""
    text = resources.files(__package__).joinpath("jars.lock").read_text(encoding="utf-8")
    return tuple(_parse(line) for line in text.splitlines() if line.strip() and not line.startswith("#"))


def jars_folder() -> Path:
    """Where the jars are, or will be: the folder the user named, or the cache under a key of the list."""
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named).expanduser()
    return _cache_root() / "jars" / _key(pinned_jars())


def faults(folder: Path) -> dict[Jar, str]:
    """The pinned jars that are missing or damaged in `folder`, with what is wrong."""
    return {jar: fault for jar in pinned_jars() if (fault := jar.fault(folder)) is not None}


def ensure_jars(say: Callable[[str], None] | None = None) -> tuple[Path, ...]:
    """Return the verified jars, fetching those that are missing or damaged; raise JarError if that fails.

    `say` is told before a download begins (by default a line on standard error): it takes a while.
    """
    folder = jars_folder()
    if faults(folder):
        if os.environ.get(FOLDER_VARIABLE):
            _refuse_named_folder(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with _only_one_process(folder):
                _fetch_missing(folder, say or _say_on_stderr)
        except OSError as error:
            raise JarError(
                f"The jars for Spark cannot be cached in {folder} ({error.strerror}).",
                f"Set {CACHE_VARIABLE} to a folder you can write to.",
            ) from error
    return tuple(folder / jar.file_name for jar in pinned_jars())


def _fetch_missing(folder: Path, say: Callable[[str], None]) -> None:
    missing = faults(folder)  # asked again under the lock: another process may just have fetched them
    if not missing:
        return
    megabytes = sum(jar.size for jar in missing) / 1e6
    say(f"Fetching {len(missing)} jars for Spark ({megabytes:.0f} MB, only this once) into {folder}")
    with _scratch(folder.with_name(f".{folder.name}")) as new:
        try:
            ivy.fetch(missing, new)
        except ivy.FetchFailed as error:
            raise JarError(
                f"The jars for Spark could not be fetched: {error}.",
                f"Offline? Copy {', '.join(jar.file_name for jar in missing)} into {folder},"
                f" or set {FOLDER_VARIABLE} to a folder that has them,"
                f" or {ivy.SETTINGS_VARIABLE} to the Ivy settings of your mirror.",
            ) from error
        wrong = [fault for jar in missing if (fault := jar.fault(new)) is not None]
        if wrong:
            raise JarError(
                f"What was fetched is not what jars.lock records, so it is not used: {'; '.join(wrong)}.",
                "Find out what stands between this machine and the repository (a proxy, a mirror?).",
            )
        for jar in missing:
            # Replacing by rename leaves a JVM that still has the old file open undisturbed.
            (new / jar.file_name).replace(folder / jar.file_name)


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """Give an empty folder on the cache's file system, so that rename works, and remove it afterwards.

    Its name is fixed: whoever holds the lock owns it, and sweeps up what a killed process left in it.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _refuse_named_folder(folder: Path) -> None:
    raise JarError(
        f"{FOLDER_VARIABLE} is {folder}, and there {'; '.join(faults(folder).values())}.",
        f"Copy the right files there, or unset {FOLDER_VARIABLE} to have them fetched.",
    )


@contextmanager
def _only_one_process(folder: Path) -> Iterator[None]:
    """Hold the lock beside `folder`; the operating system releases it if the process dies."""
    with folder.with_suffix(".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _cache_root() -> Path:
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named).expanduser()
    # The XDG specification says that a relative path there is to be ignored.
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "lazaretto"


def _key(jars: tuple[Jar, ...]) -> str:
    text = "\n".join(sorted(f"{jar.group}:{jar.artifact}:{jar.version} {jar.sha256}" for jar in jars))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _parse(line: str) -> Jar:
    coordinates, sha256, size = line.split()
    group, artifact, version = coordinates.split(":")
    return Jar(group, artifact, version, sha256, int(size))


def _say_on_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        ensure_jars()
    except EnvironmentProblem as error:
        sys.exit(f"error: {error}")
    print(jars_folder())
