"""`verify`: prove from the tables and logs themselves that the evidence is whole and that no row is missing.

It reads and changes nothing. One Spark job counts the quarantine; everything else is the logs' JSON, the held folders
and the store. For batches whose commits the log no longer holds, the chain's word stands, and the proof says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from lazaretto.model.resolution import RESOLUTION_FILE, Resolution
from lazaretto.model.results import Counts
from lazaretto.model.seal import RECYCLE, Seal
from lazaretto.model.words import Publication
from lazaretto.pipeline import archive, chores, trust
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.proof import Kind, Proof
from lazaretto.pipeline.strays import strays
from lazaretto.pipeline.whereabouts import Whereabouts, whereabouts
from lazaretto.quarantine import held
from lazaretto.spark.commits import Commit, commits
from lazaretto.store import ChainHead, EvidenceKind, EvidenceRecord


@dataclass(frozen=True)
class _Sources:
    """What a proof is made from."""

    log: Sequence[Commit]
    chain: Sequence[EvidenceRecord]
    records: Whereabouts
    """Quarantined rows."""
    waiting: Mapping[str, Seal]
    ended: Mapping[str, tuple[Seal, Resolution]]


def verify(bench: Bench, assets: Mapping[str, str]) -> list[Proof]:
    """Prove assets (name → folder), each by itself."""
    records = whereabouts(bench)
    waiting = {seal.batch_id: seal for seal in held.held(bench.files, bench.places.held)}
    ended = {seal.batch_id: (seal, how) for seal, how in held.closed(bench.files, bench.places.held)}
    proofs = []
    for asset, path in assets.items():
        sources = _Sources(commits(bench.files, path), bench.store.evidence(asset), records, waiting, ended)
        proof = Proof(asset, records=len(sources.chain))
        _evidence(bench, asset, sources, proof)
        _open(bench, path, proof)
        _batches(bench, sources, proof)
        _strangers(bench, path, sources, proof)
        _records(asset, sources.records, proof)
        _erased(asset, sources, proof)
        proofs.append(proof)
    return proofs


def _evidence(bench: Bench, asset: str, sources: _Sources, proof: Proof) -> None:
    """The chain by itself, and against the lake's copy of it."""
    copies = archive.noted(bench.files, bench.places, bench.store.environment, asset)
    last = max((record.sequence for record in sources.chain), default=0)
    known = [ChainHead(asset, copy.sequence, copy.hash) for copy in copies if copy.sequence <= last]
    beyond = [ChainHead(asset, copy.sequence, copy.hash) for copy in copies if copy.sequence > last]
    for finding in bench.store.verify_chain(asset, [*known, *beyond[-1:]]):
        proof.find(Kind.EVIDENCE, str(finding))
    if beyond:
        proof.find(
            Kind.EVIDENCE,
            f"the store is older than the lake: {len(beyond)} records that were written are not in it "
            "(lazaretto rebuild-store brings them back)",
        )
    if sources.chain and len(copies) < last:
        proof.find(Kind.OPEN, f"{last - len(copies)} evidence records are not copied to the lake: lazaretto settle")


def _open(bench: Bench, path: str, proof: Proof) -> None:
    for seal in held.seals_under(bench.files, path):
        problem = f"batch {seal.batch_id[:12]} is sealed and not finished: lazaretto settle"
        proof.find(Kind.OPEN, problem, seal.batch_id)
    for name in bench.files.list(path):
        if name.startswith("lz-") and bench.files.exists(f"{path}/{name}/{RESOLUTION_FILE}"):
            proof.find(Kind.OPEN, f"the end of held batch {name} was begun and not finished: lazaretto settle")
    for name in bench.files.list(bench.places.begun):
        what = "a batch of the outbox" if name.endswith(".recycle") else "an action on records"
        proof.find(Kind.OPEN, f"{what} was begun and is not finished: lazaretto settle")
    for chore in chores.open_chores(bench.files, bench.places):
        proof.find(Kind.OPEN, f"`{chore.kind}` of records was begun and is not finished: lazaretto settle")


