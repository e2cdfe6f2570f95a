"""A batch from its source to its place."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

import lazaretto as lz
from lazaretto.model.words import GateAction, Publication
from lazaretto.pipeline.sources import SourceError
from world import SCHEMA, SUITE, World, row


def test_good_rows_are_published_and_bad_ones_quarantined_in_one_commit_each(world: World) -> None:
    world.add(row(1), row(2, amount="-1"), row(3, name=" "), row(4, code="abc"), row(5, amount="-1"))
    result = world.run(run_id="first run: a/b")

    assert result.action is GateAction.QUARANTINE_RECORDS
    assert result.publication is Publication.PUBLISHED_DEGRADED
    assert result.counts.model_dump() == {
        "input": 5,
        "accepted": 2,
        "quarantined": 3,
        "dead_lettered": 0,
        "held": 0,
    }
    assert world.ids() == [1, 3]
    assert world.quarantined_ids() == [2, 4, 5]
    assert world.commits() == 2  # the creation, and one for the batch
    assert world.commits("quarantine.records") == 2
    by_rule = {(r["rule_id"], r["status"]): r["failed"] + r["errored"] for r in result.to_dict()["results"]}
    assert by_rule["amount_positive", "FAIL"] == 2
    assert by_rule["name_given", "FAIL"] == 1
    assert by_rule["code_numeric", "ERROR"] == 1

    with world.store() as store:
        decision = store.decision(result.decision.decision_id)  # type: ignore[union-attr]
        assert decision == result.decision
        assert not store.unconfirmed()
    samples = {r.rule_id: r.samples for r in decision.results}
    known = {r.record_id for r in world.quarantined()}
    assert {s.record_id for s in samples["amount_positive"]} <= known
    assert len(samples["amount_positive"]) == 2


def test_a_second_run_takes_only_what_is_new(world: World) -> None:
    world.add(row(1), row(2, amount="-1"))
    first = world.run()
    again = world.run()
    assert again.outcome == "nothing_new"
    assert again.exit_code == 0
    assert world.commits() == 2
    world.add(row(3))
    world.add(row(4, amount="-2"))
    second = world.run()
    assert (second.counts.input, first.counts.input) == (2, 2)
    world.nothing_lost_or_doubled([1, 2, 3, 4])
    repeated = world.run(again=True)
    assert repeated.counts.input == 4
    assert world.ids() == [1, 1, 3, 3]


def test_identical_bad_rows_are_two_records(world: World) -> None:
    world.add(row(1, amount="-1"), row(1, amount="-1"), row(2))
    world.run()
    assert len({r.record_id for r in world.quarantined()}) == 2


def test_a_refused_batch_is_held_whole_and_nothing_of_it_is_readable(world: World) -> None:
    world.write_suite(SUITE.replace("min: 0}", "min: 0, block_above: 10%}"))
    world.add(row(1), row(2, amount="-1"))
    result = world.run()
    assert result.action is GateAction.BLOCK_PUBLICATION
    assert result.exit_code == 3
    assert result.counts.held == 2
    assert result.published_version is None
    assert world.ids() == []
    assert world.quarantined() == []
    assert len(world.held_folders()) == 1
    assert not world.open_seals()
    assert world.run().outcome == "nothing_new"


def test_a_privacy_failure_locks_the_asset(world: World) -> None:
    world.write_suite(SUITE + "  - {id: no_mail, check: no_pii, column: name, detectors: [email], runbook: x}\n")
    world.add(row(1), row(2, name="a@example.com"))
    result = world.run()
    assert result.action is GateAction.FAIL_CLOSED
    assert result.exit_code == 4
    world.add(row(3))
    assert world.run().outcome == "locked"
    assert world.ids() == []


@pytest.mark.parametrize("bad", [0, 3])
def test_empty_and_all_bad_batches(world: World, bad: int) -> None:
    world.add(row(0))
    world.run()
    frame = world.spark.createDataFrame([row(n, amount="-1") for n in range(1, bad + 1)], SCHEMA)
    result = world.run(df=frame, run_id="next")
    if bad:
        assert result.action is GateAction.QUARANTINE_BATCH
        assert result.counts.held == bad
    else:
        assert result.action is GateAction.PASS
        assert result.counts.input == 0
    assert world.ids() == [0]


def test_a_frame_is_one_batch_named_by_its_run(world: World) -> None:
    frame = world.spark.createDataFrame(
        [row(1), row(2, amount="-1")], "id bigint, amount decimal(10,2), name string, code string"
    )
    assert world.run(df=frame, run_id="monday").counts.input == 2
    assert world.run(df=frame, run_id="monday").outcome == "already_published"
    world.nothing_lost_or_doubled([1, 2])
    assert world.run(df=frame, run_id="tuesday").counts.input == 2


def test_a_dry_run_decides_and_leaves_nothing_behind(world: World) -> None:
    world.add(row(1), row(2, amount="-1"))
    before = sorted(p for p in world.root.rglob("*"))
    result = world.run(dry_run=True)
    assert result.outcome == "dry_run"
    assert result.action is GateAction.QUARANTINE_RECORDS
    assert sorted(p for p in world.root.rglob("*")) == before
    world.run()
    world.add(row(3))
    assert world.run(dry_run=True).counts.input == 1
    assert world.ids() == [1]


def test_a_source_that_changes_rows_is_refused(world: World) -> None:
    world.add(row(1), row(2))
    world.run()
    world.spark.sql(f"DELETE FROM delta.`{world.path('bronze.orders')}` WHERE id = 1")
    with pytest.raises(SourceError, match="updates, deletes or overwrites"):
        world.run()


def test_a_recreated_source_is_refused_unless_reprocessed(world: World) -> None:
    import shutil

    world.add(row(1))
    world.run()
    shutil.rmtree(world.path("bronze.orders"))
    world.add(row(2))
    with pytest.raises(SourceError, match="--reprocess"):
        world.run()
    assert world.run(reprocess=True).counts.input == 1
    assert world.ids() == [1, 2]


def test_replace_takes_the_place_of_what_was_there(world: World) -> None:
    world.write_suite(SUITE.replace("key: [id]", "key: [id]\nwrite: replace"))
    world.add(row(1), row(2))
    world.run()
    world.add(row(3))
    result = world.run()
    assert result.action is GateAction.SUPERSEDE
    assert world.ids() == [1, 2, 3]
    assert world.run().outcome == "already_published"


def test_files_are_taken_once(world: World, tmp_path: Any) -> None:
    drop = tmp_path / "drop"
    drop.mkdir()
    suite = SUITE.replace(
        "{format: delta, table: bronze.orders}",
        "{format: csv, path: drop, schema: 'id BIGINT, amount DECIMAL(10,2), name STRING, code STRING'}",
    )
    world.write_suite(suite)
    (drop / "a.csv").write_text("1,5.00,x,7\nnot a number,5.00,x,7\n")
    first = world.run()
    assert (first.counts.accepted, first.counts.quarantined) == (1, 1)
    (record,) = world.quarantined()
    assert [f.rule_id for f in record.failures] == ["lz.unparseable"]
    assert json.loads(record.payload.toJson())["_corrupt_record"] == "not a number,5.00,x,7"
    assert world.run().outcome == "nothing_new"
    (drop / "b.csv").write_text("2,5.00,x,7\n")
    assert world.run().counts.input == 1
    assert world.ids() == [1, 2]


def test_the_targets_own_constraints_become_rules(world: World) -> None:
    path = world.path("silver.orders")
    world.spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT NOT NULL, amount DECIMAL(12,2), name VARCHAR(3), code STRING, "
        "doubled DECIMAL(14,2) GENERATED ALWAYS AS (cast(amount * 2 as decimal(14,2)))) USING delta"
    )
    world.spark.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT small CHECK (amount < 100)")
    world.add(row(1), row(2, amount="500"), row(3, name="too long"))
    world.spark.sql(f"INSERT INTO delta.`{world.path('bronze.orders')}` VALUES (NULL, 1, 'x', '1')")
    result = world.run()
    assert world.ids() == [1]
    assert result.counts.quarantined == 3
    assert world.rows()[0].doubled == 10
    assert {f.rule_id for r in world.quarantined() for f in r.failures} == {"lz.target"}


def test_a_new_column_is_the_suites_decision(world: World) -> None:
    world.add(row(1))
    world.run()
    world.spark.sql(f"ALTER TABLE delta.`{world.path('bronze.orders')}` ADD COLUMNS (extra string)")
    world.spark.sql(f"INSERT INTO delta.`{world.path('bronze.orders')}` VALUES (2, 5, 'x', '7', 'new')")
    refused = world.run()
    assert refused.action is GateAction.BLOCK_PUBLICATION
    assert "extra" in refused.message
    world.spark.sql(f"INSERT INTO delta.`{world.path('bronze.orders')}` VALUES (3, 5, 'x', '7', 'new')")
    world.write_suite(SUITE.replace("key: [id]", "key: [id]\non_new_column: add").replace("1.0.0", "1.1.0"))
    world.run()
    assert [(r.id, r.extra) for r in sorted(world.rows())] == [(1, None), (3, "new")]


def test_awkward_names_travel_from_source_to_target_and_quarantine(world: World) -> None:
    names = '`order id` bigint, `a.b` decimal(10,2), `Größe "x"` string'
    world.write_suite(
        "suite: orders\nversion: 1.0.0\nasset: silver.orders\nowner: o\nkey: ['order id']\n"
        "source: {format: delta, table: bronze.orders}\nrules:\n"
        "  - {id: positive, check: range, column: a.b, min: 0}\n"
        "  - {id: given, check: not_null, column: 'Größe \"x\"'}\n"
    )
    rows = [(1, Decimal("1.5"), "x"), (2, Decimal("-1.5"), None), (3, Decimal(1), "y"), (4, Decimal(1), "y")]
    frame = world.spark.createDataFrame(rows, names)
    assert world.run(df=frame, run_id="r").counts.model_dump()["quarantined"] == 1
    target = world.spark.read.format("delta").load(world.path("silver.orders"))
    assert target.columns == ["order id", "a.b", 'Größe "x"']
    assert sorted(r[0] for r in target.collect()) == [1, 3, 4]
    (record,) = world.quarantined()
    assert record.record_key == "2"
    assert json.loads(record.payload.toJson())["a.b"] == -1.5


def test_operational_columns_and_annotate_mode(world: World) -> None:
    world.write_suite(
        SUITE.replace("key: [id]", "mode: annotate\noperational_metadata: {loaded_by: run_id, batch: batch_id}")
    )
    world.add(row(1), row(2, amount="-1"))
    result = world.run(run_id="r7")
    assert result.publication is Publication.PUBLISHED_DEGRADED
    assert world.ids() == [1, 2]
    found = {r.id: r for r in world.rows()}
    assert found[1]._errors is None
    assert [e.name for e in found[2]._errors] == ["amount_positive"]
    assert found[1].loaded_by == "r7"
    assert found[1].batch == result.batch_id


@pytest.mark.parametrize("publish", ["zero_copy", "copy"])
def test_both_publishers_do_the_same(world: World, publish: str) -> None:
    world.write_suite(SUITE.replace("key: [id]", f"key: [id]\npublish: {publish}\ntarget: {{partition_by: [name]}}"))
    world.add(row(1), row(2, name="y y/%"), row(3, amount="-1"), row(4, name=None))
    result = world.run()
    assert world.ids() == [1, 2, 4]
    assert result.counts.quarantined == 1
    assert sorted(r.name or "" for r in world.rows()) == ["", "x", "y y/%"]
    assert world.run().outcome == "nothing_new"
    assert isinstance(result, lz.RunResult)
    assert "orders" in result._repr_html_()


def test_a_missing_reference_is_an_error_and_the_policy_decides(world: World) -> None:
    world.write_suite(
        SUITE + "  - {id: known, check: referential_integrity, column: id, reference: {table: ref.none, column: id}}\n"
    )
    world.add(row(1))
    result = world.run()
    assert result.action is GateAction.BLOCK_PUBLICATION
    assert result.counts.held == 1
    assert {r.rule_id: r.status.value for r in result.decision.results}["known"] == "ERROR"  # type: ignore[union-attr]
