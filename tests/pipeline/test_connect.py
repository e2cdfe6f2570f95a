"""The same run on a Spark Connect session: exactly once, whatever happens, or refused before anything is read.

The server and the clients are processes of their own. What came of it is looked at by the classic session.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lazaretto.spark.delta_log import DeltaLogs
from lazaretto.spark.files import Files
from lazaretto.spark.lock import table_lock
from lazaretto.spark.log_on_disk import state_of
from lazaretto.spark.publisher import is_locked
from world import SUITE, World, row

pytest.importorskip("grpc", reason="grpcio is not installed (pip install 'lazaretto[connect]')")

HERE = Path(__file__).parent
PEOPLE = """
suite: people
version: 1.0.0
asset: silver.orders
owner: sales
source: {format: csv, path: in, schema: 'id bigint, name string'}
quarantine_batch_above: 90%
rules:
  - {id: name_given, check: not_null, column: name}
"""


class Client:
    """A process with a Spark Connect session."""

    def __init__(self, port: int, cwd: Path) -> None:
        command = [sys.executable, str(HERE / "connect_client.py"), str(port)]
        with (cwd / "log").open("w") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=cwd
            )

    def ask(self, do: str, **wish: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": do, **wish}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        return json.loads(answer) if answer else {"died": self.process.wait()}

    def run(self, world: World, **options: Any) -> dict[str, Any]:
        """A run that ends well."""
        answer = self.ask("run", suite=str(world.root / "suites" / "orders.yml"), **options)
        assert "gave" in answer, answer
        return answer["gave"]

    def crash(self, world: World, failpoint: str) -> None:
        answer = self.ask("run", suite=str(world.root / "suites" / "orders.yml"), failpoint=failpoint)
        assert answer.get("raised") == "FailpointReached" or answer.get("died"), answer

    def refused(self, world: World, do: str = "run", **options: Any) -> str:
        answer = self.ask(do, suite=str(world.root / "suites" / "orders.yml"), **options)
        assert answer.get("raised") in ("OutOfReach", "TargetError", "AssetBusy"), answer
        return answer["text"]

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server of our own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
    home = tmp_path_factory.mktemp("server")
    command = [sys.executable, str(HERE / "connect_server.py"), str(number), str(home / "warehouse")]
    log = (home / "log").open("w")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=home
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline().strip() == "ready", (home / "log").read_text()
        yield number
        assert server.stdin is not None
        server.stdin.close()
        server.wait(30)
    log.close()


@pytest.fixture(scope="module")
def start(port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Client]]:
    """Start a client."""
    clients: list[Client] = []

    def one() -> Client:
        clients.append(Client(port, tmp_path_factory.mktemp("client")))
        return clients[-1]

    yield one
    for each in clients:
        each.stop()


@pytest.fixture(scope="module")
def client(start: Callable[[], Client]) -> Client:
    """The client of all tests that kill none."""
    return start()


def test_a_batch_is_published_and_its_rejects_quarantined_once(world: World, client: Client) -> None:
    before = client.ask("settings")["gave"]
    world.add(row(1), row(2, amount="-1"), row(3, code="x"), row(4, name=""))
    rehearsed = client.run(world, dry_run=True)
    assert (rehearsed["outcome"], rehearsed["counts"]["quarantined"]) == ("dry_run", 2)
    assert not Path(world.path("silver.orders")).exists()
    first = client.run(world, run_id="first")
    assert first["counts"] == {"input": 4, "accepted": 2, "quarantined": 2, "dead_lettered": 0, "held": 0}
    assert first["publication"] == "PUBLISHED_DEGRADED", "a row was published with a warning"
    assert client.run(world)["outcome"] == "nothing_new"
    world.add(row(5), row(6, amount="-1"))
    assert client.run(world)["counts"]["input"] == 2, "only what is new"
    world.nothing_lost_or_doubled([1, 2, 3, 4, 5, 6])
    assert not list(Path(world.path("silver.orders")).glob("lz-*")), "what was copied is not kept twice"
    world.proved()
    assert world.run().outcome == "nothing_new", "a classic session knows how far the source was taken"
    changed = {setting[0] for setting in client.ask("settings")["gave"] if setting not in before}
    assert changed <= {"spark.databricks.delta.lastCommitVersionInSession"}, "that is Delta's; the rest is its owner's"


def test_no_moment_matters(world: World, start: Callable[[], Client], client: Client) -> None:
    """Every batch is cut short somewhere; the next run, of another process, carries it to its end first."""
    world.write_suite(SUITE + 'target: {properties: {delta.checkpointInterval: "2"}}\n')
    rival, taken = start(), 0
    points = ("after_stage:raise", "after_seal:raise", "after_quarantine:raise", "after_commit:python")
    for number, point in enumerate(points):
        if number != 1:  # what was staged and not sealed is staged again: the same batch
            world.add(row(taken + 1), row(taken + 2, amount="-1"))
            taken += 2
        (rival if point.endswith("python") or number % 2 else client).crash(world, point)
        if rival.process.poll() is not None:
            rival = start()
    client.run(world)
    world.nothing_lost_or_doubled([*range(1, taken + 1)])
    world.proved()
    path, logs = world.path("silver.orders"), DeltaLogs(world.spark)
    on_disk, facts = state_of(Files(), path), logs.facts(path)
    assert list(Path(path).glob("_delta_log/*.checkpoint*.parquet")), "the log was read from a checkpoint on"
    assert (on_disk.version, on_disk.metadata["id"]) == (facts.version, facts.id)
    assert json.loads(on_disk.metadata["schemaString"]) == facts.schema
    assert dict(on_disk.metadata["configuration"]) == facts.configuration
    assert on_disk.transactions == logs.all_transactions(path)


def test_files_and_frames(world: World, client: Client) -> None:
    (world.root / "in").mkdir()
    (world.root / "in" / "day.csv").write_text("1,a\n2,\nnot a number,c\n")
    world.write_suite(PEOPLE)
    assert client.run(world)["counts"]["quarantined"] == 2
    assert client.run(world)["outcome"] == "nothing_new"
    assert client.run(world, frame=[(3, "d"), (4, None)], run_id="monday")["counts"]["accepted"] == 1
    assert client.run(world, frame=[(3, "d"), (4, None)], run_id="monday")["outcome"] == "already_published"
    assert world.ids() == [1, 3]
    assert len(world.quarantined()) == 3
    world.proved()


def test_a_classic_session_finishes_what_connect_began(world: World, client: Client) -> None:
    world.add(row(1), row(2, amount="-1"))
    client.crash(world, "after_commit:raise")
    assert world.run().outcome == "nothing_new", "the mark of the source was still owed"
    world.nothing_lost_or_doubled([1, 2])
    world.proved()


def test_a_locked_asset_is_locked_for_everybody(world: World, client: Client) -> None:
    world.write_suite(SUITE.replace("min: 0}", "min: 0, on_fail: fail_closed}"))
    world.add(row(1), row(2, amount="-1"))
    client.crash(world, "after_commit:raise")
    assert client.run(world)["outcome"] == "locked"
    assert is_locked(DeltaLogs(world.spark), world.path("silver.orders"))
    assert world.run().outcome == "locked"
    assert len(world.held_folders()) == 1
    assert world.ids() == []


def test_what_replaces_replaces(world: World, client: Client) -> None:
    target = "target: {partition_by: [name]}\n"
    world.write_suite(SUITE + "write: replace\n" + target)
    world.add(row(1, name="a"), row(2, name="b"), row(3, amount="-1"))
    client.run(world)
    client.run(world, where="name = 'b'", again=True)
    assert world.ids() == [2]
    world.write_suite(SUITE.replace("1.0.0", "1.1.0") + "write: replace_partitions\n" + target)
    client.run(world, where="name = 'a'")
    assert world.ids() == [1, 2]
    client.run(world, partition={"name": "a"}, where="id > 1")
    assert world.ids() == [2], "the partition that was asked for has no rows any more"
    world.proved()


def test_what_needs_the_jvm_is_refused_before_anything_is_read(world: World, client: Client) -> None:
    world.add(row(1))
    assert "a stream calls into Spark's JVM" in client.refused(world, "stream")
    assert "sending corrected records calls into Spark's JVM" in client.refused(world, "recycle")
    for text, reason in {
        "publish: zero_copy\n": "`publish: zero_copy`, which needs Spark's JVM",
        "recycle: {at_start: true}\n": "sends corrected records first",
        "  - {id: a, check: referential_integrity, column: id, reference: {table: silver.orders}}\n": "reads the asset",
        "path: s3://bucket/orders\n": "is not on this machine's file system",
        "path: /proc/self/cwd/orders\n": "does not see what this machine writes",
    }.items():
        world.write_suite(SUITE + text)
        assert reason in client.refused(world), text
    assert not Path(world.path("silver.orders")).exists()


def test_a_session_of_either_kind_waits_for_the_other(world: World, client: Client) -> None:
    world.add(row(1))
    with table_lock(world.spark, world.path("silver.orders")):
        assert "another run holds" in client.refused(world, wait=0)
    client.run(world)
    assert world.ids() == [1]


def test_a_payload_that_throws_is_null(client: Client) -> None:
    assert client.ask("tried", texts=['{"a":1}', "no json", ""])["gave"] == ['{"a":1}', None, None]
