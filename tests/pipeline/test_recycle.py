"""Corrected records go back through the front door, once each, whatever happens on the way."""

from __future__ import annotations

import json
from typing import Any

import pytest

import lazaretto as lz
from lazaretto.model.lifecycle import IllegalStep, Step
from lazaretto.pipeline.review import act, named
from lazaretto.quarantine.sql import run_sql
from lazaretto.quarantine.transitions import Deed
from world import SUITE, World, row

RECYCLED = SUITE.replace(
    "rules:",
    "operational_metadata: {dq_reprocessed: reprocessed, dq_attempt: attempt, dq_run: original_run_id}\nrules:",
)


def ids_of(world: World, *numbers: int) -> list[str]:
    return [r.record_id for r in world.quarantined() if json.loads(r.payload.toJson())["id"] in numbers]


def correct(world: World, number: int, text: str) -> None:
    with world.bench() as bench:
        given = named(bench, ids_of(world, number)).selectExpr("record_id", f"parse_json('{text}') AS correction")
        act(bench, given, Deed(Step.CORRECT, "ann"))


def record(world: World, number: int) -> Any:
    return next(r for r in world.quarantined() if json.loads(r.payload.toJson())["id"] == number)


def test_corrected_records_are_published_and_others_come_back(world: World) -> None:
    world.write_suite(RECYCLED)
    world.add(row(1), *(row(n, amount="-1") for n in (2, 3, 4)))
    first = world.run(run_id="first")
    correct(world, 2, '{"amount": 7.25}')
    correct(world, 3, '{"amount": -7, "code": "x"}')
    [result] = lz.recycle(world.suite(), world.spark)
    assert (result.counts.input, result.counts.accepted, result.counts.quarantined) == (2, 1, 1)
    published = {r.id: r for r in world.rows()}
    assert sorted(published) == [1, 2]
    assert str(published[2].amount) == "7.25"
    assert (published[2].dq_reprocessed, published[2].dq_attempt, published[2].dq_run) == (True, 1, "first")
    assert (published[1].dq_reprocessed, published[1].dq_attempt, published[1].dq_run) == (False, 0, None)

    good, bad, left = record(world, 2), record(world, 3), record(world, 4)
    assert (good.status, good.attempt, good.recovered_version) == ("RECOVERED", 1, result.published_version)
    assert [e.went_to for e in good.history] == ["CORRECTED", "RESUBMITTED", "RECOVERED"]
    assert good.history[-1].version == result.published_version
    assert (bad.status, bad.attempt, left.status, left.attempt) == ("QUARANTINED", 1, "QUARANTINED", 0)
    assert {f.rule_id for f in bad.failures} == {"amount_positive", "code_numeric"}
    assert [f.rule_id for f in bad.history[-1].failures] == ["amount_positive"]  # the old ones
    assert bad.batch_id == first.batch_id  # it counts for the batch it came with
    assert json.loads(bad.payload.toJson())["amount"] == -1

    # Nothing goes out twice: there is nothing to send, and a published record cannot be touched any more.
    [again] = lz.recycle(world.suite(), world.spark)
    assert again.outcome == "nothing_new"
    with world.bench() as bench, pytest.raises(IllegalStep, match="is RECOVERED and cannot be corrected"):
        act(bench, named(bench, ids_of(world, 2)), Deed(Step.CORRECT, "ann"))
    world.proved()


def send(world: World) -> list[lz.RunResult]:
    return lz.recycle(world.suite(), world.spark)


