# ruff: noqa: S608 - the only thing put into SQL here is a temporary folder
"""A quick start of Spark's JVM: the classes it needs, kept ready in an archive of Java's own (class data sharing).

Half of what a short command takes is loading and checking the same classes again. `python -m lazaretto.spark.startup`
and `lazaretto doctor` make the archive once for each Java and pyspark; without one everything works, only slower. Java
itself refuses an archive that does not fit the classes it finds, and goes on without.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from lazaretto.extras import package_folder
from lazaretto.model.errors import EnvironmentProblem
from lazaretto.spark.java import Java, find_java

_TRAINING = "LAZARETTO_STARTUP_TRAINING"
"""Names the file that a JVM started now writes its archive to when it ends."""
_TIMEOUT_SECONDS = 180
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"


class NotMade(EnvironmentProblem):
    """The archive could not be made; everything works without it."""


def archive(java: Java) -> Path:
    """Where the archive for this Java and this pyspark is, or will be."""
    from lazaretto.spark.jars import jars_folder

    jars = package_folder("pyspark", extra="spark") / "jars"
    named = f"{java.executable.resolve()} {java.version} {jars.resolve()} {jars.stat().st_mtime_ns}"
    return jars_folder().parent / f"startup-{hashlib.sha256(named.encode()).hexdigest()[:16]}.jsa"


def options(java: Java) -> str:
    """Options with which Java uses the archive, if there is one."""
    if training := os.environ.get(_TRAINING):
        return f"-XX:ArchiveClassesAtExit={training} {_QUIET}"
    file = archive(java)
    return f"-XX:SharedArchiveFile={file} {_QUIET}" if file.exists() and " " not in str(file) else ""


def make() -> Path:
    """Make the archive, unless there is one: a JVM does what short commands do, and keeps the classes it needed."""
    file = archive(find_java())
    if file.exists():
        return file
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".startup-", dir=file.parent) as scratch:
        new = Path(scratch) / file.name
        try:
            done = subprocess.run(
                [sys.executable, "-m", __spec__.name, "--train"],
                env=os.environ | {_TRAINING: str(new)},
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise NotMade("the JVM that was to make it did not end in time", "Nothing to do.") from error
        if done.returncode or not new.exists():
            last = next(iter(done.stderr.strip().splitlines()[-1:]), "it said nothing")
            raise NotMade(f"the JVM that was to make it failed: {last}", "Nothing to do.")
        new.replace(file)  # several processes may make it; the last one wins, and all are alike
    return file


def _train() -> None:
    from pyspark import SparkContext

    from lazaretto.spark.doctor import LOOKS
    from lazaretto.spark.local import session

    spark = session("startup", cores=1, memory="1g")
    for name in ("Delta", "Publish"):
        LOOKS[name]()
    with tempfile.TemporaryDirectory() as folder:
        table = f"delta.`{folder}/table`"
        spark.sql(f"CREATE TABLE {table} (id BIGINT, name STRING) USING delta PARTITIONED BY (name)")
        spark.sql(f"INSERT INTO {table} SELECT id, cast(id AS STRING) FROM range(3)").collect()
        spark.sql(f"UPDATE {table} SET name = 'x' WHERE id = 1").collect()
        spark.sql(
            f"MERGE INTO {table} t USING (SELECT id FROM range(2)) s ON t.id = s.id WHEN MATCHED THEN DELETE"
        ).collect()
        spark.sql(f"SELECT name, count(DISTINCT id) FROM {table} GROUP BY ALL ORDER BY ALL").collect()
    spark.stop()
    # Java writes the archive when it ends, and it ends when nobody speaks to it any more.
    jvm = SparkContext._gateway
    if jvm is not None:
        jvm.shutdown()
        jvm.proc.stdin.close()
        jvm.proc.wait(timeout=_TIMEOUT_SECONDS)


if __name__ == "__main__":
    try:
        if "--train" in sys.argv:
            _train()
        else:
            print(make())
    except EnvironmentProblem as problem:
        sys.exit(f"error: {problem}")
