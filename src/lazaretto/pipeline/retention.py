# ruff: noqa: S608 - SQL is what is made here; names and literals go through checks.sql
"""Old records go to the archive, and come back when somebody needs them; a crash in between is finished by the next.

chore on file → copied (once) → taken away → evidence with counts before and after → chore off file
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from lazaretto.checks import sql
from lazaretto.config.project import Retention
from lazaretto.engine.judge import literal_time
from lazaretto.model.errors import LazarettoError
from lazaretto.model.lifecycle import OPEN
from lazaretto.model.words import RecordStatus
from lazaretto.pipeline import archive as evidence
from lazaretto.pipeline import chores, holds
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.chores import Chore
from lazaretto.pipeline.failpoints import reach
from lazaretto.pipeline.looking import tables_of
from lazaretto.pipeline.person import Person
from lazaretto.quarantine import archive
from lazaretto.quarantine.looking import find
from lazaretto.quarantine.records import examine, exists
from lazaretto.quarantine.whereabouts import inbox
from lazaretto.spark.lock import AssetBusy, table_lock

CLOSED = (RecordStatus.RECOVERED, RecordStatus.REJECTED)
AT_REST = tuple(status for status in OPEN if status is not RecordStatus.RESUBMITTED)
"""Open records that are not on their way through the door."""

Counts = dict[str, dict[str, int]]
"""Asset → status → number."""


class NotArchived(LazarettoError):
    """A record that cannot be restored."""


@dataclass(frozen=True)
class Retained:
    """What went to the archive, or would go."""

    moved: Counts
    held: int
    """Old enough, and kept back by a legal hold."""
    chore_id: str | None = None

    @property
    def count(self) -> int:
        """How many records."""
        return sum(sum(by_status.values()) for by_status in self.moved.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {"records": self.count, "held": self.held, "assets": self.moved, "move": self.chore_id}


def plan(bench: Bench, retention: Retention, now: datetime | None = None) -> Retained:
    """What retention would do."""
    if not exists(bench.spark, bench.places.records):
        return Retained({}, 0)
    old = _old(bench, retention, now or datetime.now(UTC))
    kept = holds.held_ids(bench, _inbox(bench))
    held = f"record_id IN ({kept})" if kept else "false"
    rows = bench.spark.sql(
        f"SELECT asset, status, held, count(*) AS n FROM (SELECT *, {held} AS held FROM ({old})) GROUP BY ALL"
    ).collect()
    moved: Counts = {}
    for row in rows:
        if not row["held"]:
            moved.setdefault(row["asset"], {})[row["status"]] = int(row["n"])
    return Retained(moved, sum(int(row["n"]) for row in rows if row["held"]))


def retain(bench: Bench, retention: Retention, who: Person, now: datetime | None = None) -> Retained:
    """Move what is old enough to the archive."""
    now = now or datetime.now(UTC)
    finish(bench)
    planned = plan(bench, retention, now)
    if not planned.count:
        return planned
    examine(bench.spark, bench.places.records)
    kept = holds.held_ids(bench, _inbox(bench))
    unless = f" WHERE record_id NOT IN ({kept})" if kept else ""
    chore = _chore(
        "archive",
        who,
        _words(retention),
        condition=f"SELECT record_id FROM ({_old(bench, retention, now)}){unless}",
        before=_standing(bench),
    )
    chores.begin(bench.files, bench.places, chore)
    moved = carry_out(bench, chore)
    return Retained(moved, planned.held, chore.chore_id)


def restore(bench: Bench, ids: Sequence[str], who: Person, reason: str) -> Counts:
    """Bring archived records back to where they can be worked on, as what they were; counts by asset and status."""
    if not reason.strip():
        raise NotArchived("a reason is needed: it is what others will read in the evidence")
    finish(bench)
    found = [find(bench.spark, tables_of(bench.places, bench.files), each) for each in dict.fromkeys(ids)]
    if strangers := [record["record_id"][:12] for record in found if record["status"] != RecordStatus.ARCHIVED]:
        raise NotArchived(f"{', '.join(strangers)}: not in the archive, so there is nothing to restore")
    if not found:
        return {}
    chore = _chore(
        "restore",
        who,
        reason.strip(),
        records=tuple(record["record_id"] for record in found),
        before=_standing(bench),
    )
    chores.begin(bench.files, bench.places, chore)
    return carry_out(bench, chore)


def finish(bench: Bench) -> list[str]:
    """Carry on what was begun and cut short; in sentences."""
    from lazaretto.pipeline.erasure import carry_on

    told = []
    for chore in chores.open_chores(bench.files, bench.places):
        try:
            carry_on(bench, chore, wait=0) if chore.kind == "erase" else carry_out(bench, chore, wait=0)
        except AssetBusy:  # whoever holds the lock is at it
            continue
        told.append(f"finished `{chore.kind}` of records, begun by {chore.actor} at {chore.begun_at:%Y-%m-%d %H:%M}")
    return told


def carry_out(bench: Bench, chore: Chore, *, wait: float = 600.0) -> Counts:
    """Move records, from wherever the move stands; what was moved."""
    spark, places = bench.spark, bench.places
    who = {
        "move": chore.chore_id,
        "app": chore.application_id,
        "at": chore.begun_at,
        "by": chore.actor,
        "why": chore.reason,
        "assurance": chore.assurance,
    }
    with table_lock(spark, places.records, wait=wait), table_lock(spark, places.archive, wait=wait):
        if not chores.is_open(bench.files, places, chore):
            return {}
        if chore.kind == "archive":
            archive.put_away(spark, places.records, places.archive, chore.condition, **who)  # type: ignore[arg-type]
            moved = _counted(bench, places.archive, f"move = {sql.text(chore.chore_id)}", "archived_status")
            reach("after_archived", spark)
            archive.take_away(spark, places.records, places.archive, move=chore.chore_id)
        else:
            archive.bring_back(spark, places.records, places.archive, chore.records, **who)  # type: ignore[arg-type]
            some = f"record_id IN ({sql.literals(chore.records, 'string')})"
            moved = _counted(bench, places.records, some, "status")
            reach("after_brought_back", spark)
            archive.forget(spark, places.archive, chore.records, move=chore.chore_id)
        _attest(bench, chore, moved)
        chores.close(bench.files, bench.places, chore)
    return moved


def _attest(bench: Bench, chore: Chore, moved: Mapping[str, Mapping[str, int]]) -> None:
    sign = -1 if chore.kind == "archive" else 1
    for asset, by_status in moved.items():
        before = chore.before.get(asset, {})
        after = {status: before.get(status, 0) + sign * by_status.get(status, 0) for status in {*before, *by_status}}
        evidence.restore_if_behind(bench, asset)
        bench.store.record_action(
            asset,
            f"records:{chore.kind}",
            key=f"{chore.chore_id}:{asset}",
            reason=chore.reason,
            actor=chore.actor,
            assurance=chore.assurance,
            subject=chore.records[0] if len(chore.records) == 1 else chore.chore_id,
            details={
                "deed": chore.chore_id,
                "at": chore.begun_at.isoformat(),
                "count": sum(by_status.values()),
                "came_from": dict(by_status),
                "before": before,
                "after": after,
                **chore.details,
            },
        )
        evidence.note_chain(bench, asset)


def _old(bench: Bench, retention: Retention, now: datetime) -> str:
    """SQL of the records that are old enough, by when they last changed: what was closed yesterday stays in sight."""
    kinds: list[tuple[Sequence[RecordStatus], timedelta]] = [(CLOSED, retention.closed_after)]
    if retention.open_after is not None:
        kinds.append((AT_REST, retention.open_after))
    since = "greatest(quarantined_at, coalesce(updated_at, quarantined_at))"
    conditions = [
        f"(status IN ({sql.literals(statuses, 'string')}) AND {since} < {literal_time(now - age)} "
        f"AND quarantined_date <= DATE'{(now - age + timedelta(days=1)).date().isoformat()}')"
        for statuses, age in kinds
    ]
    return f"SELECT record_id, asset, status FROM {_inbox(bench)} WHERE {' OR '.join(conditions)}"


def _inbox(bench: Bench) -> str:
    return inbox(bench.spark, tables_of(bench.places, bench.files))


def _standing(bench: Bench) -> Counts:
    return _counted(bench, bench.places.records, "true", "status")


def _counted(bench: Bench, table: str, condition: str, status: str) -> Counts:
    if not exists(bench.spark, table):
        return {}
    rows = bench.spark.sql(
        f"SELECT asset, {status} AS status, count(*) AS n FROM delta.{sql.identifier(table)} WHERE {condition} "
        "GROUP BY ALL"
    ).collect()
    found: Counts = {}
    for row in rows:
        found.setdefault(row["asset"], {})[row["status"]] = int(row["n"])
    return found


def _chore(kind: Any, who: Person, reason: str, **fields: Any) -> Chore:
    return Chore(
        chore_id=uuid.uuid4().hex,
        kind=kind,
        begun_at=datetime.now(UTC),
        actor=who.name,
        assurance=who.assurance,
        reason=reason,
        **fields,
    )


def _words(retention: Retention) -> str:
    from lazaretto.model.units import duration_words

    also = f", open ones for {duration_words(retention.open_after)}" if retention.open_after is not None else ""
    return f"closed records unchanged for {duration_words(retention.closed_after)}{also}"
