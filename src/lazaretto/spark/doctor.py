"""Look at everything a run needs, one diagnosis each, and say what to do where something is wrong."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from importlib import metadata
from pathlib import Path

from lazaretto.model.errors import EnvironmentProblem, MissingExtra
from lazaretto.spark import machine
from lazaretto.spark.java import find_java
from lazaretto.spark.local import session

PINNED = {"pyspark": "4.2.0", "delta-spark": "4.4.0"}
"""What jars.lock was made for; another pair does not load its classes."""

MINIMUM_DISK = 2 * machine.GIB
MINIMUM_MEMORY = 3 * machine.GIB


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was looked at and what was found; `remedy` says what to do and is empty when all is well."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


class _Unwell(Exception):
    """Raised by a look that found something wrong."""

    def __init__(self, detail: str, remedy: str) -> None:
        super().__init__(detail)
        self.detail = detail
        self.remedy = remedy


def examine() -> Iterator[Diagnosis]:
    """Look at one thing after the other, yielding each diagnosis as soon as it is known.

    Each stands alone: a failing one does not keep the next from being tried. A session that already runs is
    used and left running; one that was started for this is stopped.
    """
    already_running = _spark_is_running()
    try:
        for name, look in LOOKS.items():
            yield _diagnose(name, look)
    finally:
        if not already_running and _spark_is_running():
            session().stop()


def _diagnose(name: str, look: Callable[[], str]) -> Diagnosis:
    try:
        return Diagnosis(name, True, look())
    except _Unwell as found:
        return Diagnosis(name, False, found.detail, found.remedy)
    except EnvironmentProblem as problem:
        return Diagnosis(name, False, problem.problem, problem.remedy)
    except Exception as error:  # a doctor that falls over is no use: whatever it was, it is a finding
        first_line = next(iter(str(error).strip().splitlines()), "")
        return Diagnosis(
            name,
            False,
            f"{type(error).__name__}: {first_line}",
            "See it in full: LAZARETTO_SPARK_LOG=info lazaretto doctor",
        )


def _python() -> str:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < (3, 11):  # noqa: UP036 - what is installed may have been forced
        raise _Unwell(f"Python {version} is too old", "Install Python 3.11 or newer")
    return f"{version} ({sys.executable})"


def _java() -> str:
    java = find_java()
    return f"{java.version} ({java.executable})"


def _packages() -> str:
    found = {}
    for package, wanted in PINNED.items():
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            raise MissingExtra(f"{package} is not installed.", "Run: pip install 'lazaretto[spark]'") from None
        if found[package] != wanted:
            raise _Unwell(f"{package} is {found[package]} instead of {wanted}", "Run: pip install 'lazaretto[spark]'")
    return ", ".join(f"{package} {version}" for package, version in found.items())


def _jars() -> str:
    from lazaretto.spark.jars import ensure_jars, jars_folder

    return f"{len(ensure_jars())} present and verified in {jars_folder()}"


def _spark_start() -> str:
    spark = session("lazaretto-doctor")
    return f"Spark {spark.version} answers {spark.sql('SELECT 1').count()}"


def _delta_round_trip() -> str:
    spark = session("lazaretto-doctor")
    amount = Decimal("12.34")
    with tempfile.TemporaryDirectory(prefix="lazaretto-doctor-") as folder:
        table = str(Path(folder, "table"))
        row = spark.sql(f"SELECT 1 AS id, to_variant_object(named_struct('amount', {amount}BD)) AS payload")
        row.write.format("delta").save(table)
        back = spark.read.format("delta").load(table)
        read = back.selectExpr("variant_get(payload, '$.amount', 'decimal(4,2)') AS amount").collect()
    if [found["amount"] for found in read] != [amount]:
        raise _Unwell(f"wrote {amount} and read {read}", "Clear the jars' cache and run: lazaretto doctor")
    return "a row with a VARIANT column came back as it went"


def _disk() -> str:
    from lazaretto.spark.jars import jars_folder

    places = {
        "temporary folder": Path(tempfile.gettempdir()),
        "cache": _existing(jars_folder()),
        "here": Path.cwd(),
    }
    free = {f"{what} ({where})": shutil.disk_usage(where).free for what, where in places.items()}
    for place, amount in free.items():
        if amount < MINIMUM_DISK:
            raise _Unwell(
                f"{_gib(amount)} free for the {place}, less than {_gib(MINIMUM_DISK)}",
                "Make room there, or set TMPDIR and LAZARETTO_CACHE to folders on another disk",
            )
    return f"{_gib(min(free.values()))} free"


def _memory() -> str:
    total = machine.memory_bytes()
    if total < MINIMUM_MEMORY:
        raise _Unwell(
            f"{_gib(total)}, less than {_gib(MINIMUM_MEMORY)}",
            "Give the machine or the container more memory",
        )
    return f"{_gib(total)}, of which Spark takes {machine.driver_memory()}"


def _publish_round_trip() -> str:
    """Stage a file and make it part of a table without copying: the one thing that leans on Delta's internals."""
    from lazaretto.spark.delta_log import DeltaLogs

    spark = session()
    logs = DeltaLogs(spark)
    with tempfile.TemporaryDirectory(prefix="lazaretto-doctor-") as folder:
        table = f"{folder}/table"
        spark.sql(f"CREATE TABLE delta.`{table}` (id BIGINT) USING delta")
        try:
            frame = spark.range(1).selectExpr("id", "'accepted' AS lz_route")
            files = logs.stage(f"{table}/lz-0", frame.schema.json(), ["lz_route"], {}, frame)
            adds = [{"add": file | {"path": f"lz-0/{file['path']}", "partitionValues": {}}} for file in files]
            logs.commit(logs.begin(table), [*adds, logs.set_transaction("lazaretto:doctor", 1)], "Append", "{}")
            rows = spark.read.format("delta").load(table).count()
            remembered = logs.transaction_version(table, "lazaretto:doctor")
        except Exception as error:
            raise _Unwell(
                f"publishing without copying does not work with this Delta ({type(error).__name__})",
                "Set `publish: copy` in your suites: slower, and free of Delta's internals.",
            ) from error
    if (rows, remembered) != (1, 1):
        raise _Unwell(f"published 1 row, read {rows}", "Set `publish: copy` in your suites.")
    return "a staged file became part of a table by one commit"


def _startup() -> str:
    """Not a fault where it cannot be made: everything works without."""
    from lazaretto.spark import startup

    try:
        startup.make()
    except startup.NotMade as problem:
        return f"no archive of classes, starts take longer: {problem.problem}"
    return "the classes that Spark needs are kept ready for the next start"


LOOKS: dict[str, Callable[[], str]] = {
    "Python": _python,
    "Java": _java,
    "Packages": _packages,
    "Memory": _memory,
    "Disk": _disk,
    "Jars": _jars,
    "Spark": _spark_start,
    "Delta": _delta_round_trip,
    "Publish": _publish_round_trip,
    "Start-up": _startup,
}
"""What is looked at, the cheap things first: each returns what it found, or raises."""


def _spark_is_running() -> bool:
    pyspark = sys.modules.get("pyspark")  # never imported means never started
    return pyspark is not None and pyspark.SparkContext._active_spark_context is not None


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)


def _gib(amount: int) -> str:
    return f"{amount / machine.GIB:.1f} GiB"
