"""A stream takes everything once, whoever stops it, and wherever it goes on."""

from __future__ import annotations

import shutil
import threading
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import lazaretto as lz
from lazaretto.model.words import AssetState
from lazaretto.pipeline.sources import SourceError
from lazaretto.pipeline.stream import doctor
from lazaretto.pipeline.stream.api import BatchTold, StreamBusy
from lazaretto.pipeline.stream.doctor import examine_stream
from lazaretto.spark.lock import table_lock
from lazaretto.spark.publisher import Overtaken
from world import SCHEMA, SUITE, World, row


def go(world: World, **options: Any) -> lz.StreamResult:
    return lz.stream(world.suite(), world.spark, once=True, **options)


def test_batches_are_limited_and_a_lost_or_torn_checkpoint_changes_nothing(world: World) -> None:
    world.add(row(1), row(2, amount="-1"), row(3))
    world.add(row(4), row(5))
    told: list[BatchTold] = []
    first = go(world, limit=1, on_batch=told.append)
    assert (first.ended, first.batches, first.counts.input, first.exit_code) == ("caught_up", 2, 5, 0)
    assert [t.result.counts.input for t in told] in ([3, 2], [2, 3])
    assert (told[-1].lag, told[-1].open_quarantine) == ("0 versions", 1)
    checkpoint = Path(first.checkpoint)
    assert checkpoint.is_relative_to(world.root / "lake/quarantine/checkpoints")
    world.add(row(6))
    shutil.rmtree(checkpoint)
    notes: list[str] = []
    assert go(world, say=notes.append).counts.input == 1
    assert "written anew from the target's log (there was none)" in notes[0]
    world.add(row(7))
    for file in (checkpoint / "offsets").glob("[0-9]*"):
        file.write_text("v1\n")
    assert go(world, say=notes.append).counts.input == 1
    assert "cut off" in notes[-1]
    assert go(world, say=notes.append).batches == 0
    assert len(notes) == 2
    # A run goes on where the stream ended, and the other way round.
    assert world.run().outcome == "nothing_new"
    world.add(row(8))
    assert world.run().counts.input == 1
    world.add(row(9))
    assert go(world).counts.input == 1
    world.sql("OPTIMIZE {}", "bronze.orders")
    assert go(world).batches == 0
    world.nothing_lost_or_doubled([1, 2, 3, 4, 5, 6, 7, 8, 9])
    world.proved()
    # A checkpoint restored from a backup is behind the target.
    shutil.rmtree(checkpoint)
    (checkpoint / "offsets").mkdir(parents=True)
    assert go(world).batches == 0
    world.nothing_lost_or_doubled([1, 2, 3, 4, 5, 6, 7, 8, 9])


def test_a_source_made_anew_or_changed_is_refused(world: World) -> None:
    world.add(row(1), row(2))
    go(world)
    world.sql("UPDATE {} SET amount = 7 WHERE id = 1", "bronze.orders")
    with pytest.raises(SourceError, match=r"updates, deletes or overwrites.*append-only"):
        go(world)
    shutil.rmtree(world.path("bronze.orders"))
    world.add(row(3))
    with pytest.raises(SourceError, match=r"made anew.*--reprocess"):
        go(world)
    assert world.ids() == [1, 2]
    assert go(world, reprocess=True).counts.input == 1
    assert go(world).batches == 0
    assert world.ids() == [1, 2, 3]
    shutil.rmtree(world.path("bronze.orders"))
    with pytest.raises(SourceError, match="not a Delta table"):
        go(world)


def test_reprocess_takes_the_same_source_again(world: World) -> None:
    world.add(row(1))
    go(world)
    assert go(world, reprocess=True).counts.input == 1
    assert world.ids() == [1, 1]  # on purpose, and on record
    assert go(world).batches == 0


