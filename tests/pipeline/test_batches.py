"""Batches out of the ordinary: odd sizes, odd sources, odd payloads."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lazaretto.cli import app
from lazaretto.engine.stage import unpacked
from lazaretto.model.words import GateAction
from lazaretto.pipeline import payloads
from lazaretto.quarantine.payload import key_sql, opened
from world import SCHEMA, SUITE, World, row


def test_one_row_of_500_columns_under_an_odd_run_id(world: World) -> None:
    names = [f"c{number}" for number in range(500)]
    world.write_suite(
        "suite: orders\nversion: 1.0.0\nasset: silver.orders\nowner: o\nkey: [c0]\nrules:\n"
        f"  - {{id: given, check: not_null, columns: [{', '.join(names[:70])}]}}\n"
    )
    label = "Überlauf: 2026-11-18 07:00/nightly #1"
    frame = world.spark.range(1).selectExpr(*(f"id + {number} AS {name}" for number, name in enumerate(names)))
    first = world.run(df=frame, run_id=label)
    assert (first.counts.accepted, first.run_id) == (1, label)
    assert world.run(df=frame, run_id=label).outcome == "already_published"
    [published] = world.rows()
    assert [published[name] for name in names] == list(range(500))
    folders = {p.name for p in Path(world.path("silver.orders")).iterdir() if not p.name.startswith("_")}
    assert folders == {f"lz-{first.batch_id[:32]}"}  # type: ignore[index]


def test_malformed_json_is_kept_raw_and_parquet_is_taken_as_it_is(world: World) -> None:
    drop = world.root / "drop"
    drop.mkdir()
    world.write_suite(
        SUITE.replace("{format: delta, table: bronze.orders}", f"{{format: json, path: drop, schema: '{SCHEMA}'}}")
    )
    good = {"id": 1, "amount": 5, "name": "x", "code": "7"}
    lines = [json.dumps(good), '{"id": 2, "amount": "5 €"', "no JSON at all", json.dumps(good | {"id": 3})]
    (drop / "a.json").write_text("\n".join(lines))
    result = world.run()
    assert (result.counts.accepted, result.counts.quarantined) == (2, 2)
    assert world.ids() == [1, 3]
    assert {json.loads(r.payload.toJson())["_corrupt_record"] for r in world.quarantined()} == set(lines[1:3])
    assert {f.rule_id for r in world.quarantined() for f in r.failures} >= {"lz.unparseable"}

    world.write_suite(SUITE.replace("{format: delta, table: bronze.orders}", "{format: parquet, path: files}"))
    frame = world.spark.createDataFrame([row(4), row(5, amount="-1")], SCHEMA)
    frame.write.parquet(str(world.root / "files"))
    assert world.run().counts.model_dump()["accepted"] == 1
    assert world.run().outcome == "nothing_new"
    assert world.ids() == [1, 3, 4]


def test_rescued_data_is_merged_into_the_payload_and_kept_beside_it(world: World) -> None:
    rescued = json.dumps({"id": "4x", "extra": True, "_file_path": "/in/a.json"})
    rows = [(*row(1), None), (None, Decimal("-1"), "x", "7", rescued), (*row(3), json.dumps({"extra": 1}))]
    world.add(*rows, schema=f"{SCHEMA}, _rescued_data string")
    assert world.run().counts.quarantined == 1
    [record] = world.quarantined()
    payload = json.loads(record.payload.toJson())
    assert (payload["id"], payload["amount"], payload["extra"]) == ("4x", -1, True)
    assert record.rescued_data == rescued
    assert [r.id for r in sorted(world.rows())] == [1, 3]
    assert "_rescued_data" not in world.rows()[0].asDict()


def test_what_is_kept_of_a_rejected_row(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAZARETTO_SECRET_VAULT_KEY", "correct horse")
    kept: dict[str, Any] = {}
    for policy, more in (
        ("encrypted", ", key: '${secret:vault/key}'"),
        ("masked", ", columns: [name, id]"),
        ("reference", ""),
    ):
        text = SUITE.replace("key: [id]", f"key: [id]\npayload: {{policy: {policy}{more}}}")
        world.write_suite(text.replace("1.0.0", f"1.0.{len(kept)}"))
        frame = world.spark.createDataFrame([row(1), row(47114711, amount="-1", name="Liechtenstein")], SCHEMA)
        world.run(df=frame, run_id=policy)
        kept[policy] = next(r for r in world.quarantined() if r.run_id == policy)
        assert kept[policy].payload_policy == policy
        told = json.dumps(kept[policy].asDict(recursive=True), default=str)
        assert "Liechtenstein" not in told
        assert "47114711" not in told
        assert len(kept[policy].payload_hash) == 64
    assert len({r.payload_hash for r in kept.values()}) == 1
    assert json.loads(kept["masked"].payload.toJson()) == {
        "id": "[masked]",
        "amount": -1,
        "name": "[masked]",
        "code": "7",
    }
    assert kept["reference"].payload is None
    table = world.spark.read.format("delta").load(world.path("quarantine.records")).where("run_id = 'encrypted'")
    with_key = opened(kept["encrypted"].payload_schema, "payload", key_sql("correct horse"))
    [found] = table.selectExpr(f"to_json({with_key}) AS payload").collect()
    assert json.loads(found.payload)["name"] == "Liechtenstein"


def test_a_row_that_failed_a_privacy_rule_is_masked_from_the_stage_on(world: World) -> None:
    world.write_suite(SUITE + "  - {id: no_mail, check: no_pii, column: name, detectors: [email], runbook: x}\n")
    world.add(row(1), row(2, name="ann@example.com"), row(3, amount="-1"))
    assert world.run().action is GateAction.FAIL_CLOSED
    [folder] = world.held_folders()
    staged = world.spark.read.parquet(str(world.root / "lake/quarantine/held" / folder / "lz_route=quarantined"))
    rows = {r["p"]["id"]: r for r in ({**row.asDict(), "p": json.loads(row.p)} for row in _shown(staged))}
    assert (rows[2]["p"]["name"], rows[2]["lz_payload_policy"]) == ("[masked]", "masked")
    assert (rows[3]["p"]["name"], rows[3]["lz_payload_policy"]) == ("x", "inline")
    assert "ann@" not in str(rows)


def _shown(staged: Any) -> list[Any]:
    return staged.selectExpr("to_json(lz_payload) AS p", *unpacked("payload_policy", "failures", "key")).collect()


def test_rejects_among_rows_that_share_a_key_hold_the_batch(world: World) -> None:
    world.add(row(1), row(1), row(2))
    assert world.run().counts.accepted == 3  # nobody was set aside, so nobody has to find his place again
    world.add(row(3), row(3), row(4), row(5, amount="-1"))
    result = world.run()
    assert (result.action, result.reason_code) == (GateAction.QUARANTINE_BATCH, "KEY_NOT_UNIQUE")
    assert "2 rows share a key" in result.message
    assert result.counts.held == 4
    world.write_suite(SUITE.replace("[id]", "[id, name]").replace("1.0.0", "1.1.0"))
    world.add(row(6), row(6, name="y"), row(7, amount="-1"))
    assert world.run().counts.accepted == 2


def test_a_rule_that_throws_on_most_rows_is_one_error_and_not_many_records(world: World) -> None:
    world.add(row(1), row(2, code="a"), row(3, code="b"), row(4, code="c"), row(5, amount="-1"))
    result = world.run()
    assert result.action is GateAction.BLOCK_PUBLICATION
    assert "code_numeric could not be evaluated on 3 of 5 rows" in result.message
    assert result.counts.held == 5
    assert world.quarantined() == []


@pytest.mark.parametrize("how", ["refused", *(["huge"] if os.environ.get("LAZARETTO_CRASH") == "all" else [])])
def test_a_row_that_no_payload_can_hold_is_a_dead_letter(
    world: World, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "'x' AS name"
    if how == "huge":  # takes gigabytes of heap, so only with the other slow ones
        name = "repeat('x', 140 * 1000 * 1000) AS name"
    else:
        made = payloads.payload_sql
        monkeypatch.setattr(
            payloads,
            "payload_sql",
            lambda *given, **more: f"CASE WHEN id = 2 THEN raise_error('too large') ELSE {made(*given, **more)} END",
        )
    bad = world.spark.range(1).selectExpr("2L AS id", "-1.00BD AS amount", name, "'7' AS code")
    frame = world.spark.createDataFrame([row(1), row(3, amount="-1")], SCHEMA).unionByName(bad)
    result = world.run(df=frame, run_id="big")
    assert result.counts.model_dump() == {
        "input": 3,
        "accepted": 1,
        "quarantined": 1,
        "dead_lettered": 1,
        "held": 0,
    }
    records = {r.place: r for r in world.quarantined()}
    dead = records["dead_letter"]
    assert (dead.payload, dead.payload_policy, dead.record_key) == (None, "reference", "2")
    assert (dead.error["class"], dead.error["phase"]) == ("PayloadNotWritable", "stage")
    assert "  at org.apache.spark.sql.catalyst." in dead.error["trace"]
    assert "too large" not in dead.error["trace"]  # where, and never what
    assert [f.rule_id for f in dead.failures] == ["amount_positive"]
    assert len(dead.payload_hash) == 64
    assert records["inbox"].error is None
    proof = world.verify()
    assert proof.holds
    assert (proof.totals.input, proof.totals.dead_lettered) == (3, 1)


def test_a_dead_letter_is_read_again_from_its_source(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.add(row(1), row(2, amount="-1"))
    made = payloads.payload_sql
    with monkeypatch.context() as patch:
        patch.setattr(
            payloads, "payload_sql", lambda *given, **more: f"if(id = 2, raise_error('x'), {made(*given, **more)})"
        )
        world.run()
    [dead] = world.quarantined()
    assert (dead.place, dead.payload) == ("dead_letter", None)
    world.write_suite(SUITE.replace("min: 0", "min: -5").replace("1.0.0", "1.1.0"))
    wrong = CliRunner().invoke(app, ["deadletter", "retry", "0" * 64, "--project", str(world.root)])
    assert "1 of these records are no dead letters" in wrong.output.replace("\n", " ")
    retried = CliRunner().invoke(app, ["deadletter", "retry", dead.record_id[:12], "--project", str(world.root)])
    assert (retried.exit_code, retried.stdout) == (0, "silver.orders: 1 sent, 1 recovered, 0 failed again\n"), retried
    assert world.ids() == [1, 2]
    [back] = world.quarantined()
    assert (back.status, back.attempt) == ("RECOVERED", 1)
    world.proved()
