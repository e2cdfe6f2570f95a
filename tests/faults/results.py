"""What came of the cells, as a page: one line for each, the latest result of it.

The results themselves are kept as lines of JSON in build/, so that a run may be done in parts.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from faults.harness import pairs

MOMENTS = {
    "after_offsets": "offsets written",
    "mid_stage": "mid-evaluation",
    "after_stage": "staged, not sealed",
    "after_seal": "sealed",
    "before_commit": "decided, not published",
    "after_commit": "published",
    "after_quarantine": "quarantine appended",
    "after_confirm": "store confirmed",
    "before_batch_commit": "before Spark's commit file",
    "after_batch_commit": "after Spark's commit file",
    "after_send": "outbox committed",
    "before_outcome": "recycled row published",
    "after_outcome": "recycled row's outcome noted",
}
"""Failpoint → what has just happened there."""

_HEAD = """# The fault matrix, as it was run

Written by `make faults`. Each line is a stream (or a recycle) that was struck at one moment in one way, started again
until everything was taken, and counted: every row in exactly one place with its values, no identity twice, the evidence
in agreement with the tables, a reader beside it who saw nothing twice and nothing unjudged
([streaming](streaming.md)).

{summary}

| source | moment | fault | starts after it | rows | seconds | result |
|---|---|---|---:|---:|---:|---|
"""


def note(page: Path, cell: Any, *, starts: int, rows: int, seconds: float, wrong: list[str]) -> None:
    """Put the result of a cell on record, and write the page anew."""
    kept = Path("build") / f"{page.stem}.jsonl"
    for folder in (page.parent, kept.parent):
        folder.mkdir(parents=True, exist_ok=True)
    result = {
        "source": cell.source,
        "point": cell.point,
        "fault": cell.fault,
        "starts": starts,
        "rows": rows,
        "seconds": round(seconds),
        "wrong": wrong,
        "day": f"{datetime.now(UTC):%Y-%m-%d}",
    }
    with kept.open("a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")
    page.write_text(written(kept.read_text(encoding="utf-8").splitlines()), encoding="utf-8")


def written(lines: list[str]) -> str:
    """The page."""
    latest = {}
    for line in lines:
        found = json.loads(line)
        latest[found["source"], found["point"], found["fault"]] = found
    moments = list(MOMENTS)
    order = sorted(latest.values(), key=lambda r: (r["source"], moments.index(r["point"]), r["fault"]))
    wrong = sum(bool(r["wrong"]) for r in order)
    by = Counter(r["source"] for r in order)
    days = sorted({r["day"] for r in order})
    selected = [str(cell) for cell in pairs()]
    run = sum(f"{r['source']}, {r['point']}, {r['fault']}" in selected for r in order)
    sources = ", ".join(f"{source} {count}" for source, count in sorted(by.items()))
    minutes = sum(r["seconds"] for r in order) / 60
    summary = (
        f"{len(order)} cells were run ({sources}), {run} of them of the {len(selected)} that `make faults` selects;\n"
        f"{sum(r['rows'] for r in order):,} rows, {minutes:.0f} minutes, "
        f"{days[0]}{f' to {days[-1]}' if len(days) > 1 else ''}: "
        f"{'all invariants held in all of them' if not wrong else f'**violated in {wrong} of them**'}."
    )
    table = [
        f"| {r['source']} | {MOMENTS[r['point']]} | {r['fault']} | {r['starts']} | {r['rows']} | {r['seconds']} "
        f"| {'; '.join(r['wrong']) or 'held'} |"
        for r in order
    ]
    return _HEAD.format(summary=summary) + "\n".join(table) + "\n"
