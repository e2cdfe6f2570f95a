"""The doctor: a diagnosis for everything, a remedy for what is wrong, never a traceback."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NoReturn

import pytest
import typer
from typer.testing import CliRunner

from lazaretto.cli.doctor import doctor as command
from lazaretto.model.errors import JavaError
from lazaretto.spark import doctor, machine
from lazaretto.spark.doctor import Diagnosis, examine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.command()(command)
    return app


def only(monkeypatch: pytest.MonkeyPatch, **looks: object) -> None:
    monkeypatch.setattr(doctor, "LOOKS", looks)


def no_java() -> NoReturn:
    raise JavaError("Java is not installed.", "Run: apt-get install it")


def bug() -> NoReturn:
    raise ZeroDivisionError("first line\nsecond line")


def test_all_is_well_with_a_running_session_which_stays(spark: SparkSession) -> None:
    diagnoses = list(examine())
    assert [diagnosis.name for diagnosis in diagnoses] == list(doctor.LOOKS)
    assert [diagnosis for diagnosis in diagnoses if not diagnosis.ok] == []
    assert all(diagnosis.detail and not diagnosis.remedy for diagnosis in diagnoses)
    assert spark.range(1).count() == 1


def test_each_diagnosis_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, Java=no_java, Bug=bug, Fine=lambda: "well")
    assert list(examine()) == [
        Diagnosis("Java", False, "Java is not installed.", "Run: apt-get install it"),
        Diagnosis(
            "Bug",
            False,
            "ZeroDivisionError: first line",
            "See it in full: LAZARETTO_SPARK_LOG=info lazaretto doctor",
        ),
        Diagnosis("Fine", True, "well"),
    ]


def test_the_command_prints_a_line_each_and_exits_1(app: typer.Typer, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, Java=no_java, Fine=lambda: "[bold]well[/bold]")
    answer = CliRunner().invoke(app)
    assert answer.exit_code == 1
    assert answer.stdout.splitlines() == [
        "FAIL  Java      Java is not installed.",
        "                Run: apt-get install it",
        "ok    Fine      [bold]well[/bold]",
    ]


def test_the_command_exits_0_when_all_is_well(app: typer.Typer, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, Fine=lambda: "well")
    assert CliRunner().invoke(app).exit_code == 0


def test_json_is_one_document(app: typer.Typer, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, Java=no_java, Fine=lambda: "well")
    answer = CliRunner().invoke(app, ["--output", "json"])
    assert answer.exit_code == 1
    assert json.loads(answer.stdout) == {
        "ok": False,
        "diagnoses": [
            {
                "name": "Java",
                "ok": False,
                "detail": "Java is not installed.",
                "remedy": "Run: apt-get install it",
            },
            {"name": "Fine", "ok": True, "detail": "well", "remedy": ""},
        ],
    }


def look(name: str) -> Diagnosis:
    return doctor._diagnose(name, doctor.LOOKS[name])


def test_too_little_memory_or_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "memory_bytes", lambda: machine.GIB)
    monkeypatch.setattr(doctor, "MINIMUM_DISK", 2**80)
    assert look("Memory") == Diagnosis(
        "Memory", False, "1.0 GiB, less than 3.0 GiB", "Give the machine or the container more memory"
    )
    disk = look("Disk")
    assert not disk.ok
    assert "TMPDIR" in disk.remedy


def test_another_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(doctor.PINNED, "pyspark", "9.9.9")
    assert look("Packages") == Diagnosis(
        "Packages", False, "pyspark is 4.2.0 instead of 9.9.9", "Run: pip install 'lazaretto[spark]'"
    )
    monkeypatch.setitem(doctor.PINNED, "no-such-package", "1")
    monkeypatch.delitem(doctor.PINNED, "pyspark")
    assert "no-such-package is not installed" in look("Packages").detail


def test_a_wrong_java_home_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert not look("Java").ok
