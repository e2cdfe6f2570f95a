"""Recycle: corrected records go back through the front door, as a batch like any other.

    what SQL changed is taken up → outbox commit = batch → stage → seal → measure → decide → publish → outcome

Everything is done under the asset's lock. An outbox batch that a crash left open is finished before a new one is begun:
it is found by a note beside the tables, so that looking for one costs nothing where there is none.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from lazaretto.checks import sql
from lazaretto.model.run import RunResult
from lazaretto.model.suite import Suite
from lazaretto.model.words import RecordStatus
from lazaretto.pipeline import archive, ends
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.failpoints import reach
from lazaretto.pipeline.finish import finish, roll_forward
from lazaretto.pipeline.order import Clock, Order
from lazaretto.pipeline.outcomes import attest_sending
from lazaretto.pipeline.person import os_user
from lazaretto.pipeline.places import Places
from lazaretto.pipeline.preview import verdicts
from lazaretto.pipeline.recycled import as_judged, source_fields, taken
from lazaretto.pipeline.review import attest, begin, finish_deeds, version_of
from lazaretto.pipeline.staging import identity, stage_batch
from lazaretto.pipeline.told import result_of, without_batch
from lazaretto.quarantine import outbox as ledger
from lazaretto.quarantine.edits import TakenUp, take_up
from lazaretto.quarantine.records import examine, exists
from lazaretto.quarantine.transitions import Means
from lazaretto.spark.delta_log import DeltaLogs
from lazaretto.spark.lock import table_lock
from lazaretto.spark.publisher import batch_app, is_locked


def recycle(
    bench: Bench,
    suite: Suite,
    env: str | None = None,
    *,
    limit: int | None = None,
    run_id: str | None = None,
    wait: float = 600.0,
    strict: bool = False,
    clock: Clock | None = None,
) -> list[RunResult]:
    """Send the corrected records of a suite back, under the asset's lock; one result for each batch.

    The last result says `nothing_new` if there was nothing (more) to send. Batches that a crash left open come first.
    """
    watch = clock or Clock()
    path = bench.places.asset(bench.spark, suite)
    if not exists(bench.spark, bench.places.records):
        order = Order(run_id=run_id or str(uuid.uuid4()), env=env, strict=strict)
        return [without_batch(suite, "nothing_new", order, [], watch)]
    with table_lock(bench.spark, path, wait=wait):
        archive.restore_if_behind(bench, suite.asset)
        if DeltaLogs(bench.spark).exists(path):
            roll_forward(bench, path, watch)
            ends.finish_open(bench, path, watch)
        return recycle_in_turn(bench, suite, env, limit=limit, run_id=run_id, strict=strict, clock=watch)


def recycle_in_turn(
    bench: Bench,
    suite: Suite,
    env: str | None = None,
    *,
    limit: int | None = None,
    run_id: str | None = None,
    strict: bool = False,
    clock: Clock | None = None,
) -> list[RunResult]:
    """The same, for a caller that holds the asset's lock and has rolled forward: a run, or a stream between batches."""
    watch = clock or Clock()
    order = Order(run_id=run_id or str(uuid.uuid4()), env=env, strict=strict)
    logs, places = DeltaLogs(bench.spark), bench.places
    path = places.asset(bench.spark, suite)
    if not exists(bench.spark, places.records):
        return [without_batch(suite, "nothing_new", order, [], watch)]
    examine(bench.spark, places.records, change_feed=False)
    finish_deeds(bench)
    if logs.exists(path) and is_locked(logs, path):
        return [without_batch(suite, "locked", order, [], watch)]
    bench.store.register_suite(suite)
    results = finish_sent(bench, suite, env, watch, strict=strict)
    with watch.phase("take up"):
        _take_up(bench, suite)
    with watch.phase("send"):
        sent = _send(bench, suite, env, order, limit or suite.recycle.limit)
    if sent is None:
        return results or [without_batch(suite, "nothing_new", order, [], watch)]
    results.append(_judge(bench, suite, order, sent.version, watch))
    bench.files.delete(note_of_sending(bench.places, suite, env))
    return results


def unsent(bench: Bench, suite: Suite) -> Any:
    """The records that the next recycle would send, for whoever wants to withdraw them."""
    return _waiting(bench, suite, None).select("record_id")


def finish_sent(bench: Bench, suite: Suite, env: str | None, watch: Clock, *, strict: bool = False) -> list[RunResult]:
    """Finish the batches in the outbox that a crash left open; the caller holds the asset's lock."""
    intent = note_of_sending(bench.places, suite, env)
    if not bench.files.exists(intent):
        return []
    places, results = bench.places, []
    if exists(bench.spark, places.outbox):
        with table_lock(bench.spark, places.records):
            flying = ledger.in_flight(bench.spark, places.records, places.outbox)
            mine = flying.where(
                f"suite = {sql.text(suite.suite)} AND asset = {sql.text(suite.asset)} "
                f"AND status <> '{RecordStatus.RESUBMITTED}'"  # those wait with a held batch
            )
            versions = sorted(int(r[0]) for r in mine.select("lz_version").distinct().collect())
        for version in versions:
            order = Order(run_id=str(uuid.uuid4()), env=env, strict=strict)
            results.append(_judge(bench, suite, order, version, watch))
    bench.files.delete(intent)
    return results