def _batches(bench: Bench, sources: _Sources, proof: Proof) -> None:
    """Every batch: its decision, its commit, and where its rows are."""
    decided = {r.record_key: r for r in sources.chain if r.kind == EvidenceKind.DECISION}
    confirmed = {r.record_key: r for r in sources.chain if r.kind == EvidenceKind.CONFIRMATION}
    told: set[str] = set()
    totals = Counts()
    ends = {c.note["batch_id"]: c for c in sources.log if "resolution" in c.note}
    open_now = {problem.batch_id for problem in proof.findings if problem.kind is Kind.OPEN}
    for commit in sources.log:
        note = commit.note
        if "decision_id" in note:
            _decision_of(commit, decided, confirmed, proof, settled=note["batch_id"] not in open_now)
            told.add(note["decision_id"])
        if "counts" not in note or "resolution" in note:
            continue
        counts = Counts.model_validate(note["counts"])
        if note["batch_id"] not in open_now:
            _rows_of(bench, commit, counts, sources, ends.get(note["batch_id"]), proof)
        if _recycled(note):
            continue  # no new input
        totals = _plus(totals, counts)
        proof.batches += 1
    first = sources.log[0].version if sources.log else None
    beyond = 0
    for key, record in confirmed.items():
        if key in told:
            continue
        version = record.payload.get("commit_version")
        if first is not None and isinstance(version, int) and version >= first:
            problem = f"version {version} was confirmed, and the table's log has no such commit of ours"
            proof.find(Kind.DECISION, problem, record.batch_id, version)
            continue
        beyond += 1
        counts = Counts.model_validate(record.payload["counts"])
        ended = record.payload.get("details", {}).get("resolution")
        if (record.batch_id or "") in sources.records.outcomes:  # recycled: no new input
            continue
        _in_the_quarantine(counts, record.batch_id or "", sources, proof)
        if ended is None:
            totals = _plus(totals, counts)
            proof.batches += 1
    if beyond:
        proof.notes.append(f"{beyond} commits are beyond the log's retention: attested by the chain alone")
    proof.totals = totals


def _decision_of(
    commit: Commit,
    decided: Mapping[str, EvidenceRecord],
    confirmed: Mapping[str, EvidenceRecord],
    proof: Proof,
    *,
    settled: bool,
) -> None:
    """A commit of ours against the evidence of its decision."""
    note, batch = commit.note, commit.note["batch_id"]
    record = decided.get(note["decision_id"])
    if record is None:
        problem = f"version {commit.version} names the decision {note['decision_id'][:12]}, which is not on record"
        proof.find(Kind.DECISION, problem, batch, commit.version)
        return
    if record.hash != note.get("evidence") or record.payload.get("details", {}).get("seal") != note.get("seal"):
        problem = f"version {commit.version} was published on other evidence than what is on record for its decision"
        proof.find(Kind.DECISION, problem, batch, commit.version)
    confirmation = confirmed.get(note["decision_id"])
    if confirmation is None:
        if settled:
            proof.find(Kind.OPEN, f"version {commit.version} is not confirmed: lazaretto settle", batch, commit.version)
    elif (confirmation.payload.get("commit_version"), confirmation.payload.get("counts")) != (
        commit.version,
        note["counts"],
    ):
        problem = f"version {commit.version} is not what its confirmation says (version or counts differ)"
        proof.find(Kind.DECISION, problem, batch, commit.version)


def _rows_of(bench: Bench, commit: Commit, counts: Counts, sources: _Sources, end: Commit | None, proof: Proof) -> None:
    """input = accepted + quarantined + dead_lettered + held, from where the rows are."""
    batch, version = commit.note["batch_id"], commit.version
    if not counts.balanced:
        problem = f"batch {batch[:12]}: {counts.input} rows came in, {_sum(counts)} are accounted for"
        proof.find(Kind.CONSERVATION, problem, batch, version)
    _added(commit, counts.accepted, batch, proof)
    if not counts.held:
        _set_aside(commit.note, counts, batch, sources, proof)
    elif end is not None:
        _ended(end, counts, batch, sources, proof)
    elif batch in sources.waiting:
        _waiting(bench, sources.waiting[batch], commit, proof)
    else:
        problem = f"batch {batch[:12]}: {counts.held} held rows are gone: its folder is not there and nobody ended it"
        proof.find(Kind.CONSERVATION, problem, batch, version)


def _added(commit: Commit, accepted: int, batch: str, proof: Proof) -> None:
    added = commit.rows_added
    if added is None:
        proof.notes.append(f"version {commit.version}: files without statistics, the accepted rows are not counted")
    elif added != accepted:
        problem = (
            f"batch {batch[:12]}: {accepted} rows were accepted, the files that version {commit.version} added "
            f"hold {added}"
        )
        proof.find(Kind.CONSERVATION, problem, batch, commit.version)


def _recycled(note: Mapping[str, Any]) -> bool:
    return bool(note.get("source", {}).get("kind") == RECYCLE)


