"""Kafka: every message ends somewhere, whatever is in it; topics are known by their ids."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

import lazaretto as lz
from kafka_broker import Broker
from lazaretto.model.words import GateAction
from lazaretto.pipeline.sources import SourceError
from world import SUITE, World

SCHEMA = "id BIGINT, amount DECIMAL(10,2), name STRING, code STRING"


def suite_text(broker: Broker, topic: str, more: str = "") -> str:
    return SUITE.replace(
        "{format: delta, table: bronze.orders}",
        f"{{format: kafka, schema: '{SCHEMA}'{more},\n"
        f"  options: {{kafka.bootstrap.servers: '{broker.servers}', subscribe: {topic}}}}}",
    )


def message(number: int, amount: float = 5) -> dict[str, Any]:
    return {"id": number, "amount": amount, "name": "x", "code": "7"}


def go(world: World, **options: Any) -> lz.StreamResult:
    return lz.stream(world.suite(), world.spark, once=True, **options)


def test_every_message_is_a_row_and_what_cannot_be_read_is_kept_as_it_came(world: World, broker: Broker) -> None:
    world.write_suite(suite_text(broker, "orders"))
    broker.make(world.spark, "orders")
    wrong = [b"no JSON", None, b"\xff\xfe{", b"[]", b"", b'{"id": "x", "amount": 5}', b'[{"id": 8}, {"id": 9}]']
    broker.send(world.spark, "orders", [*map(message, range(1, 9)), message(10, -1), *wrong])
    broker.send(world.spark, "orders", [message(20)], partition=1)
    told: list[Any] = []
    first = go(world, on_batch=told.append)
    assert first.counts.model_dump() == {
        "input": 17,
        "accepted": 9,
        "quarantined": 8,
        "dead_lettered": 0,
        "held": 0,
    }
    assert told[0].lag == "0 messages"
    [published] = [r for r in world.rows() if r.id == 20]
    assert (published.key, published.topic, published.partition, published.offset) == ("k", "orders", 1, 0)
    assert "_raw_value" not in published.asDict()
    kept = world.spark.read.format("delta").load(world.path("quarantine.records"))
    kept = kept.selectExpr(
        "source_position", "variant_get(payload, '$._raw_value', 'binary') AS raw", "failures.rule_id AS rules"
    ).collect()
    unread = {bytes(r.raw) if r.raw is not None else None for r in kept if "lz.unparseable" in r.rules}
    assert unread == set(wrong)
    assert {r.source_position for r in kept} == {f"orders/0/{offset}" for offset in range(8, 16)}

    # With a limit, batches are made of so many messages; a lost checkpoint goes on where the log says.
    shutil.rmtree(first.checkpoint)
    broker.send(world.spark, "orders", map(message, range(30, 36)))
    limited = go(world, limit=4)
    assert (limited.batches, limited.counts.accepted) == (2, 6)
    assert go(world).batches == 0
    world.proved()

    # A topic that was made anew is another one.
    broker.drop(world.spark, "orders")
    broker.make(world.spark, "orders")
    broker.send(world.spark, "orders", map(message, range(40, 60)))
    with pytest.raises(SourceError, match=r"made anew.*--reprocess"):
        go(world)
    assert go(world, reprocess=True).counts.accepted == 20
    assert world.ids() == [1, 2, 3, 4, 5, 6, 7, 8, 20, *range(30, 36), *range(40, 60)]
    broker.drop(world.spark, "orders")
    with pytest.raises(SourceError, match="no topic orders"):
        go(world)


def test_a_framed_message_is_read_by_its_schema_and_an_unknown_one_holds_the_batch(
    world: World, broker: Broker
) -> None:
    schemas = ", schemas: {1: 'id BIGINT, amount STRING', 2: '" + SCHEMA + "'}"
    world.write_suite(suite_text(broker, "framed", schemas))
    broker.make(world.spark, "framed")

    def framed(number: int, body: dict[str, Any]) -> bytes:
        return b"\x00" + number.to_bytes(4, "big") + json.dumps(body).encode()

    broker.send(world.spark, "framed", [framed(1, {"id": 1, "amount": "5.10"}), framed(2, message(2))])
    result = go(world)
    assert result.counts.accepted == 2, result.last
    assert {(r.id, str(r.amount), r.name) for r in world.rows()} == {(1, "5.10", None), (2, "5.00", "x")}
    broker.send(world.spark, "framed", [framed(2, message(3)), framed(2, message(4)), framed(7, message(5))])
    refused = go(world)
    assert refused.last is not None
    assert refused.last.action is GateAction.BLOCK_PUBLICATION
    assert (refused.counts.held, refused.exit_code) == (3, 3)
    assert "lz.schema_id" in refused.last.message
    broker.send(world.spark, "framed", [framed(2, message(6))])
    assert go(world).counts.accepted == 1
    assert world.ids() == [1, 2, 6]
    # Once the schema is known, the messages between the offsets are read again.
    assert world.judge_again().counts.held == 3
    world.write_suite(suite_text(broker, "framed", schemas.replace("2: ", "7: '" + SCHEMA + "', 2: ")))
    assert world.judge_again().counts.accepted == 3
    assert (world.ids(), world.waiting()) == ([1, 2, 3, 4, 5, 6], {})
    assert go(world).batches == 0
    world.proved()
