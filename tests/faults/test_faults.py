"""Cells of the fault matrix, and proof that the matrix would notice: see `make faults`, `faults-all`, `faults-soak`."""

from __future__ import annotations

import os
import random
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from faults import results
from faults.harness import ALL, FEW, Cell, Struck, pairs, run_cell
from lazaretto.pipeline import batch, finish
from lazaretto.pipeline.failpoints import FailpointReached
from lazaretto.pipeline.stream.api import StreamFailed
from lazaretto.spark import publisher

WISH = os.environ.get("LAZARETTO_FAULTS", "few")
PAGE = os.environ.get("LAZARETTO_FAULTS_PAGE")


def _cells() -> tuple[Cell, ...]:
    if WISH == "all":
        return ALL
    if WISH == "pairs":
        return pairs()
    if WISH.startswith("soak:"):  # soak:N:SEED
        _, count, seed = WISH.split(":")
        return tuple(random.Random(int(seed)).choices(ALL, k=int(count)))
    return FEW


@pytest.mark.parametrize("cell", _cells(), ids=str)
@pytest.mark.timeout(900)
def test_a_cell_of_the_matrix(cell: Cell, spark: Any, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    broker = request.getfixturevalue("broker") if cell.source == "kafka" else None
    began = time.monotonic()
    root = tmp_path / f"t{uuid.uuid4().hex[:12]}"
    held = run_cell(cell, spark, root, broker, keep_ready=WISH != "few")
    if PAGE:
        seconds = time.monotonic() - began
        results.note(Path(PAGE), cell, starts=held.starts, rows=held.rows, seconds=seconds, wrong=held.wrong)
    assert not held.wrong, f"{cell}: {held.wrong}"


def test_a_selection_meets_every_pair() -> None:
    assert len(pairs()) < len(ALL) / 1.5
    met = {(a, b) for c in pairs() for a, b in ((c.source, c.point), (c.source, c.fault), (c.point, c.fault))}
    assert met == {(a, b) for c in ALL for a, b in ((c.source, c.point), (c.source, c.fault), (c.point, c.fault))}


def _crashed(struck: Struck, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("LAZARETTO_FAILPOINT", f"{point}:raise")
        with pytest.raises(FailpointReached):
            struck.go()


def test_without_the_transaction_id_the_harness_fails(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A committed batch is no longer recognised: it is staged again, over the files that were published."""
    for module in (publisher, batch):
        monkeypatch.setattr(module, "batch_app", lambda batch_id: f"lazaretto:batch:{uuid.uuid4().hex}")
    struck = Struck.create(spark, tmp_path, "delta")
    _crashed(struck, monkeypatch, "after_commit")
    with suppress(StreamFailed):
        struck.go()
    assert any(wrong.startswith(("lost", "doubled", "unreadable")) for wrong in struck.found())


def test_without_reuse_of_the_seal_the_harness_fails(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's replay finds the commit and goes on; what was still to be done after the commit is never done."""
    struck = Struck.create(spark, tmp_path, "delta")
    _crashed(struck, monkeypatch, "after_commit")
    monkeypatch.setattr(finish, "seals_under", lambda files, folder: [])
    struck.go()
    wrong = struck.found()
    assert "a seal is still open" in wrong
    assert any(text.startswith("lost: [4, 14]") for text in wrong)


def test_without_the_fence_the_harness_fails(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two instances take the same rows, each from its own checkpoint."""
    marks = publisher.ZeroCopyPublisher._marks

    def unfenced(self: Any, transaction: Any, seal: Any) -> Any:
        stream = seal.source.stream
        if stream is None:
            return marks(self, transaction, seal)
        free = tuple(mark.model_copy(update={"since": 2**62}) for mark in stream.marks)
        open_ = seal.source.model_copy(update={"stream": stream.model_copy(update={"marks": free})})
        return marks(self, transaction, seal.model_copy(update={"source": open_}))

    monkeypatch.setattr(publisher.ZeroCopyPublisher, "_marks", unfenced)
    struck = Struck.create(spark, tmp_path, "delta")
    other = str(tmp_path / "other")

    def overtake(told: Any) -> None:
        if told.number == 1:
            struck.go(checkpoint=other)

    struck.go(limit=1, on_batch=overtake)
    assert any(wrong.startswith("doubled") for wrong in struck.found())
