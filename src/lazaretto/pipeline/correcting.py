"""Corrections by hand: typed, previewed against today's rules, and put beside the payload."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lazaretto.config.project import Project
from lazaretto.config.suites import load_suites
from lazaretto.model.errors import LazarettoError
from lazaretto.model.suite import Suite
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.preview import verdicts
from lazaretto.pipeline.review import resolved, see_table
from lazaretto.quarantine.payload import overlaid
from lazaretto.quarantine.transitions import RecordUnknown
from lazaretto.quarantine.typed import typed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Given = Mapping[str, Mapping[str, str | None]]
"""Record → column → text; None for NULL."""


class CorrectionRefused(LazarettoError):
    """A correction that cannot be meant: an unknown column, or a value that is none of its type."""


@dataclass(frozen=True)
class Preview:
    """What today's rules say of a record as it would be."""

    record_id: str
    passes: bool
    failures: tuple[tuple[str, str], ...]
    """Rule and message."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "record_id": self.record_id,
            "would_pass": self.passes,
            "failures": [{"rule_id": rule, "message": message} for rule, message in self.failures],
        }


def from_file(path: Path) -> dict[str, dict[str, str | None]]:
    """Corrections from a CSV file (record_id and a column for each field; empty cells are left alone) or from JSON
    Lines ({"record_id": …, "set": {…}})."""
    found = _of_csv(path) if path.suffix.casefold() == ".csv" else _of_lines(path)
    given: dict[str, dict[str, str | None]] = {}
    for number, (record, values) in enumerate(found, start=1):
        if not record or not values:
            raise CorrectionRefused(f"{path}, entry {number}: expected a record_id and at least one column")
        if record in given:
            raise CorrectionRefused(f"{path}, entry {number}: record {record[:12]} is in the file twice")
        given[record] = dict(values)
    return given


def _of_csv(path: Path) -> list[tuple[Any, dict[str, str | None]]]:
    with path.open(encoding="utf-8-sig", newline="") as file:  # spreadsheets write a mark before the first name
        rows: list[dict[Any, Any]] = list(csv.DictReader(file))
    for number, row in enumerate(rows, start=1):
        if None in row:
            raise CorrectionRefused(f"{path}, entry {number}: more cells than columns")
    return [(row.pop("record_id", None), {k: v for k, v in row.items() if v}) for row in rows]


def _of_lines(path: Path) -> list[tuple[Any, dict[str, str | None]]]:
    found = []
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    for number, line in enumerate(lines, start=1):
        try:
            document = json.loads(line)
        except ValueError:
            raise CorrectionRefused(f"{path}, line {number}: this is not JSON") from None
        values = document.get("set", {}) if isinstance(document, dict) else None
        if not isinstance(values, dict):
            raise CorrectionRefused(f'{path}, line {number}: expected an object {{"record_id": …, "set": {{…}}}}')
        found.append((document.get("record_id"), {k: _text(v) for k, v in values.items()}))
    return found


def prepare(bench: Bench, given: Given) -> DataFrame:
    """The corrections as `act` takes them. CorrectionRefused names those that do not fit, before anything is done."""
    see_table(bench)
    ids = resolved(bench, given)
    if len(set(ids.values())) < len(ids):
        raise CorrectionRefused("two of the ids given begin the same record")
    rows = [(ids[record], dict(values)) for record, values in given.items()]
    asked = bench.spark.createDataFrame(rows, "record_id string, given map<string, string>")
    frame = typed(bench.spark, bench.places.records, asked)
    if unknown := asked.join(frame, "record_id", "left_anti").limit(1).collect():
        raise RecordUnknown(f"there is no record {unknown[0]['record_id'][:12]} in the quarantine")
    refused = frame.where("refused IS NOT NULL").select("record_id", "refused").limit(11).collect()
    if refused:
        told = "; ".join(f"record {row[0][:12]}: {row[1]}" for row in refused[:10])
        raise CorrectionRefused(told + ("; and more" if len(refused) > 10 else ""))
    return frame.select("record_id", "seen", "correction")


def preview(bench: Bench, home: Project, env: str | None, chosen: DataFrame) -> list[Preview]:
    """What today's rules say of the records as they would be."""
    records = bench.spark.read.format("delta").load(bench.places.records)
    new = chosen.selectExpr("record_id", "correction AS lz_new")
    laid = f"CASE WHEN correction IS NULL THEN lz_new ELSE {overlaid('correction', 'lz_new')} END"
    columns = [f"{laid} AS correction" if name == "correction" else name for name in records.columns]
    frame = records.join(new, "record_id").selectExpr(*columns)
    found: list[Preview] = []
    for (name,) in frame.select("suite").distinct().collect():
        suite = _suite(home, env, name)
        for row in verdicts(bench, suite, frame.where(f"suite <=> '{name}'")).collect():
            failures = tuple((f["rule_id"], f["message"]) for f in row["failures"] or ())
            found.append(Preview(row["record_id"], bool(row["passes"]), failures))
    return sorted(found, key=lambda each: each.record_id)


def _suite(home: Project, env: str | None, name: str | None) -> Suite:
    found = next((s for s in load_suites(None, env, home).suites if s.suite == name), None)
    if found is None:
        raise RecordUnknown(f"the suite {name} is not in this project any more, so nothing can be judged by it")
    return found


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)
