"""A held batch leaves the target's folder whole, whenever it is interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lazaretto.model.seal import SEAL_FILE, Seal
from lazaretto.quarantine.held import StagedFilesLost, held, hold
from lazaretto.spark.files import Files
from quarantine.staged import stage


class Interrupted(Exception):
    """The power is gone."""


class FailingFiles(Files):
    """Copies so many files, the last only by half, and then fails."""

    def __init__(self, spark: SparkSession, copies: int) -> None:
        super().__init__(spark)
        self.copies = copies

    def copy(self, source: str, target: str) -> None:
        if self.copies == 0:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            Path(target).write_bytes(Path(source).read_bytes()[:10])
            raise Interrupted
        self.copies -= 1
        super().copy(source, target)


@pytest.fixture
def seal(spark: SparkSession, tmp_path: Path) -> Seal:
    return stage(spark, tmp_path / "target", spark.range(6).repartition(3), accepted=3)


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


@pytest.mark.parametrize("copies", [0, 1, 2])
def test_an_interrupted_hold_is_resumed(spark: SparkSession, tmp_path: Path, seal: Seal, copies: int) -> None:
    staged, place = tmp_path / "target" / seal.folder, tmp_path / "held"
    before = content(staged)
    with pytest.raises(Interrupted):
        hold(FailingFiles(spark, copies), seal, str(tmp_path / "target"), str(place))
    assert held(Files(spark), str(place)) == []  # no seal: not held
    assert content(staged) == before
    for _ in range(2):  # the second time there is nothing left to do
        assert hold(Files(spark), seal, str(tmp_path / "target"), str(place)) == str(place / seal.folder)
        assert content(place / seal.folder) == before
        assert not staged.exists()
        assert held(Files(spark), str(place)) == [seal]


def test_a_crash_before_the_staged_folder_is_gone(spark: SparkSession, tmp_path: Path, seal: Seal) -> None:
    staged, place = tmp_path / "target" / seal.folder, tmp_path / "held"
    files = Files(spark)
    hold(files, seal, str(tmp_path / "target"), str(place))
    staged.mkdir()
    (staged / SEAL_FILE).write_text(seal.text())  # the data files were deleted, the seal not yet
    hold(files, seal, str(tmp_path / "target"), str(place))
    assert not staged.exists()
    assert len(content(place / seal.folder)) == len(seal.files) + 1


def test_files_lost_before_they_were_held_are_told(spark: SparkSession, tmp_path: Path, seal: Seal) -> None:
    (tmp_path / "target" / seal.folder / seal.files[0]["path"]).unlink()
    with pytest.raises(StagedFilesLost, match="gone or damaged"):
        hold(Files(spark), seal, str(tmp_path / "target"), str(tmp_path / "held"))
    assert held(Files(spark), str(tmp_path / "held")) == []
    assert (tmp_path / "target" / seal.folder).exists()
