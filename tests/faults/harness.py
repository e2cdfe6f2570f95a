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
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import lazaretto as lz
from faults import drivers
from lazaretto.pipeline.failpoints import REACHED
from lazaretto.pipeline.stream.api import StreamBusy
from lazaretto.spark.lock import AssetBusy
from pipeline.reader import reading
from world import SUITE, World, row

GOOD, BAD = [1, 2, 3, 11, 12], [4, 14]
LATER = [21, 22]
RESTARTS = 3
"""So many starts may be needed until everything is taken."""
_TROUBLE = 10
"""Seconds that a trouble lasts at most."""

BATCH = (
    "after_stage",
    "after_seal",
    "before_commit",
    "after_commit",
    "after_quarantine",
    "after_confirm",
)
CHECKPOINT = ("torn checkpoint", "checkpoint lost")
FAULTS = (
    "kill python",
    "kill jvm",
    "kill both",
    "stop and a second instance",
    "crash twice",
    "store lost",
    "suite changed",
    "disk full",
    "log store fails",
    *CHECKPOINT,
)
STREAM = ("after_offsets", "mid_stage", *BATCH, "before_batch_commit", "after_batch_commit")
POINTS = {
    "delta": STREAM,
    "kafka": STREAM,
    # A landing folder needs no query of Spark's, and no checkpoint: the target's log knows each file.
    "files": BATCH,
    "recycle": (
        "after_send",
        "after_stage",
        "after_seal",
        "after_commit",
        "before_outcome",
        "after_outcome",
        "after_confirm",
    ),
}
"""Source → the moments its batches go through."""


@dataclass(frozen=True)
class Cell:
    """One entry of the matrix."""

    source: str
    point: str
    fault: str

    def __str__(self) -> str:
        return f"{self.source}, {self.point}, {self.fault}"


ALL = tuple(
    Cell(source, point, fault)
    for source, points in POINTS.items()
    for point, fault in itertools.product(points, FAULTS)
    if fault not in CHECKPOINT or points is STREAM
)
FEW = (
    Cell("delta", "after_seal", "suite changed"),
    Cell("files", "after_commit", "stop and a second instance"),
    Cell("kafka", "mid_stage", "kill jvm"),
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


LANDING = """{format: landing, path: drop, schema: 'id BIGINT, amount DECIMAL(10,2), name STRING, code STRING',
  landing: {settle: 0s, separator: ';', files: 'in*'}}"""
KAFKA = """{{format: kafka, schema: 'id BIGINT, amount DECIMAL(10,2), name STRING, code STRING',
  options: {{kafka.bootstrap.servers: '{servers}', subscribe: {topic}}}}}"""


@dataclass
class Struck:
    """A world whose stream is to be struck."""

    world: World
    source: str = "delta"
    broker: Any = None
    known: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    """Every row that was ever put into the source."""
    corrected: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    """What became of some of them before they were sent back."""
    keep_ready: bool = False
    """Whether many cells follow each other."""

    @classmethod
    def create(cls, spark: Any, root: Path, source: str, broker: Any = None) -> Struck:
        struck = cls(World.create(spark, root), source, broker)
        if source == "kafka":
            broker.make(spark, root.name)
            struck._take_from(KAFKA.format(servers=broker.servers, topic=root.name))
        if source == "files":
            (root / "drop").mkdir()
            struck._take_from(LANDING)
        struck.put([1, 2, 3, 4])
        struck.put([11, 12, 14])
        if source == "recycle":
            struck.go()
            struck.correct({4: "6.00", 14: "-2.00"})
        return struck

    def _take_from(self, source: str) -> None:
        self.world.write_suite(SUITE.replace("{format: delta, table: bronze.orders}", source))

    def put(self, ids: list[int]) -> None:
        """Rows for the source; those whose number ends with 4 are bad."""
        rows = [row(number, amount="-1" if number % 10 == 4 else "5.00") for number in ids]
        self.known |= {r[0]: r for r in rows}
        if self.source == "kafka":
            documents = [{"id": r[0], "amount": float(r[1]), "name": r[2], "code": r[3]} for r in rows]
            self.broker.send(self.world.spark, self.world.root.name, documents, partition=ids[0] % 2)
        elif self.source == "files":
            file = self.world.root / "drop" / f"in{ids[0]}.csv"
            being_written = file.with_name(f"new{ids[0]}")
            being_written.write_text("".join(f"{';'.join(map(str, r))}\n" for r in rows))
            being_written.rename(file)
        else:
            self.world.add(*rows)

    def correct(self, amounts: dict[int, str]) -> None:
        """Correct records by SQL: some rightly, some not."""
        self.corrected |= {number: row(number, amount=amount) for number, amount in amounts.items()}
        cases = " ".join(f"WHEN '{number}' THEN '{{{{\"amount\": {amount}}}}}'" for number, amount in amounts.items())
        self.world.sql(
            f"UPDATE {{}} SET status = 'CORRECTED', correction = parse_json(CASE record_key {cases} END) "
            f"WHERE record_key IN {tuple(map(str, amounts))}",
            "quarantine.records",
        )

    def go(self, **options: Any) -> lz.StreamResult:
        return lz.stream(self.world.suite(), self.world.spark, once=True, **options)

    def again(self, **options: Any) -> int:
        """Start once more; the batches it took."""
        if self.source != "recycle":
            return self.go(**options).batches
        sent = lz.recycle(self.world.suite(), self.world.spark, **options)
        return sum(result.outcome == "done" for result in sent) + (0 if options else self.go().batches)

    def process(self, point: str, how: str, nth: int = 1) -> subprocess.Popen[str]:
        """A stream in a process of its own, to be struck."""
        return drivers.ordered(
            keep_ready=self.keep_ready,
            project=str(self.world.root),
            source=self.source,
            limit=4 if self.source == "kafka" else 1,
            failpoint=f"{point}:{how}:{nth}",
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
        waiting = [p for p, r in zip(payloads, records, strict=True) if r.status != "RECOVERED"]
        counted = Counter(r.id for r in published) + Counter(p["id"] for p in waiting)
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
            if (r.id, r.amount, r.name, r.code) != self.corrected.get(r.id, self.known.get(r.id))
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
        with _stopped(struck, point), suppress(StreamBusy, AssetBusy):
            assert not struck.again(wait=1), "a second instance was let in"
        return
    if fault in ("disk full", "log store fails"):
        # Before its first batch there is no log yet in which nothing could be committed.
        nth = 2 if point == "after_offsets" else 1
        with _stopped(struck, point, _full if fault == "disk full" else _read_only, nth):
            pass
        return
    struck.killed(point, how)
    checkpoint = next((struck.world.root / "lake/quarantine").glob("checkpoints/[!.]*"), Path())
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
def _stopped(
    struck: Struck, point: str, trouble: Callable[[Struck], Any] | None = None, nth: int = 1
) -> Iterator[None]:
    """Stop a process at a moment; then let it go on, into trouble for a while if that is asked for."""
    process = struck.process(point, "stop", nth)
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if REACHED in line:
            break
    else:
        raise AssertionError("".join(said))
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    try:
        yield
    finally:
        with (trouble or nullcontext)(struck):
            os.kill(process.pid, signal.SIGCONT)
            with suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=_TROUBLE if trouble else 300)
        _, err = process.communicate(timeout=300)  # what tries again may come through now that the trouble is over
    assert trouble or process.returncode == 0, err


@contextmanager
def _full(struck: Struck) -> Iterator[None]:
    """No room for a single block on the lake's disk."""
    ballast = struck.world.root / "lake" / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)
    yield
    ballast.unlink()