def test_windows_remember_earlier_streams_and_stop_this_one(world: World) -> None:
    windows = "[{id: errors, measure: error_rate, over: 2, above: 10%},\n"
    windows += "   {id: too_many, measure: error_rate, over: 2, above: 40%, action: stop}]"
    world.write_suite(SUITE.replace("key: [id]", f"key: [id]\nstream: {{windows: {windows}}}"))
    world.add(row(1), row(2), row(3), row(4, amount="-1"))
    notes: list[str] = []
    assert go(world, say=notes.append).ended == "caught_up"
    assert "1 of 4 rows in 1 batches, more than 10%; the asset is marked degraded" in notes[-1]
    with world.store() as store:
        assert store.asset_state("silver.orders").state is AssetState.DEGRADED  # type: ignore[union-attr]
    world.add(row(5), row(6, amount="-1"), row(7, amount="-1"))
    world.add(row(8))
    stopped = go(world, limit=1)
    assert (stopped.ended, stopped.exit_code, stopped.batches) == ("window", 3, 1)
    assert "too_many: 3 of 7 rows in 2 batches" in stopped.message
    world.proved()


def test_windows_over_time_and_lag_and_a_state_that_does_not_flap(world: World) -> None:
    windows = ", ".join(
        (
            "{id: late, measure: late_events, over: 1, above: 40%, action: hold}",
            "{id: old, measure: watermark_delay, over: 4, behind: 1d}",
            "{id: behind, measure: lag, over: 1, above: 2}",
        )
    )
    stream = f"event_time: at\nstream: {{recover_after: 2, lateness: 1h, windows: [{windows}]}}"
    world.write_suite(SUITE.replace("key: [id]", f"key: [id]\n{stream}"))
    noon = datetime(2026, 1, 2, 12)

    def add(number: int, hours: int) -> None:
        world.add((*row(number), noon + timedelta(hours=hours)), schema=f"{SCHEMA}, at timestamp")

    add(1, 0)
    states: list[str] = []

    def look(told: BatchTold) -> None:
        with world.store() as store:
            states.append(store.asset_state("silver.orders").state.value)  # type: ignore[union-attr]

    notes: list[str] = []
    go(world, say=notes.append, on_batch=look)
    for number, hours in ((2, -2), (3, 1), (4, 1), (5, 99 * 24 * 365)):
        add(number, hours)
    result = go(world, limit=1, say=notes.append, on_batch=look)
    assert (result.batches, result.refused, world.ids()) == (4, 1, [1, 2, 4, 5])
    assert [note for note in notes if "behind: a lag" in note] == [
        "window behind: a lag of at least 3 in 1 batches, more than 2; the asset is marked degraded"
    ]
    assert [note.split(":")[0] for note in notes if "behind the clock" in note] == ["window old"] * 2
    with world.store() as store:
        flows = [store.decision(d).context.flow for d in reversed(_ids(store))]
        held = [d for d in map(store.decision, _ids(store)) if not d.publishes]
    assert [flow.lag for flow in flows if flow] == [0, 3, 2, 1, 0]
    assert [flow.late for flow in flows if flow] == [0, 1, 0, 0, 0]
    newest = [flow.newest_event.hour for flow in flows if flow and flow.newest_event]
    assert newest == [12, 12, 13, 13, 13]  # an event that is yet to come does not make all others late
    assert held[0].held_by == ("lz.window",)
    assert held[0].context.rows_failing == 0  # its rows are as good as they are
    assert "late: 1 of 1 rows" in next(r.message for r in held[0].results if r.check == "lz.window")
    # Degraded by the lag, it stays so for two batches; then by the delay.
    assert states == ["certified", *["degraded"] * 4]
    world.proved()


def test_corrected_records_are_taken_up_between_batches(world: World) -> None:
    world.add(row(1), row(2, amount="-1"), row(3))
    go(world)
    places = world.path("quarantine.records")
    world.add(row(4))
    world.add(row(5))

    def correct(told: BatchTold) -> None:
        if told.number == 1:
            world.spark.sql(
                f"UPDATE delta.`{places}` SET correction = parse_json('{{\"amount\": 7}}'), status = 'CORRECTED'"
            )

    notes: list[str] = []
    result = go(world, limit=1, on_batch=correct, say=notes.append)
    assert notes == ["1 corrected records sent back, 1 of them are published now"]
    assert result.counts.input == 2  # recycled rows are not new input
    assert world.ids() == [1, 2, 3, 4, 5]
    world.proved()


