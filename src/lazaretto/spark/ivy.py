"""Fetch jars with the Ivy that ships inside pyspark, so that nothing but Java is needed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from lazaretto.extras import package_folder
from lazaretto.model.errors import JarError
from lazaretto.spark.java import find_java

SETTINGS_VARIABLE = "LAZARETTO_IVY_SETTINGS"
"""Names an Ivy settings file, for those who fetch through a mirror of their own."""

_TIMEOUT_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Coordinates:
    """What Ivy needs to know of a jar."""

    group: str
    artifact: str
    version: str


class FetchFailed(Exception):
    """Ivy did not bring the jars; the text is what it said about it."""


def fetch(jars: Iterable[Coordinates], folder: Path) -> None:
    """Fetch `jars` into `folder` as artifact-version.jar; raise FetchFailed with Ivy's reasons."""
    module = folder / "ivy.xml"
    module.write_text(_ivy_xml(jars), encoding="utf-8")
    command = [str(find_java().executable), "-jar", str(_ivy_jar())]
    if settings := os.environ.get(SETTINGS_VARIABLE):
        command += ["-settings", settings]
    # The cache lies in the temporary folder: an Ivy cache shared between processes is not safe.
    command += ["-cache", str(folder / "ivy-cache"), "-ivy", str(module)]
    command += ["-retrieve", f"{folder}/[artifact]-[revision].[ext]"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise FetchFailed(f"no answer within {_TIMEOUT_SECONDS} s") from error
    if answer.returncode != 0:
        raise FetchFailed(_reason(answer.stdout + answer.stderr))


def _ivy_jar() -> Path:
    folder = package_folder("pyspark", extra="spark") / "jars"
    found = sorted(folder.glob("ivy-*.jar"))
    if not found:
        raise JarError(f"There is no Ivy in {folder}.", "Run: pip install --force-reinstall pyspark==4.2.0")
    return found[-1]


def _ivy_xml(jars: Iterable[Coordinates]) -> str:
    # transitive="false": the list is complete, and what else the jars declare is already inside pyspark.
    dependencies = "\n".join(
        f"    <dependency org={quoteattr(jar.group)} name={quoteattr(jar.artifact)}"
        f' rev={quoteattr(jar.version)} transitive="false" conf="default->default"/>'
        for jar in jars
    )
    return (
        '<ivy-module version="2.0">\n'
        '  <info organisation="lazaretto" module="jars"/>\n'
        '  <configurations><conf name="default"/></configurations>\n'
        f"  <dependencies>\n{dependencies}\n  </dependencies>\n"
        "</ivy-module>\n"
    )


def _reason(output: str) -> str:
    """Pick from Ivy's pages the one line that says most: it reports every address of every jar."""
    lines = [line.strip(" \t:.") for line in output.splitlines()]
    for telling in ("Server access error", "Host ", "module not found", "xception"):
        for line in lines:
            if telling in line:
                return line
    return next(filter(None, reversed(lines)), "no reason given")
