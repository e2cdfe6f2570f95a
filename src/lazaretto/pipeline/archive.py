"""The lake's own copy of what the store knows: evidence, decisions, and a manifest of every run.

Each file is put once and never changed. A store that was rewritten or replaced by an older one contradicts its copy,
and a store that was lost is brought back from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from lazaretto import __version__
from lazaretto.model.fingerprint import sha256
from lazaretto.model.results import Counts, GateDecision
from lazaretto.model.seal import Seal
from lazaretto.model.words import Publication
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.places import Places
from lazaretto.spark.files import Files
from lazaretto.spark.publisher import Published
from lazaretto.store import EvidenceRecord, Restored
from lazaretto.store.payload import from_decision
from lazaretto.store.verify_suites import RESTORED

DECISION_FILE, MANIFEST_FILE = "decision.json", "manifest.json"


def record_decision(bench: Bench, seal: Seal, decision: GateDecision, **details: Any) -> str:
    """Put a decision on record, in the store and in the lake, before it takes effect; the hash of its evidence."""
    # The whole policy, so that the decision can be asked for again when the file has changed.
    policy = bench.policy.model_dump(mode="json", exclude_none=True)
    attested: dict[str, Any] = {"seal": seal.hash, "policy": policy}
    if seal.metadata:
        attested["metadata"] = seal.metadata
    evidence = bench.store.record_decision(decision, details=attested | details)
    stored = bench.store.decision(decision.decision_id)  # as first put on record, if this is a repetition
    text = json.dumps(from_decision(stored), sort_keys=True)
    bench.files.put_if_absent(f"{_folder(bench.places, seal.run_id, decision.decision_id)}/{DECISION_FILE}", text)
    note_chain(bench, seal.target.asset)
    return evidence


def close(bench: Bench, seal: Seal, decision: GateDecision | None, published: Published, counts: Counts) -> None:
    """After the confirmation: the run's manifest, and the chain as it stands."""
    if decision is not None:
        folder = _folder(bench.places, seal.run_id, decision.decision_id)
        document = json.dumps(manifest(bench.places, seal, decision, published, counts), indent=1, sort_keys=True)
        bench.files.put_if_absent(f"{folder}/{MANIFEST_FILE}", document)
    note_chain(bench, seal.target.asset)


def note_chain(bench: Bench, asset: str) -> int:
    """Copy the evidence that the lake does not have yet; how many records that were."""
    folder = bench.places.evidence(bench.store.environment, asset)
    known = _last(bench.files, folder)
    fresh = bench.store.evidence(asset, after=known)
    for record in fresh:
        bench.files.put_if_absent(f"{folder}/{record.sequence:012d}.json", _text(record))
    return len(fresh)


def noted(files: Files, places: Places, environment: str, asset: str) -> list[EvidenceRecord]:
    """The lake's copy of a chain, as far as it can be read."""
    folder = places.evidence(environment, asset)
    texts = (files.read_text(f"{folder}/{name}") for name in files.list(folder) if name.endswith(".json"))
    return [_record(text) for text in texts if text]


def restore_if_behind(bench: Bench, asset: str) -> Restored:
    """Bring back what the store of an asset has lost, if it lost its end or all of it."""
    head = next(iter(bench.store.chain_heads(asset)), None)
    if _last(bench.files, bench.places.evidence(bench.store.environment, asset)) <= (head.sequence if head else 0):
        return Restored(0, ())
    copies = noted(bench.files, bench.places, bench.store.environment, asset)
    restored = bench.store.restore(asset, copies, dict(decisions(bench.files, bench.places)))
    bench.store.record_event("lazaretto", RESTORED, asset=asset, details={"records": restored.records})
    return restored


def assets(files: Files, places: Places, environment: str) -> Iterator[str]:
    """The assets of an environment that the lake has evidence of."""
    root = places.evidence_root
    for name in files.list(root):
        first = next(iter(files.list(f"{root}/{name}")), None)
        text = files.read_text(f"{root}/{name}/{first}") if first else None
        if text and (asset := _record(text).asset) and places.evidence(environment, asset) == f"{root}/{name}":
            yield asset


def decisions(files: Files, places: Places) -> Iterator[tuple[str, Any]]:
    """Every decision that the lake has a copy of, by its id."""
    for name in files.list(places.runs):
        text = files.read_text(f"{places.runs}/{name}/{DECISION_FILE}")
        if text is not None:
            payload = json.loads(text)
            yield payload["decision_id"], payload


def manifest(
    places: Places, seal: Seal, decision: GateDecision, published: Published, counts: Counts
) -> dict[str, Any]:
    """What a run took, by which rules it judged, what was decided, and where everything is."""
    visible = decision.publication is not Publication.NOT_PUBLISHED
    outputs: list[dict[str, Any]] = [
        {
            "table": seal.target.asset,
            "path": seal.target.path,
            "table_id": seal.target.table_id,
            "version": published.version,
            "rows": counts.accepted,
        }
    ]
    if visible and counts.quarantined + counts.dead_lettered:
        rows = counts.quarantined + counts.dead_lettered
        outputs.append({"table": f"{places.schema}.records", "path": places.records, "rows": rows})
    if not visible:
        outputs.append({"held": f"{places.held}/{seal.folder}", "rows": counts.held})
    return {
        "manifest": 1,
        "lazaretto": __version__,
        "run_id": seal.run_id,
        "batch_id": seal.batch_id,
        "environment": seal.environment,
        "user": seal.user,
        "sealed_at": seal.sealed_at.isoformat(),
        "seal": seal.hash,
        "inputs": [seal.source.model_dump(mode="json", exclude={"progress_app", "suite_app", "references"})],
        "references": seal.source.references,
        "slice": seal.slice,
        "suite": {
            "suite": seal.suite,
            "version": seal.suite_version,
            "rule_set_fingerprint": seal.rule_set_fingerprint,
            "rules": [
                {"rule_id": r.rule_id, "column": r.column, "rule_fingerprint": r.rule_fingerprint} for r in seal.rules
            ],
        },
        "policy": decision.policy,
        "decision": {
            "decision_id": decision.decision_id,
            "action": decision.action.value,
            "publication": decision.publication.value,
            "reason_code": decision.reason_code,
            "approvals": [approval.model_dump(mode="json") for approval in decision.approvals],
        },
        "counts": counts.model_dump(),
        "outputs": outputs,
        "metadata": seal.metadata,
    }


def _folder(places: Places, run_id: str, decision_id: str) -> str:
    """Of one run and one decision: a run id is a label that may come again, and a release decides once more."""
    return f"{places.runs}/{sha256(run_id)[:16]}-{decision_id[:16]}"


def _last(files: Files, folder: str) -> int:
    names = [name for name in files.list(folder) if name.endswith(".json")]
    return int(names[-1].removesuffix(".json")) if names else 0


def _text(record: EvidenceRecord) -> str:
    return json.dumps({**vars(record), "recorded_at": record.recorded_at.isoformat()}, sort_keys=True)


def _record(text: str) -> EvidenceRecord:
    record = EvidenceRecord(**json.loads(text))
    return replace(record, recorded_at=datetime.fromisoformat(str(record.recorded_at)))