def test_automatic_corrections_follow_a_batch(world: World) -> None:
    (world.root / "corrections").mkdir()
    (world.root / "corrections" / "orders.yml").write_text(
        "asset: silver.orders\nversion: 1.0.0\nowner: sales\ncorrections:\n  - id: sign\n"
        "    match: {rules: [amount_positive]}\n"
        "    transformations: [{transform: sql, column: amount, expression: abs(amount)}]\n"
    )
    world.write_suite(f"{SUITE}corrections: after_quarantine\n")
    world.add(row(1), row(2, amount="-1"))
    go(world)
    assert [r.status for r in world.quarantined()] == ["RECOVERED"]  # and taken up before the stream ended
    assert world.ids() == [1, 2]
    world.proved()


def test_a_refused_batch_is_held_and_the_next_one_is_begun_unless_told_otherwise(world: World) -> None:
    world.write_suite(SUITE.replace("min: 0}", "min: 0, block_above: 10%}"))
    world.add(row(1))
    go(world)
    world.add(row(2, amount="-1"))
    world.add(row(3))
    stopped = go(world, limit=1, on_block="stop")
    assert (stopped.ended, stopped.exit_code, stopped.batches) == ("blocked", 3, 1)
    assert world.ids() == [1]
    went_on = go(world, limit=1)
    assert (went_on.ended, went_on.exit_code, world.ids()) == ("caught_up", 0, [1, 3])
    assert len(world.held_folders()) == 1
    # What the micro-batch took is read once more from the versions it took; the stream goes on where it was.
    world.write_suite(SUITE.replace("min: 0}", "min: -5}").replace("1.0.0", "2.0.0"))
    again = world.judge_again()
    assert (again.counts.accepted, again.suite_version, world.ids()) == (1, "2.0.0", [1, 2, 3])
    assert not world.waiting()
    assert go(world).batches == 0
    world.proved()


def test_a_part_of_a_version_cannot_be_judged_again(world: World) -> None:
    world.write_suite(SUITE.replace("min: 0}", "min: 0, block_above: 10%}"))
    rows = [row(number, amount="-1") for number in (1, 2)]
    frame = world.spark.createDataFrame(rows, SCHEMA).repartition(2, "id")
    frame.write.format("delta").save(world.path("bronze.orders"))
    assert go(world, limit=1).refused == 2
    with pytest.raises(SourceError, match="a part of a version of bronze"):
        world.judge_again()
    assert len(world.held_folders()) == 2  # they wait as before
    world.proved()


def test_fail_closed_stops_the_stream_until_somebody_approves(world: World) -> None:
    world.write_suite(SUITE + "  - {id: no_mail, check: no_pii, column: name, detectors: [email], runbook: x}\n")
    world.add(row(1, name="ann@example.com"))
    world.add(row(2))
    closed = go(world, limit=1)
    assert (closed.ended, closed.exit_code, closed.batches) == ("locked", 4, 1)
    again = go(world)
    assert (again.ended, again.exit_code, again.batches) == ("locked", 4, 0)
    assert world.ids() == []


def test_a_stream_ends_when_asked_between_two_batches(world: World) -> None:
    for number in range(1, 6):
        world.add(row(number))
    stop = threading.Event()

    def enough(told: BatchTold) -> None:
        if told.number == 2:
            stop.set()

    ended = lz.stream(world.suite(), world.spark, limit=1, on_batch=enough, stop=stop, every="1s")
    assert (ended.ended, ended.batches) == ("asked", 2)
    checkpoint = Path(ended.checkpoint)
    assert sorted(p.name for p in (checkpoint / "commits").glob("[0-9]*")) == ["0", "1"]
    with (
        table_lock(world.spark, str(checkpoint)),
        pytest.raises(StreamBusy, match="another instance streams orders"),
    ):
        go(world, wait=0.5)
    assert go(world).counts.input == 3
    world.nothing_lost_or_doubled([1, 2, 3, 4, 5])


def test_two_streams_with_checkpoints_of_their_own_do_not_double(world: World) -> None:
    """The lock does not span their checkpoints: the fence in the target's log does."""
    world.add(row(1))
    other = str(world.root / "other")
    overtaking: list[str] = []

    def overtake(told: BatchTold) -> None:
        if told.number == 1:
            world.add(row(3))
            overtaking.append(go(world, checkpoint=other).ended)
            world.add(row(4))

    notes: list[str] = []
    world.add(row(2))
    first = go(world, limit=1, on_batch=overtake, say=notes.append)
    assert overtaking == ["caught_up"]
    assert any("another instance took bronze.orders further" in note for note in notes)
    assert first.ended == "caught_up"
    go(world)
    world.nothing_lost_or_doubled([1, 2, 3, 4])
    assert issubclass(Overtaken, Exception)


