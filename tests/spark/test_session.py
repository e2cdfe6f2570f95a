"""The local session: its settings, its silence, and its manners towards a session that already runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lazaretto.model.errors import SparkStartError
from lazaretto.spark import machine
from lazaretto.spark.local import session, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JARS = [Path("/jars/a.jar"), Path("/jars/b.jar")]


def made(**changes: object) -> dict[str, str]:
    arguments: dict[str, object] = {"cores": 2, "memory": None, "conf": None, "warehouse": None, "jars": JARS}
    return settings("app", **(arguments | changes))  # type: ignore[arg-type]


def run_python(script: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | env,
        timeout=200,
    )


def test_settings_suit_one_machine() -> None:
    found = made()
    assert found["spark.master"] == "local[2]"
    assert found["spark.jars"] == "/jars/a.jar,/jars/b.jar"
    assert found["spark.sql.session.timeZone"] == "UTC"
    assert found["spark.sql.shuffle.partitions"] == "4"
    assert found["spark.driver.memory"] == machine.driver_memory()
    assert "spark.sql.warehouse.dir" not in found
    assert made(cores="*")["spark.master"] == "local[*]"
    assert made(memory="3g")["spark.driver.memory"] == "3g"


def test_the_callers_settings_win_and_add() -> None:
    found = made(
        conf={
            "spark.ui.enabled": "true",
            "spark.jars": "/jars/c.jar",
            "spark.driver.extraJavaOptions": "-Dx=y",
            "spark.custom": "1",
        }
    )
    assert found["spark.ui.enabled"] == "true"
    assert found["spark.custom"] == "1"
    assert found["spark.jars"] == "/jars/a.jar,/jars/b.jar,/jars/c.jar"
    assert found["spark.driver.extraJavaOptions"].startswith("-Dlog4j2.configurationFile=file:///")
    assert found["spark.driver.extraJavaOptions"].endswith(" -Dx=y")


def test_a_relative_warehouse_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert made(warehouse="w")["spark.sql.warehouse.dir"] == str(tmp_path / "w")


@pytest.mark.parametrize(
    ("total", "expected"),
    [(2 * machine.GIB, "1024m"), (24 * machine.GIB, "6144m"), (256 * machine.GIB, "16384m")],
)
def test_driver_memory(total: int, expected: str) -> None:
    assert machine.driver_memory(total) == expected


def test_memory_respects_the_container(tmp_path: Path) -> None:
    limit, unlimited = tmp_path / "limit", tmp_path / "unlimited"
    limit.write_text(f"{machine.GIB}\n")
    unlimited.write_text("max\n")
    assert machine.memory_bytes((unlimited, tmp_path / "none", limit)) == machine.GIB
    assert machine.memory_bytes((unlimited,)) > 0


def test_a_running_session_is_returned_untouched(spark: SparkSession) -> None:
    spark.range(1).count()  # on first use Spark itself rewrites the warehouse's path in its settings
    before = dict(spark.sparkContext.getConf().getAll())
    again = session("another name", cores=1, memory="1g")
    assert again is spark
    assert again.conf.get("spark.sql.shuffle.partitions") == "2"
    assert dict(again.sparkContext.getConf().getAll()) == before


def test_a_running_session_that_contradicts_is_refused(spark: SparkSession) -> None:
    assert session(conf={"spark.sql.shuffle.partitions": "2"}) is spark
    with pytest.raises(SparkStartError, match=r"shuffle\.partitions = 2 instead of 7"):
        session(conf={"spark.sql.shuffle.partitions": "7"})


def test_delta_and_time_zone_are_in_place(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "table with space")
    spark.range(3).write.format("delta").save(table)
    assert spark.read.format("delta").load(table).count() == 3
    (row,) = spark.sql("SELECT string(timestamp'2026-01-01 00:00:00Z') AS moment").collect()
    assert row["moment"] == "2026-01-01 00:00:00"


def test_a_session_starts_and_stops_without_a_word(tmp_path: Path) -> None:
    script = (
        "import os; from lazaretto.spark import session; spark = session(cores=1, memory='1g');"
        "assert spark.range(5).count() == 5;"
        "assert session() is spark;"
        "assert 'SPARK_HOME' not in os.environ;"
        "spark.stop(); spark = session(cores=1); assert spark.range(2).count() == 2;"
        "print('done')"
    )
    # a foreign SPARK_REMOTE must not turn the local session into a Connect client
    answer = run_python(f"import os; os.chdir({str(tmp_path)!r}); {script}", SPARK_REMOTE="sc://127.0.0.1:9")
    assert (answer.stdout, answer.stderr, answer.returncode) == ("done\n", "", 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("1k", "Spark's JVM ended before it was up; its last words: "),  # the JVM refuses
        (
            "100m",
            "Spark does not start: org.apache.spark.SparkIllegalArgumentException: ",
        ),  # Spark in it refuses
    ],
)
def test_a_spark_that_does_not_start_says_why_once(memory: str, said: str) -> None:
    script = (
        "from lazaretto.spark import session\n"
        "from lazaretto.model.errors import SparkStartError\n"
        f"try: session(memory={memory!r})\n"
        "except SparkStartError as error: print(error)\n"
    )
    answer = run_python(script)
    assert answer.stdout.startswith(said)
    assert answer.stdout.endswith("Run: lazaretto doctor\n")
    assert answer.stdout.count("\n") == 1
    assert answer.stderr == ""