@contextmanager
def _read_only(struck: Struck) -> Iterator[None]:
    """Logs can be read, and nothing can be committed."""
    logs = [p for p in struck.world.root.glob("lake/*/*/_delta_log") if "bronze" not in p.parts]
    for log in logs:
        mount("--bind", log, log)
        mount("-o", "remount,bind,ro", log)
    yield
    for log in logs:
        subprocess.run(["umount", "-l", str(log)], check=True)


def mount(*arguments: Any) -> None:
    """Mount, or skip the test where that is not allowed."""
    done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")


@contextmanager
def _disk(cell: Cell, root: Path) -> Iterator[None]:
    """A small disk for the lake of a cell that fills it."""
    if cell.fault != "disk full":
        yield
        return
    lake = root / "lake"
    lake.mkdir(parents=True)
    mount("-t", "tmpfs", "-o", "size=24m", "tmpfs", lake)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(lake)], check=True)


@dataclass
class Held:
    """What a cell came to."""

    starts: int = 0
    """How many it took until everything was taken."""
    rows: int = 0
    wrong: list[str] = field(default_factory=list)
    """What did not hold."""


def run_cell(cell: Cell, spark: Any, root: Path, broker: Any = None, *, keep_ready: bool = False) -> Held:
    """Strike, start again until all is taken, and count."""
    held = Held()
    if keep_ready:
        drivers.make_ready()
    with _disk(cell, root):
        struck = Struck.create(spark, root, cell.source, broker)
        struck.keep_ready = keep_ready
        good = [*GOOD, *LATER, 31, *(BAD[:1] if cell.source == "recycle" else [])]
        # Judged by milder rules, or at the second try, the others may be published as well.
        either = [*good, *BAD] if cell.fault in ("suite changed", "crash twice") else good
        try:
            with reading(struck.world, either, BAD):
                strike(struck, cell)
                struck.put(LATER)
                held.starts = 1
                while struck.again():
                    held.starts += 1
                    assert held.starts <= RESTARTS + 1, "no end of it"
            held.wrong = struck.found()
        except Exception as error:
            held.wrong = [f"{type(error).__name__}: {error}"]
        held.rows = len(struck.known)
    return held
