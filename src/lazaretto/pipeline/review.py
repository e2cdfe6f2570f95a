"""What people and programs do with quarantined records: one commit, then its evidence, whatever happens in between.

A note of the intent is put beside the tables first, and taken away last. Whoever comes next finds the note of a deed
that was cut short and writes the evidence that is missing, or sees that nothing had happened yet.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lazaretto.pipeline import archive
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.failpoints import reach
from lazaretto.quarantine.records import QuarantineTableDropped, examine, exists
from lazaretto.quarantine.transitions import Checked, Deed, RecordChanged, RecordUnknown, Share, carry_out, check
from lazaretto.spark.commits import commits
from lazaretto.spark.delta_log import DeltaLogs
from lazaretto.spark.lock import AssetBusy, table_lock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Done:
    """What was done."""

    deed: Deed
    version: int
    """The commit in `quarantine.records`."""
    checked: Checked

    @property
    def count(self) -> int:
        """With how many records."""
        return self.checked.count

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "deed": self.deed.id,
            "step": self.deed.step.value,
            "by": self.deed.by,
            "records": self.count,
            "assets": {asset: share.count for asset, share in self.checked.shares.items()},
            "version": self.version,
        }


def named(bench: Bench, ids: Iterable[str]) -> DataFrame:
    """Records by their ids, for `act`. A beginning of an id will do where only one record has it."""
    wanted = resolved(bench, ids).values()
    return bench.spark.createDataFrame([(i,) for i in wanted], "record_id string")


def resolved(bench: Bench, ids: Iterable[str]) -> dict[str, str]:
    """The whole of each id."""
    given = list(dict.fromkeys(ids))
    short = [i for i in given if len(i) < _FULL]
    return {i: i for i in given} | (dict(zip(short, _completed(bench, short), strict=True)) if short else {})


_FULL = 64


def _completed(bench: Bench, beginnings: Sequence[str]) -> list[str]:
    from pyspark.sql import functions as F

    see_table(bench)
    ids = bench.spark.read.format("delta").load(bench.places.records).select("record_id")
    full = []
    for begin in beginnings:
        found = [row[0] for row in ids.where(F.col("record_id").startswith(begin)).limit(2).collect()]
        if len(found) != 1:
            many = "more than one record has an id that begins" if found else "no record has an id that begins"
            raise RecordUnknown(f"{many} with {begin!r}")
        full += found
    return full


def see_table(bench: Bench) -> None:
    """See that there is a quarantine, and that it is what it should be."""
    if not exists(bench.spark, bench.places.records):
        try:
            examine(bench.spark, bench.places.records, change_feed=False)
        except QuarantineTableDropped as error:
            raise RecordUnknown("nothing was ever quarantined here, so there is no record to work on") from error
    examine(bench.spark, bench.places.records, change_feed=False)


def act(bench: Bench, chosen: DataFrame, deed: Deed, *, expect: int | None = None) -> Done:
    """Take one step with all the records chosen, or with none: ONE commit, and evidence for each asset concerned.

    `chosen` has `record_id`; `seen` (the `_metadata.row_commit_version` it was read under) refuses what has changed
    since; `correction` (VARIANT) is laid over the payload; `by` tells who changed that very record. Raises IllegalStep,
    RecordChanged, RecordClaimed or RecordUnknown before anything is changed.
    """
    see_table(bench)
    spark, places = bench.spark, bench.places
    finish_deeds(bench)
    with table_lock(spark, places.records):
        checked = check(spark, places.records, places.outbox, chosen, deed)
        before = DeltaLogs(spark).facts(places.records).version
        if expect is not None and checked.count != expect:
            raise RecordChanged(f"{checked.count:,} records fit now, not {expect:,}: nothing was changed; look again")
        if not checked.count:
            return Done(deed, before, checked)
        note = note_of(deed, checked.shares)
        intent = begin(bench, note, before + 1)
        reach("before_records_commit", spark)
        carry_out(spark, places.records, chosen, deed, checked, note)
        reach("after_records_commit", spark)
        version = version_of(bench, deed.id, before + 1)
        attest(bench, note, version)
        bench.files.delete(intent)
    return Done(deed, version, checked)


def note_of(deed: Deed, shares: Mapping[str, Share]) -> dict[str, Any]:
    """What the history of `quarantine.records` says of a deed; its evidence is drawn from it."""
    return {
        "lazaretto": 1,
        "deed": deed.id,
        "step": deed.step.value,
        "by": deed.by,
        "assurance": deed.assurance,
        "means": deed.means.value,
        "why": deed.why,
        "reason_code": deed.reason_code,
        "at": deed.at.isoformat(),
        "assets": {
            asset: {"count": share.count, "came_from": dict(share.came_from), "ids": list(share.ids)}
            for asset, share in shares.items()
        },
    }


def begin(bench: Bench, note: Mapping[str, Any], since: int) -> str:
    """Put on disk what is about to be done, so that it is attested whatever happens; where that is noted."""
    intent = f"{bench.places.begun}/{note['deed']}.json"
    bench.files.put_if_absent(intent, json.dumps({"since": since, "note": note}))
    return intent


def attest(bench: Bench, note: Mapping[str, Any], version: int) -> None:
    """Write the evidence of a deed, asset by asset; again changes nothing."""
    common = {k: note[k] for k in ("deed", "means", "reason_code", "at")}
    for asset, share in note["assets"].items():
        archive.restore_if_behind(bench, asset)
        bench.store.record_action(
            asset,
            f"records:{note['step']}",
            key=f"{note['deed']}:{asset}",
            reason=note["why"],
            actor=note["by"],
            assurance=note["assurance"],
            subject=note["deed"],
            details=common | share | {"table_version": version},
        )
        archive.note_chain(bench, asset)


def finish_deeds(bench: Bench) -> list[str]:
    """Attest what was done and not attested yet; forget what was never done. In sentences."""
    names = [name for name in bench.files.list(bench.places.begun) if name.endswith(".json")]
    if not names or not exists(bench.spark, bench.places.records):
        return []
    told: list[str] = []
    try:
        with table_lock(bench.spark, bench.places.records, wait=0):
            for name in names:
                told += _finish(bench, f"{bench.places.begun}/{name}")
    except AssetBusy:  # whoever holds the lock is about to write it
        return []
    return told


def _finish(bench: Bench, intent: str) -> list[str]:
    text = bench.files.read_text(intent)
    if text is None or "note" not in (known := json.loads(text)):
        return []
    note = known["note"]
    at = datetime.fromisoformat(note["at"]).strftime("%Y-%m-%d %H:%M")
    version = version_of(bench, note["deed"], int(known["since"]))
    if version < 0:
        told = (
            f"`{note['step']}` by {note['by']} ({at}) had been asked for and was never done: repeat it if it is wanted"
        )
        for asset in note["assets"]:
            bench.store.record_event(note["by"], f"records:{note['step']} not done", asset=asset, subject=note["deed"])
    else:
        attest(bench, note, version)
        told = f"wrote the evidence of `{note['step']}` by {note['by']} ({at}), which had been cut short"
    bench.files.delete(intent)
    return [told]


def version_of(bench: Bench, deed: str, since: int) -> int:
    """The version in which a deed was done, or -1."""
    found = (c.version for c in commits(bench.files, bench.places.records, since) if c.note.get("deed") == deed)
    return next(found, -1)
