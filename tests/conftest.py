"""What all tests share: one Spark session per process, and no skipped tests in CI."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# PySpark reads naive datetimes by the clock of this process, whatever the session's time zone is.
os.environ["TZ"] = "UTC"
time.tzset()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one session of this process; tests that do not ask for it start no JVM."""
    from lazaretto.spark import session

    spark = session(
        "lazaretto-tests",
        cores=2,
        memory="2g",
        warehouse=tmp_path_factory.mktemp("warehouse"),
        conf={
            "spark.sql.shuffle.partitions": "2",
            # Tests run each plan once: compiling it to the last optimisation costs more than it brings.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        },
    )
    yield spark
    spark.stop()


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
