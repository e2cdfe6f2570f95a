"""Targets of all kinds, and what others do to them between two runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lazaretto.model.words import AssetState, GateAction
from lazaretto.pipeline.target import TargetError
from world import SCHEMA, SUITE, World, row

FEATURES = (
    "{cluster_by: [id], properties: {delta.columnMapping.mode: name, delta.enableChangeDataFeed: 'true', "
    "delta.enableRowTracking: 'true', delta.enableDeletionVectors: 'true'}}"
)


@pytest.mark.parametrize("publish", ["zero_copy", "copy"])
def test_a_table_with_every_feature(world: World, publish: str) -> None:
    world.write_suite(SUITE.replace("key: [id]", f"key: [id]\npublish: {publish}\ntarget: {FEATURES}"))
    nested = f"{SCHEMA}, s struct<a: int, b: array<struct<c: string>>>, m map<string, struct<d: int>>"
    inner: tuple[Any, ...] = ((1, [("x",)]), {"k": (7,)})
    world.add((*row(1), *inner), (*row(2), *inner), (*row(3, amount="-1"), *inner), schema=nested)
    assert world.run().counts.accepted == 2
    world.sql("DELETE FROM {} WHERE id = 2")
    world.add((*row(4), *inner), schema=nested)
    assert world.run().counts.accepted == 1
    for found in (world.rows(), [r for r in world.rows() if r.id == 4]):
        assert {(r.s.a, r.s.b[0].c, r.m["k"].d, r.code) for r in found} == {(1, "x", 7, "7")}
    assert world.ids() == [1, 4]
    table = world.spark.read.format("delta").load(world.path("silver.orders"))
    assert table.selectExpr("_metadata.row_id").distinct().count() == 2
    changes = world.spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 1)
    kinds = changes.load(world.path("silver.orders")).groupBy("_change_type").count().collect()
    assert {r._change_type: r["count"] for r in kinds} == {"insert": 3, "delete": 1}
    world.sql("OPTIMIZE {}")
    world.sql("REORG TABLE {} APPLY (PURGE)")
    # A column that once had another name has a physical name that nobody would guess.
    world.sql("ALTER TABLE {} RENAME COLUMN code TO code2")
    world.sql("ALTER TABLE {} RENAME COLUMN code2 TO code")
    world.add((*row(5, code="8"), *inner), schema=nested)
    world.run()
    assert {(r.id, r.code) for r in world.rows()} == {(1, "7"), (4, "7"), (5, "8")}


@pytest.mark.parametrize("publish", ["zero_copy", "copy"])
def test_replaced_partitions_are_those_of_the_batch(world: World, publish: str) -> None:
    world.write_suite(
        SUITE.replace(
            "key: [id]", f"key: [id]\nwrite: replace_partitions\npublish: {publish}\ntarget: {{partition_by: [name]}}"
        )
    )

    def take(run_id: str, *rows: tuple[Any, ...], **options: Any) -> Any:
        return world.run(df=world.spark.createDataFrame(list(rows), SCHEMA), run_id=run_id, **options)

    take("one", row(1, name="a"), row(2, name="a"), row(3, name="b"), row(4, name=None))
    second = take("two", row(5, name="a"), row(6, name=None), row(7, name="c", amount="-1"))
    assert second.counts.model_dump()["quarantined"] == 1
    assert world.ids() == [3, 5, 6]
    # A partition asked for by name is replaced even if nothing of it is left.
    take("three", row(8, name="a"), partition={"name": "b"})
    assert world.ids() == [5, 6]
    assert world.quarantined_ids() == [7]


def test_what_others_do_between_runs(world: World) -> None:
    world.add(row(1), row(2), row(3, amount="-1"))
    world.run()
    for file in (world.root / ".lazaretto").glob("control.db*"):
        file.unlink()  # the store is not what knows how far the source was taken
    world.sql("VACUUM {}")
    world.sql("OPTIMIZE {}")
    assert world.run().foreign_changes == ()  # the same rows in other files
    world.sql("DELETE FROM {} WHERE id = 1")
    world.add(row(4))
    noticed = world.run()
    assert (noticed.counts.input, world.ids()) == (1, [2, 4])
    assert "DELETE" in noticed.message
    with world.store() as store:
        assert store.asset_state("silver.orders").state is AssetState.UNCERTIFIED  # type: ignore[union-attr]
    assert world.run().foreign_changes == ()  # told once

    before = world.spark.sql(f"DESCRIBE HISTORY delta.`{world.path('silver.orders')}`").first().version
    world.add(row(5))
    lost = world.run()
    world.sql(f"RESTORE TABLE {{}} TO VERSION AS OF {before}")
    restored = world.run()
    assert restored.outcome == "nothing_new"  # not silently published again
    assert "RESTORE" in restored.message
    assert lost.batch_id[:12] in restored.message  # type: ignore[index]
    assert world.ids() == [2, 4]
    world.add(row(6))
    world.run()
    assert world.ids() == [2, 4, 6]
    assert world.run(again=True, where="id = 5").counts.accepted == 1
    assert world.ids() == [2, 4, 5, 6]
    assert world.quarantined_ids() == [3]


def test_a_dropped_target_is_begun_anew_on_demand_only(world: World) -> None:
    world.add(row(1), row(2, amount="-1"))
    world.run()
    shutil.rmtree(world.path("silver.orders"))
    world.add(row(3))
    with pytest.raises(TargetError, match=r"silver\.orders is gone.*--reprocess"):
        world.run()
    assert not Path(world.path("silver.orders")).exists()
    world.spark.createDataFrame([row(9)], SCHEMA).write.format("delta").save(world.path("silver.orders"))
    with pytest.raises(TargetError, match="another table than before"):
        world.run()
    assert world.run(reprocess=True).counts.input == 3
    assert world.ids() == [1, 3, 9]
    assert world.run().outcome == "nothing_new"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"mounting is not allowed here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_stops_a_run_and_leaves_nothing_half_done(spark: Any, small_disk: Path) -> None:
    world = World.create(spark, small_disk)
    world.add(*(row(n) for n in range(1, 4)), row(4, amount="-1"), row(5, amount="-1"))
    world.run(dry_run=True)  # what the control store and the lock need is there
    ballast = small_disk / "ballast"
    free = os.statvfs(small_disk)
    ballast.write_bytes(b"x" * (free.f_bavail * free.f_frsize - 8 * 4096))
    refusals: list[str] = []
    for _ in range(60):
        try:
            world.run()
            break
        except Exception as error:  # whatever says that the disk is full: Python, SQLite or the JVM
            refusals.append(_all_of(error))
        assert set(world.ids()) <= {1, 2, 3}
        assert set(world.quarantined_ids()) <= {4, 5}
        os.truncate(ballast, max(0, ballast.stat().st_size - 12 * 4096))
    assert len(refusals) > 2
    assert all("no space left" in text or "disk" in text for text in refusals), refusals
    ballast.unlink()
    assert world.run().action in (None, GateAction.QUARANTINE_RECORDS)
    world.nothing_lost_or_doubled([1, 2, 3, 4, 5])
    assert {r.place for r in world.quarantined()} == {"inbox"}


def _all_of(error: BaseException | None) -> str:
    return f"{error} {_all_of(error.__cause__ or error.__context__)}".casefold() if error else ""