@pytest.mark.timeout(600)
def test_what_sql_says_is_taken_up_once_and_attributed(world: World) -> None:
    """The statement of the guide, several edits, a payload written over, a row put in by hand, a published record set
    to fixed again: each ends as it should, with the change feed off."""
    world.add(row(1), *(row(n, amount="-1") for n in range(2, 7)))
    world.run()
    table = "quarantine.records"
    ids = {json.loads(r.payload.toJson())["id"]: r.record_id for r in world.quarantined()}
    world.sql("ALTER TABLE {} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')", table)

    def sql(statement: str) -> None:
        places = (world.path(table), world.path("quarantine.outbox"))
        run_sql(world.spark, statement, places[0], user="ann", outbox_path=places[1])

    def fix(number: int, row_data: str) -> None:
        sql(
            f"UPDATE a.b.universal_dlq SET _dlq_status = 'fixed', _row_data = parse_json('{row_data}') "
            f"WHERE _dlq_sk = '{ids[number]}' AND _dlq_status <> 'recovered'"
        )

    fix(2, '{"amount": 1.25}')
    fix(2, '{"amount": 2.25}')  # the latest wins
    sql(
        f"UPDATE a.b.universal_dlq SET _dlq_status = 'fixed' WHERE _dlq_sk = '{ids[3]}'"
    )  # as printed: nothing corrected
    fix(4, '{"amount": "much"}')  # does not fit: never turned into NULL
    world.sql(
        "UPDATE {} SET status = 'CORRECTED', payload = parse_json('"
        '{{"id": 5, "amount": 5.75, "name": "x", "code": "7"}}'
        f"') WHERE record_id = '{ids[5]}'",
        table,
    )
    edited = world.commits(table) - 1
    sql(
        "INSERT INTO universal_dlq (_dlq_source_table, _dlq_status, _row_data) VALUES ('silver.orders', 'fixed', "
        """parse_json('{"id": 9, "amount": 9.5, "name": "by hand", "code": "1"}'))"""
    )
    [result] = send(world)
    assert (result.counts.input, result.counts.accepted, result.counts.quarantined) == (5, 3, 2)
    published = {r.id: str(r.amount) for r in world.rows()}
    assert published == {1: "5.00", 2: "2.25", 5: "5.75", 9: "9.50"}
    over = record(world, 5)
    assert (over.status, json.loads(over.payload.toJson())["amount"]) == ("RECOVERED", -1)  # the original is back
    assert json.loads(over.correction.toJson()) == {"amount": 5.75}  # the difference is the correction
    assert (over.history[0].means, over.history[0].table_version, over.history[0].by) == (
        "sql",
        edited,
        "somebody by SQL",
    )
    assert [(e.step, e.by) for e in record(world, 2).history if e.means == "sql"] == [("sql", "ann")]
    assert "put in by hand" in record(world, 9).history[0].why
    assert (record(world, 3).status, record(world, 3).attempt) == ("QUARANTINED", 1)
    misfit = record(world, 4)
    assert misfit.status == "QUARANTINED"
    assert "amount holds a value that does not fit decimal(10,2)" in [f.actual_value for f in misfit.failures]

    # Published is published: SQL cannot send it again, and only the log makes a record recovered.
    world.sql(f"UPDATE {{}} SET status = 'CORRECTED' WHERE record_id = '{ids[2]}'", table)
    world.sql(f"UPDATE {{}} SET status = 'RECOVERED' WHERE record_id = '{ids[6]}'", table)
    assert any("read RECOVERED and no batch published them" in f.problem for f in world.verify().findings)
    [nothing] = send(world)
    assert nothing.outcome == "nothing_new"
    assert (record(world, 2).status, record(world, 6).status) == ("RECOVERED", "QUARANTINED")
    assert "put back" in record(world, 2).history[-1].why
    proof = world.verify()
    assert proof.holds, proof.findings
    assert proof.standing == {"open": 3, "recovered": 3, "by_hand": 1}
    with world.store() as store:
        taken = [
            e.payload["details"] for e in store.evidence("silver.orders") if e.payload.get("action") == "records:sql"
        ]
    assert [t["count"] for t in taken] == [5, 2]
    assert str(edited) in taken[0]["commits"]

    world.sql(f"DELETE FROM {{}} WHERE record_id = '{ids[2]}'", table)
    assert any("1 were deleted" in f.problem for f in world.verify().findings)
