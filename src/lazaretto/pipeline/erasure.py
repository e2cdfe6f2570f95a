# ruff: noqa: S608 - SQL is what is made here; names and literals go through checks.sql
"""Erasure of one person's records: chosen once, overwritten in every table of ours, purged, and put on record.

What they chose by and what was in the rows is nowhere afterwards, the condition included: it stays as a keyed hash.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import uuid
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lazaretto.checks import sql
from lazaretto.config.project import Project
from lazaretto.config.suites import load_suites
from lazaretto.model.errors import LazarettoError
from lazaretto.model.words import RecordStatus
from lazaretto.pipeline import archive as evidence
from lazaretto.pipeline import chores, holds, upkeep
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.chores import Chore
from lazaretto.pipeline.failpoints import reach
from lazaretto.pipeline.looking import tables_of
from lazaretto.pipeline.person import Person
from lazaretto.pipeline.sensitive import lifted, veil_of
from lazaretto.quarantine.erase import ERASED, close_ledger, overwrite, purge
from lazaretto.quarantine.looking import schemas_of
from lazaretto.quarantine.records import exists
from lazaretto.quarantine.wanted import Wanted
from lazaretto.quarantine.whereabouts import everywhere
from lazaretto.spark.lock import table_lock

MOST = 100_000
"""Records that one erasure takes."""


class NotErased(LazarettoError):
    """Nothing was erased; the message says why."""


@dataclass(frozen=True)
class Chosen:
    """What an erasure would take."""

    ids: tuple[str, ...]
    by_asset: dict[str, dict[str, int]]
    """Asset → batch → number."""


def choose(bench: Bench, project: Project, wanted: Wanted, who: Person) -> Chosen:
    """The records that a filter names, in the inbox and the archive. NotErased where they may not be touched now."""
    if wanted.empty:
        raise NotErased("an erasure needs a filter: say whose records")
    if wanted.looks_inside and not veil_of(load_suites(None, project.env, project).suites).allows(wanted):
        lifted(project, bench.store, who, "quarantine erase", filter=wanted.without_values())
    source = everywhere(bench.spark, tables_of(bench.places, bench.files))
    columns = "record_id, asset, coalesce(batch_id, '') AS batch_id, status, payload_policy"
    selected = wanted.select(source, columns, schemas_of(bench.spark, source, wanted))
    kept = holds.held_ids(bench, source)
    held = f"record_id IN ({kept})" if kept else "false"
    rows = bench.spark.sql(
        f"SELECT *, {held} AS held FROM ({selected}) WHERE NOT payload_policy <=> {sql.text(ERASED)} LIMIT {MOST + 1}"
    ).collect()
    if len(rows) > MOST:
        raise NotErased(f"more than {MOST:,} records match: erase them in parts")
    if on_hold := sum(row["held"] for row in rows):
        raise NotErased(
            f"{on_hold} of {len(rows)} records are on legal hold: `lazaretto quarantine hold list` says by whom"
        )
    if flying := sum(row["status"] == RecordStatus.RESUBMITTED for row in rows):
        raise NotErased(
            f"{flying} of {len(rows)} records are on their way through the gate: repeat it after the recycle"
        )
    by_asset: dict[str, dict[str, int]] = {}
    for row in rows:
        batches = by_asset.setdefault(row["asset"], {})
        batches[row["batch_id"]] = batches.get(row["batch_id"], 0) + 1
    return Chosen(tuple(sorted(row["record_id"] for row in rows)), by_asset)


def erase(
    bench: Bench, project: Project, env: str | None, wanted: Wanted, chosen: Chosen, who: Person, reason: str
) -> str:
    """Erase what was chosen, for good; the erasure's id."""
    if not reason.strip():
        raise NotErased("a reason is needed: who asked for the erasure, in which matter")
    if not chosen.ids:
        raise NotErased("no record matches, so nothing is to be erased")
    upkeep.see_that_nothing_is_open(bench, project, env)
    key, erasure = secrets.token_bytes(32), uuid.uuid4().hex
    condition = hmac.new(key, json.dumps(wanted.to_dict(), sort_keys=True).encode(), hashlib.sha256).hexdigest()
    bench.files.put_if_absent(_key_file(bench, erasure), key.hex())
    chore = Chore(
        chore_id=erasure,
        kind="erase",
        begun_at=datetime.now(UTC),
        actor=who.name,
        assurance=who.assurance,
        reason=reason.strip(),
        records=chosen.ids,
        details={"filter_hmac": condition, "by_asset": chosen.by_asset},
    )
    chores.begin(bench.files, bench.places, chore)
    carry_on(bench, chore)
    return erasure


def carry_on(bench: Bench, chore: Chore, *, wait: float = 600.0) -> None:
    """Erase, from wherever it stands."""
    spark, places = bench.spark, bench.places
    tables = [path for path in (places.records, places.archive, places.outbox) if exists(spark, path)]
    with ExitStack() as locks:
        for place in (places.records, places.archive, places.outbox):
            locks.enter_context(table_lock(spark, place, wait=wait))
        if not chores.is_open(bench.files, places, chore):
            return
        key = bytes.fromhex(bench.files.read_text(_key_file(bench, chore.chore_id)) or "")
        for table in tables:
            overwrite(
                spark,
                table,
                chore.records,
                erasure=chore.chore_id,
                key=key,
                at=chore.begun_at,
                by=chore.actor,
                why=chore.reason,
                assurance=chore.assurance,
            )
        reach("after_overwritten", spark)
        if places.outbox in tables:
            close_ledger(spark, places.outbox)
        for table in tables:
            purge(spark, table)
        for asset, batches in chore.details["by_asset"].items():
            evidence.restore_if_behind(bench, asset)
            bench.store.record_action(
                asset,
                "records:erase",
                key=f"{chore.chore_id}:{asset}",
                reason=chore.reason,
                actor=chore.actor,
                assurance=chore.assurance,
                subject=chore.chore_id,
                details={
                    "deed": chore.chore_id,
                    "at": chore.begun_at.isoformat(),
                    "count": sum(batches.values()),
                    "batches": batches,
                    "filter_hmac": chore.details["filter_hmac"],
                    "ids": list(chore.records) if len(chore.records) <= 1000 else [],
                },
            )
            evidence.note_chain(bench, asset)
        chores.close(bench.files, places, chore)


def destroy_key(bench: Bench, erasure: str, who: Person) -> None:
    """Make the keyed hashes of an erasure unprovable for everyone."""
    if any(chore.chore_id == erasure for chore in chores.open_chores(bench.files, bench.places)):
        raise NotErased(f"erasure {erasure} is not finished yet")
    if bench.files.read_text(_key_file(bench, erasure)) is None:
        raise NotErased(f"there is no key of an erasure {erasure}: it was destroyed before, or never was")
    details: dict[str, Any] = {"erasure": erasure}
    bench.store.record_event(
        who.name, "erasure key destroyed", assurance=who.assurance, subject=erasure, details=details
    )
    bench.files.delete(_key_file(bench, erasure))


def _key_file(bench: Bench, erasure: str) -> str:
    return f"{bench.places.erasure_keys}/{erasure}"
