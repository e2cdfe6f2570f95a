"""A real Kafka broker for tests: one node on the loopback, from pinned jars that are fetched once per user."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lazaretto.spark import ivy
from lazaretto.spark.jars import CACHE_VARIABLE, Jar
from lazaretto.spark.java import find_java

_LOCK = Path(__file__).with_name("kafka.lock")
_HEAP = ["-Xmx256m", "-XX:TieredStopAtLevel=1"]


def _jars() -> list[Jar]:
    lines = (line.split() for line in _LOCK.read_text().splitlines() if line and not line.startswith("#"))
    return [Jar(*coordinates.split(":"), sha256, int(size)) for coordinates, sha256, size in lines]


def libraries() -> Path:
    """The folder with the verified jars; fetched if need be."""
    root = Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "lazaretto")
    folder = root / "kafka" / hashlib.sha256(_LOCK.read_bytes()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if missing := [jar for jar in _jars() if jar.fault(folder)]:
            scratch = folder.with_name(f".{folder.name}")
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir()
            ivy.fetch(missing, scratch)
            for jar in missing:
                assert jar.fault(scratch) is None, jar.fault(scratch)
                (scratch / jar.file_name).replace(folder / jar.file_name)
            shutil.rmtree(scratch)
    return folder


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


@dataclass
class Broker:
    """A running broker; its admin and its producer are those of the Kafka client in the Spark session."""

    folder: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    _made: list[Any] = field(default_factory=list)

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        self.port, controller = _free_ports(2)
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = self.folder / "server.properties"
        settings.write_text(
            f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{self.port}
controller.listener.names=CONTROLLER
log.dirs={self.folder / "data"}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""
        )
        java = [str(find_java().executable), *_HEAP, "-cp", f"{libraries()}/*"]
        formatting = ["kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(settings)]
        done = subprocess.run([*java, *formatting, "--ignore-formatted"], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        with (self.folder / "broker.log").open("wb") as log:
            self.process = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.2)
        raise AssertionError((self.folder / "broker.log").read_text()[-2000:])

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def _admin(self, spark: Any) -> Any:
        properties = spark._jvm.java.util.Properties()
        properties.put("bootstrap.servers", self.servers)
        return spark._jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)

    def make(self, spark: Any, topic: str, partitions: int = 2) -> None:
        admin = self._admin(spark)
        new = spark._jvm.org.apache.kafka.clients.admin.NewTopic(topic, partitions, 1)
        admin.createTopics(_in_java(spark, new)).all().get()
        admin.close()

    def drop(self, spark: Any, topic: str) -> None:
        admin = self._admin(spark)
        admin.deleteTopics(_in_java(spark, topic)).all().get()
        admin.close()
        time.sleep(0.5)  # the broker forgets it a moment later

    def send(self, spark: Any, topic: str, values: Iterable[bytes | dict[str, Any] | None], partition: int = 0) -> None:
        """Messages with raw bytes, or JSON of what is given; None is a tombstone."""
        rows = [(b"k", json.dumps(v).encode() if isinstance(v, dict) else v, partition) for v in values]
        frame = spark.createDataFrame(rows, "key binary, value binary, partition int").coalesce(1)
        frame.selectExpr("*", f"'{topic}' AS topic").write.format("kafka").option(
            "kafka.bootstrap.servers", self.servers
        ).save()


def _in_java(spark: Any, thing: Any) -> Any:
    found = spark._jvm.java.util.ArrayList()
    found.add(thing)
    return found