def test_a_suite_is_taken_up_anew_between_two_batches_and_small_files_are_put_together(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    stricter = SUITE.replace("min: 0}", "min: 100}")
    at_once = "target: {properties: {delta.deletedFileRetentionDuration: interval 0 hours}}"
    world.write_suite(SUITE.replace("key: [id]", f"key: [id]\nstream: {{compact_every: 3}}\n{at_once}"))
    for number in range(1, 6):
        world.add(row(number))
    notes: list[str] = []

    def edit(told: BatchTold) -> None:
        texts = {1: "suite: [", 2: stricter, 3: stricter.replace("1.0.0", "1.1.0")}
        if told.number in texts:
            world.write_suite(texts[told.number])

    result = go(world, limit=1, on_batch=edit, say=notes.append, reload=True)
    assert [note.split(" judge")[0] for note in notes] == [
        "version 1.0.0 goes on to",
        "version 1.0.0 goes on to",
        "version 1.1.0",
    ]
    assert result.last is not None
    assert result.last.suite_version == "1.1.0"
    assert (world.ids(), world.quarantined_ids(), len(world.held_folders())) == ([1, 2, 3], [], 2)
    assert result.refused == 2  # more than 90 % are bad: the batch is the problem
    operations = [r.operation for r in world.sql("DESCRIBE HISTORY {}").collect()]
    assert operations.count("OPTIMIZE") == 1
    [file] = world.spark.read.format("delta").load(world.path("silver.orders")).inputFiles()
    # What was put together is removed, with the folders that are empty then.
    silver = Path(world.path("silver.orders"))
    assert [path.name for path in silver.rglob("*.parquet") if "_delta_log" not in path.parts] == [Path(file).name]
    assert not list(silver.glob("lz-*"))
    with world.store() as store:
        judged_by = {d.rule_set_fingerprint for d in map(store.decision, _ids(store))}
    assert len(judged_by) == 2
    world.proved()
    diagnoses = list(examine_stream(world.spark, world.suite()))
    assert all(d.ok for d in diagnoses), diagnoses
    last = max((Path(result.checkpoint) / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    last.write_text("v1")
    world.add(row(9))
    with table_lock(world.spark, result.checkpoint):
        found = {d.name: d for d in examine_stream(world.spark, world.suite())}
    assert "one runs" in found["instance"].detail
    assert "torn: offsets/4 is cut off" in found["checkpoint"].detail
    assert found["retention"].ok
    # A source that forgets sooner than it is taken, one that has forgotten, and options by which rows would be lost.
    keeps = "ALTER TABLE {} SET TBLPROPERTIES (delta.deletedFileRetentionDuration = 'interval 0 hours')"
    world.sql(keeps, "bronze.orders")
    assert _found(world, "retention").endswith(" old; the source keeps 0s")
    with monkeypatch.context() as patch:
        patch.setattr(doctor, "commit", lambda *_: None)
        assert _found(world, "retention") == "version 5 of bronze.orders was cleaned away before it was taken"
    world.write_suite(SUITE.replace("bronze.orders", "bronze.orders, options: {ignoreMissingFiles: 'true'}"))
    assert "rows of missing files would be lost" in _found(world, "source")


def _found(world: World, name: str) -> str:
    [diagnosis] = [d for d in examine_stream(world.spark, world.suite()) if d.name == name and not d.ok]
    return diagnosis.detail


def _ids(store: Any) -> list[str]:
    return [d.decision_id for d in store.decisions("silver.orders")]


@pytest.mark.parametrize("every", ["real-time", "continuous"])
def test_modes_without_a_gate_between_batches_are_refused(every: str) -> None:
    from stream.test_checkpoint import suite

    with pytest.raises(SourceError, match="no gate could stand there"):
        lz.stream(suite(), object(), every=every)  # type: ignore[arg-type]
