"""Many processes on one store: no lost record, no doubled one, no forked chain."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lazaretto.model.results import Counts, GateDecision
from lazaretto.store import Store, open_store

ASSET = "silver.transactions"

APPEND = """
import sys
from lazaretto.model.words import AssetState
from lazaretto.store import open_store

url, name, count = sys.argv[1:]
with open_store(url) as store:
    for number in range(int(count)):
        state = AssetState.DEGRADED
        store.record_transition("silver.transactions", state, version=number, reason=name, actor=name)
"""

DECIDE = """
import sys
from lazaretto.model.results import Counts, GateDecision
from lazaretto.store import open_store

url, file = sys.argv[1:]
decision = GateDecision.model_validate_json(open(file).read())
with open_store(url) as store:
    print(store.record_decision(decision))
    batch = decision.scope.batch_id
    print(store.record_confirmation(batch, decision.decision_id, published_version=1, counts=Counts()))
"""


def processes(code: str, arguments: list[list[str]]) -> list[str]:
    """Run them all at once; give what each printed."""
    started = [
        subprocess.Popen([sys.executable, "-c", code, *rest], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for rest in arguments
    ]
    ended = [(process.communicate(timeout=120), process.returncode) for process in started]
    assert [(code, errors) for (_, errors), code in ended] == [(0, "")] * len(ended)
    return [output for (output, _), _ in ended]


def test_processes_that_open_an_empty_store_at_once(url: str) -> None:
    count = 4
    processes(APPEND, [[url, f"p{number}", "1"] for number in range(count)])
    with open_store(url) as store:
        assert len(store.evidence(ASSET)) == count
        assert store.verify_chain(ASSET) == ()


def test_processes_on_one_chain(url: str) -> None:
    names = [f"p{number}" for number in range(2 if url.startswith("sqlite") else 10)]
    processes(APPEND, [[url, name, "25"] for name in names])
    with open_store(url) as store:
        records = store.evidence(ASSET)
        assert [record.sequence for record in records] == list(range(1, 25 * len(names) + 1))
        for name in names:
            versions = [r.payload["asset_state"]["delta_version"] for r in records if r.payload["actor"] == name]
            assert versions == list(range(25))
        assert store.verify_chain(ASSET) == ()
        assert [head.sequence for head in store.chain_heads()] == [len(records)]


def test_processes_with_the_same_decision(url: str, tmp_path: Path, make_decision: Callable[..., GateDecision]) -> None:
    file = tmp_path / "decision.json"
    plain = [result.model_copy(update={"measurements": {}, "message": ""}) for result in make_decision().results]
    file.write_text(json.dumps(make_decision(results=plain).model_dump(mode="json")))
    outputs = processes(DECIDE, [[url, str(file)]] * 4)
    assert len(set(outputs)) == 1
    with open_store(url) as store:
        assert [record.kind for record in store.evidence(ASSET)] == ["decision", "confirmation"]
        assert store.verify_chain(ASSET) == ()


def test_threads_share_a_store(store: Store, make_decision: Callable[..., GateDecision]) -> None:
    def batch(number: int) -> None:
        store.record_decision(make_decision(f"d{number}"))
        store.record_confirmation(f"batch-d{number}", f"d{number}", published_version=number, counts=Counts())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(batch, range(40)))
    assert len(store.evidence(ASSET)) == 80
    assert store.unconfirmed() == ()
    assert store.verify_chain(ASSET) == ()


def test_a_chain_is_verified_while_it_grows(store: Store, make_decision: Callable[..., GateDecision]) -> None:
    with ThreadPoolExecutor(1) as pool:
        growing = pool.map(lambda number: store.record_decision(make_decision(f"d{number}")), range(40))
        for _ in range(20):
            assert store.verify_chain(ASSET) == ()
        assert len(list(growing)) == 40
