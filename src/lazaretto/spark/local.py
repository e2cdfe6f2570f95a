"""A local Spark session with Delta Lake, with settings that suit one machine."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lazaretto.extras import require
from lazaretto.model.errors import SparkStartError
from lazaretto.spark import gateway, machine
from lazaretto.spark.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_JARS = "spark.jars"

# Two threads that ask for the first session must not start two JVMs.
_STARTING = threading.Lock()


def session(
    app_name: str = "lazaretto",
    *,
    cores: int | str = "*",
    memory: str | None = None,
    conf: Mapping[str, str] | None = None,
    warehouse: str | os.PathLike[str] | None = None,
) -> SparkSession:
    """Start a local Spark session with Delta Lake, or return the one that runs in this process.

    A running session is returned untouched, whoever built it: its settings are its owner's. If it
    contradicts `conf`, that is a SparkStartError, not something to be overlooked.

    Args:
        app_name: the name Spark shows for it.
        cores: how many cores to use, "*" for all.
        memory: the JVM's heap in Spark's notation ("4g"); by default a quarter of the machine's memory.
        conf: further Spark settings, which win over ours (Java options and jars are added to ours).
        warehouse: the folder of tables created by name; by default Spark's, `spark-warehouse` where you are.

    Raises:
        EnvironmentProblem: pyspark, Java or a jar is missing, or Spark does not start; with what to do.
    """
    require("pyspark", extra="spark")
    require("delta", extra="spark")
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    # Imported here, or `python -m lazaretto.spark.startup` would find itself imported already.
    from lazaretto.spark import startup
    from lazaretto.spark.jars import ensure_jars

    with _STARTING:
        if SparkContext._active_spark_context is not None:
            with gateway.environment(gateway.CLASSIC):
                running = SparkSession.builder.getOrCreate()  # without options it changes nothing
            _refuse_contradiction(running, conf or {})
            return running
        java = find_java()
        jars, asked = ensure_jars(), dict(conf or {})
        asked[_JAVA_OPTIONS] = f"{startup.options(java)} {asked.get(_JAVA_OPTIONS, '')}".strip()
        wanted = settings(app_name, cores=cores, memory=memory, conf=asked, warehouse=warehouse, jars=jars)
        with gateway.environment(gateway.variables(java)):
            gateway.launch(wanted)
            try:
                return SparkSession.builder.config(map=dict(wanted)).getOrCreate()
            except (Py4JError, PySparkException) as error:
                reason = str(getattr(error, "java_exception", error)).partition("\n")[0].rstrip(".")
                raise SparkStartError(f"Spark does not start: {reason}.", "Run: lazaretto doctor") from error


def settings(
    app_name: str,
    *,
    cores: int | str,
    memory: str | None,
    conf: Mapping[str, str] | None,
    warehouse: str | os.PathLike[str] | None,
    jars: Sequence[Path],
) -> dict[str, str]:
    """The settings of a local session, and why each is there."""
    core_count = machine.cores() if cores == "*" else int(cores)
    conf = dict(conf or {})
    ours = {
        "spark.app.name": app_name,
        "spark.master": f"local[{cores}]",
        # What we do with the JVM (zero-copy commits) is out of reach over Connect.
        "spark.api.mode": "classic",
        "spark.driver.memory": memory or machine.driver_memory(),
        # Delta Lake
        _JARS: ",".join([*map(str, jars), *filter(None, [conf.pop(_JARS, "")])]),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # The defaults (50 and 200) are for clusters: here they cost more than the work on small tables.
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.shuffle.partitions": str(max(4, 2 * core_count)),
        "spark.sql.adaptive.enabled": "true",
        # The same timestamps on every machine
        "spark.sql.session.timeZone": "UTC",
        # Nothing listens outside this machine, nothing talks over the output of a command.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        _JAVA_OPTIONS: " ".join(
            filter(
                None,
                [f"-Dlog4j2.configurationFile={_LOG_CONFIGURATION.as_uri()}", conf.pop(_JAVA_OPTIONS, "")],
            )
        ),
    }
    if warehouse is not None:
        ours["spark.sql.warehouse.dir"] = str(Path(warehouse).resolve())
    return ours | conf


def _refuse_contradiction(running: SparkSession, conf: Mapping[str, str]) -> None:
    added = (_JARS, _JAVA_OPTIONS)  # a session of ours has more in these than was asked for
    for key, value in conf.items():
        found = running.conf.get(key, None)
        if key not in added and found != value:
            raise SparkStartError(
                f"A Spark session already runs in this process, with {key} = {found} instead of {value}.",
                "Stop it first (spark.stop()), or use it as it is.",
            )