def _set_aside(note: Mapping[str, Any], counts: Counts, batch: str, sources: _Sources, proof: Proof) -> None:
    """What was not published of a batch: new records, or for a recycled one the outcomes of those that were sent."""
    if not _recycled(note):
        _in_the_quarantine(counts, batch, sources, proof)
        return
    expected = (counts.accepted, counts.quarantined + counts.dead_lettered)
    found = sources.records.outcomes.get(batch, (0, 0))
    if expected != found:
        problem = (
            f"recycled batch {batch[:12]}: {expected[0]} rows were published, {expected[1]} failed again; the records "
            f"say {found[0]} and {found[1]}"
        )
        proof.find(Kind.CONSERVATION, problem, batch)


def _records(asset: str, records: Whereabouts, proof: Proof) -> None:
    """quarantined = open + recovered + rejected + archived: counted, and none only says so."""
    proof.standing = dict(records.standing.get(asset, {}))
    if count := records.unpublished.get(asset, 0):
        problem = f"{count} records read RECOVERED and no batch published them: somebody wrote that into the table"
        proof.find(Kind.CONSERVATION, problem)


def _erased(asset: str, sources: _Sources, proof: Proof) -> None:
    """Records without their row, as many as were erased on record."""
    said = [r.payload for r in sources.chain if r.kind == EvidenceKind.RECORDS]
    on_record = sum(p["details"]["count"] for p in said if p.get("action") == "records:erase")
    if (found := sources.records.standing.get(asset, {}).get("erased", 0)) != on_record:
        problem = f"{found} records read erased, {on_record} were erased on record"
        proof.find(Kind.CONSERVATION, problem)


def _in_the_quarantine(counts: Counts, batch: str, sources: _Sources, proof: Proof) -> None:
    expected, found = counts.quarantined + counts.dead_lettered, sources.records.by_batch.get(batch, 0)
    if expected != found:
        what = f"{expected - found} were deleted" if found < expected else f"{found - expected} were added"
        problem = f"batch {batch[:12]}: {expected} rows were quarantined, quarantine.records has {found}: {what}"
        proof.find(Kind.CONSERVATION, problem, batch)


def _ended(end: Commit, counts: Counts, batch: str, sources: _Sources, proof: Proof) -> None:
    """held = waiting + released + discarded."""
    if end.note.get("held") != counts.held:
        problem = f"batch {batch[:12]}: {counts.held} rows were held, {end.note.get('held')} {end.note['resolution']}"
        proof.find(Kind.CONSERVATION, problem, batch, end.version)
    if end.note.get("publication") == Publication.NOT_PUBLISHED:
        return
    released = Counts.model_validate(end.note["counts"])
    if not released.balanced or released.input != counts.held:
        problem = f"batch {batch[:12]}: {counts.held} rows were held, {_sum(released)} came out"
        proof.find(Kind.CONSERVATION, problem, batch, end.version)
    _added(end, released.accepted, batch, proof)
    _set_aside(end.note, released, batch, sources, proof)


def _waiting(bench: Bench, seal: Seal, commit: Commit, proof: Proof) -> None:
    batch = seal.batch_id
    if seal.hash != commit.note.get("seal"):
        proof.find(Kind.CONSERVATION, f"the seal of held batch {batch[:12]} was altered", batch, commit.version)
    for file in seal.files:
        place = f"{bench.places.held}/{seal.folder}/{unquote(file['path'])}"
        if bench.files.size(place) != int(file["size"]):
            problem = f"a file of held batch {batch[:12]} is gone or damaged: {place}"
            proof.find(Kind.CONSERVATION, problem, batch, commit.version)


def _strangers(bench: Bench, path: str, sources: _Sources, proof: Proof) -> None:
    """What others did to the table."""
    for commit in trust.foreign(sources.log):
        files = f"{len(commit.added)} files added, {len(commit.removed)} removed"
        problem = f"version {commit.version} is not ours and changed rows: {commit.operation} ({files})"
        proof.find(Kind.FOREIGN, problem, None, commit.version)
    for problem in strays(path, sources.log):
        proof.find(Kind.FOREIGN, problem)


def _plus(one: Counts, other: Counts) -> Counts:
    mine: dict[str, Any] = one.model_dump()
    return Counts(**{name: mine[name] + value for name, value in other.model_dump().items()})


def _sum(counts: Counts) -> int:
    return counts.accepted + counts.quarantined + counts.dead_lettered + counts.held