def rehearse(bench: Bench, suite: Suite, env: str | None = None, *, limit: int | None = None) -> dict[str, Any]:
    """What a recycle would send, and how many of it would pass. Changes nothing; edits by SQL are counted apart."""
    places = bench.places
    if not exists(bench.spark, places.records):
        return {"asset": suite.asset, "suite": suite.suite, "waiting": 0, "would_pass": 0, "would_fail": 0}
    chosen = _waiting(bench, suite, limit or suite.recycle.limit)
    found = verdicts(bench, suite, chosen).groupBy("passes").count().collect()
    counts = {bool(r["passes"]): int(r["count"]) for r in found}
    return {
        "asset": suite.asset,
        "suite": suite.suite,
        "waiting": sum(counts.values()),
        "would_pass": counts.get(True, 0),
        "would_fail": counts.get(False, 0),
    }


def _judge(bench: Bench, suite: Suite, order: Order, version: int, watch: Clock) -> RunResult:
    """A batch of the outbox through the front door, from wherever it stands."""
    path = bench.places.asset(bench.spark, suite)
    judging = as_judged(suite)
    logs = DeltaLogs(bench.spark)
    with watch.phase("source"):
        source = taken(bench, suite, version)
    batch_id = identity(judging, order, source)
    if logs.exists(path) and logs.transaction_version(path, batch_app(batch_id)) >= 0:
        # Committed, and without an open seal: then its outcome is on record too, or waits with a held batch.
        return without_batch(suite, "already_published", order, [], watch, batch_id)
    seal = stage_batch(bench, judging, replace(order, taken=source), source, path, batch_id, watch)
    return result_of(suite, finish(bench, seal, watch), order, [], watch)


def _take_up(bench: Bench, suite: Suite) -> None:
    places, begun = bench.places, []
    fields = [{"name": f.name, "type": f.form, "nullable": True, "metadata": {}} for f in source_fields(bench, suite)]
    schema = json.dumps({"type": "struct", "fields": fields})
    with table_lock(bench.spark, places.records):
        since = DeltaLogs(bench.spark).facts(places.records).version + 1

        def note(found: TakenUp) -> dict[str, Any]:
            said = _said(suite, found)
            begun.append((said, begin(bench, said, since)))
            return said

        take_up(bench.spark, places.records, places.outbox, suite.asset, suite.suite, schema, note)
        for said, intent in begun:
            attest(bench, said, version_of(bench, said["deed"], since))
            bench.files.delete(intent)


def _said(suite: Suite, found: TakenUp) -> dict[str, Any]:
    """What the history of the table and the evidence say of edits that were taken up."""
    share = {
        "count": found.count,
        "commits": {str(version): count for version, count in found.by_commit.items()},
        "put_back": found.put_back,
        "by_hand": found.by_hand,
        "payloads_written_over": found.overwritten,
    }
    return {
        "lazaretto": 1,
        "deed": uuid.uuid4().hex,
        "step": Means.SQL.value,
        "by": os_user(),
        "assurance": "asserted",
        "means": Means.SQL.value,
        "why": "edits by SQL were taken up",
        "reason_code": None,
        "at": datetime.now(UTC).isoformat(),
        "assets": {suite.asset: share},
    }


def _waiting(bench: Bench, suite: Suite, limit: int | None) -> Any:
    places, most = bench.places, suite.recycle.max_attempts
    chosen = ledger.waiting(bench.spark, places.records, places.outbox, suite.asset, suite.suite, most)
    return chosen if limit is None else chosen.orderBy("updated_at", "record_id").limit(limit)


def _send(bench: Bench, suite: Suite, env: str | None, order: Order, limit: int | None) -> ledger.Sent | None:
    places, now, by = bench.places, datetime.now(UTC), os_user()
    ledger.ensure(bench.spark, places.outbox)
    intent, send = note_of_sending(bench.places, suite, env), uuid.uuid4().hex
    bench.files.put_if_absent(intent, json.dumps({"suite": suite.suite, "asset": suite.asset, "env": env}))
    with table_lock(bench.spark, places.records), table_lock(bench.spark, places.outbox):
        sent = ledger.send(
            bench.spark,
            places.outbox,
            _waiting(bench, suite, limit),
            app=ledger.application(suite.suite, env, suite.asset),
            by=by,
            at=now,
            note={"send": send, "asset": suite.asset, "suite": suite.suite, "run_id": order.run_id},
        )
    if sent is None:
        bench.files.delete(intent)
        return None
    reach("after_send", bench.spark)
    table_id = DeltaLogs(bench.spark).facts(places.outbox).id
    attest_sending(bench, suite.asset, sent.version, by, {"outbox": table_id, "count": sent.count})
    return sent


def note_of_sending(places: Places, suite: Suite, env: str | None) -> str:
    """The note that a batch of the outbox may be open."""
    return f"{places.begun}/{ledger.application(suite.suite, env, suite.asset).rpartition(':')[2]}.recycle"
