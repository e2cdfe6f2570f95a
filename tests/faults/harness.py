"""The fault matrix: a stream is struck at a named moment in a named way, started again, and everything is counted.

A cell is (source, moment, fault). Whatever the cell, afterwards every input row is in exactly one place with its
values unchanged, the evidence agrees with the tables, and a reader who looked all the while saw nothing twice and
nothing uncertified.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lazaretto as lz
from lazaretto.pipeline.failpoints import REACHED
from lazaretto.pipeline.stream.api import StreamBusy
from pipeline.reader import reading
from world import SUITE, World, row

GOOD, BAD = [1, 2, 3, 11, 12], [4, 14]
LATER = [21, 22]
RESTARTS = 3
"""So many starts may be needed until everything is taken."""

POINTS = (
    "after_offsets",
    "mid_stage",
    "after_stage",
    "after_seal",
    "before_commit",
    "after_commit",
    "after_quarantine",
    "after_confirm",
    "before_batch_commit",
    "after_batch_commit",
)
FAULTS = (
    "kill python",
    "kill jvm",
    "kill both",
    "stop and a second instance",
    "crash twice",
    "store lost",
    "torn checkpoint",
    "checkpoint lost",
    "suite changed",
)
SOURCES = ("delta", "kafka")


@dataclass(frozen=True)
class Cell:
    """One entry of the matrix."""

    source: str
    point: str
    fault: str

    def __str__(self) -> str:
        return f"{self.source}, {self.point}, {self.fault}"


ALL = tuple(itertools.starmap(Cell, itertools.product(SOURCES, POINTS, FAULTS)))
FEW = (
    Cell("delta", "mid_stage", "kill jvm"),
    Cell("delta", "after_commit", "torn checkpoint"),
    Cell("delta", "after_seal", "stop and a second instance"),
    Cell("kafka", "after_quarantine", "suite changed"),
)


def pairs(seed: int = 1) -> tuple[Cell, ...]:
    """Few cells in which every two of (source, moment, fault) meet at least once."""
    order = list(ALL)
    random.Random(seed).shuffle(order)
    missing = {pair for cell in ALL for pair in _pairs_of(cell)}
    chosen: list[Cell] = []
    while missing:
        best = max(order, key=lambda cell: len(missing & _pairs_of(cell)))
        chosen.append(best)
        missing -= _pairs_of(best)
    return tuple(chosen)


def _pairs_of(cell: Cell) -> set[tuple[str, str]]:
    return set(itertools.combinations((cell.source, cell.point, cell.fault), 2))


@dataclass
class Struck:
    """A world whose stream is to be struck."""

    world: World
    broker: Any = None
    known: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    """Every row that was ever put into the source."""

    @classmethod
    def create(cls, spark: Any, root: Path, source: str, broker: Any = None) -> Struck:
        text = SUITE
        if source == "kafka":
            broker.make(spark, root.name)
            text = SUITE.replace(
                "{format: delta, table: bronze.orders}",
                "{format: kafka, schema: 'id BIGINT, amount DECIMAL(10,2), name STRING, code STRING',\n"
                f"  options: {{kafka.bootstrap.servers: '{broker.servers}', subscribe: {root.name}}}}}",
            )
        struck = cls(World.create(spark, root, text), broker if source == "kafka" else None)
        struck.put([1, 2, 3, 4])
        struck.put([11, 12, 14])
        return struck

    def put(self, ids: list[int]) -> None:
        rows = [row(number, amount="-1" if number % 10 == 4 else "5.00") for number in ids]
        self.known |= {r[0]: r for r in rows}
        if self.broker is None:
            self.world.add(*rows)
            return
        documents = [{"id": r[0], "amount": float(r[1]), "name": r[2], "code": r[3]} for r in rows]
        self.broker.send(self.world.spark, self.world.root.name, documents, partition=ids[0] % 2)

    def go(self, **options: Any) -> lz.StreamResult:
        return lz.stream(self.world.suite(), self.world.spark, once=True, **options)

    def process(self, point: str, how: str, nth: int = 1) -> subprocess.Popen[str]:
        """A stream in a process of its own, to be struck."""
        driver = Path(__file__).parent.parent / "stream" / "driver.py"
        return subprocess.Popen(
            [sys.executable, str(driver), str(self.world.root), "1" if self.broker is None else "4"],
            env=os.environ | {"LAZARETTO_FAILPOINT": f"{point}:{how}:{nth}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def killed(self, point: str, how: str) -> None:
        # What Spark notes after a batch is looked at when the next one begins.
        process = self.process(point, how)
        out, err = process.communicate(timeout=300)
        assert f"{REACHED} {point}" in err, out + err
        assert process.returncode != 0, out + err

    def found(self) -> list[str]:
        """What is wrong; empty if all invariants hold."""
        wrong: list[str] = []
        try:
            published, records = self.world.rows(), self.world.quarantined()
        except Exception as error:  # of Spark or of Py4J: whichever it is, nobody can read the tables
            return [f"unreadable: {type(error).__name__}"]
        payloads = [json.loads(r.payload.toJson()) for r in records]
        counted = Counter(r.id for r in published) + Counter(p["id"] for p in payloads)
        expected = Counter(dict.fromkeys(self.known, 1))
        if lost := sorted((expected - counted).elements()):
            wrong.append(f"lost: {lost}")
        if doubled := sorted((counted - expected).elements()):
            wrong.append(f"doubled: {doubled}")
        if len(records) != len({r.record_id for r in records}):
            wrong.append("two records have one identity")
        wrong += [
            f"another row than was put in: {r}"
            for r in published
            if (r.id, r.amount, r.name, r.code) != self.known.get(r.id)
        ]
        wrong += [
            f"another payload than was put in: {p}"
            for p in payloads
            if p["id"] in self.known and float(p["amount"]) != float(self.known[p["id"]][1])
        ]
        if self.world.open_seals():
            wrong.append("a seal is still open")
        proof = self.world.verify()
        wrong += [f"proof: {finding.problem}" for finding in proof.findings]
        if proof.totals.input != len(self.known):
            wrong.append(f"the evidence counts {proof.totals.input} rows, and there are {len(self.known)}")
        return wrong


def strike(struck: Struck, cell: Cell) -> None:
    """Do to a stream what the cell says."""
    point, fault = cell.point, cell.fault
    how = {"kill python": "python", "kill jvm": "jvm"}.get(fault, "both")
    if fault == "stop and a second instance":
        with _stopped(struck, point), suppress(StreamBusy):
            struck.go(wait=1)
            raise AssertionError("a second instance was let in")
        return
    struck.killed(point, how)
    checkpoint = next(iter((struck.world.root / "lake/quarantine/checkpoints").iterdir()))
    match fault:
        case "crash twice":
            struck.put([31])
            with suppress(AssertionError):  # it may have nothing to do at this point any more
                struck.killed(point, how)
        case "store lost":
            for file in (struck.world.root / ".lazaretto").glob("control.db*"):
                file.unlink()
        case "torn checkpoint":
            last = max((checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
            last.write_bytes(last.read_bytes()[: last.stat().st_size // 2])
        case "checkpoint lost":
            shutil.rmtree(checkpoint)
        case "suite changed":
            file = struck.world.root / "suites" / "orders.yml"
            file.write_text(file.read_text().replace("min: 0", "min: -1000").replace("1.0.0", "2.0.0"))


@contextmanager
def _stopped(struck: Struck, point: str) -> Iterator[None]:
    process = struck.process(point, "stop")
    assert process.stderr is not None
    for line in process.stderr:
        if REACHED in line:
            break
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    try:
        yield
    finally:
        os.kill(process.pid, signal.SIGCONT)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err


def run_cell(cell: Cell, spark: Any, root: Path, broker: Any = None) -> int:
    """Strike, start again until all is taken, and count; the number of starts it took."""
    struck = Struck.create(spark, root, cell.source, broker)
    either = [*GOOD, *BAD, *LATER, 31] if cell.fault in ("suite changed", "crash twice") else [*GOOD, *LATER, 31]
    with reading(struck.world, either, BAD):
        strike(struck, cell)
        struck.put(LATER)
        starts = 1
        while struck.go().batches:
            starts += 1
            assert starts <= RESTARTS + 1, "no end of it"
    wrong = struck.found()
    assert not wrong, f"{cell}: {wrong}"
    return starts
