"""Tables as their logs on disk tell them. Against real tables: tests/pipeline/test_connect.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lazaretto.spark.files import Files
from lazaretto.spark.log_on_disk import LogUnreadable, has_log, state_of

METADATA: dict[str, Any] = {"id": "t", "schemaString": "{}", "partitionColumns": [], "configuration": {"a": "1"}}
PROTOCOL: dict[str, Any] = {"minReaderVersion": 3, "minWriterVersion": 7, "writerFeatures": ["variantType"]}
CREATED: list[dict[str, Any]] = [{"commitInfo": {}}, {"metaData": METADATA}, {"protocol": PROTOCOL}]


def txn(app: str, version: int) -> dict[str, Any]:
    return {"txn": {"appId": app, "version": version}}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / "_delta_log"
    folder.mkdir()
    return folder


def commit(log: Path, version: int, *actions: dict[str, Any]) -> None:
    (log / f"{version:020d}.json").write_text("\n".join(map(json.dumps, actions)) + "\n")


def checkpoint(log: Path, name: str, *actions: dict[str, Any]) -> None:
    """As Delta writes them: a column for each kind of action, maps as maps, most rows about files."""
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'lazaretto[connect]')")
    parquet = pytest.importorskip(
        "pyarrow.parquet", reason="pyarrow is not installed (pip install 'lazaretto[connect]')"
    )
    text, texts = arrow.string(), arrow.list_(arrow.string())
    schema = arrow.schema(
        {
            "add": arrow.struct({"path": text}),
            "txn": arrow.struct({"appId": text, "version": arrow.int64()}),
            "metaData": arrow.struct(
                {"id": text, "schemaString": text, "partitionColumns": texts, "configuration": arrow.map_(text, text)}
            ),
            "protocol": arrow.struct({"minReaderVersion": arrow.int32(), "writerFeatures": texts}),
        }
    )
    rows = [{"add": {"path": f"part-{number}"}} for number in range(20)]
    for action in actions:
        kind, value = next(iter(action.items()))
        if kind == "metaData":
            value = value | {"configuration": list(value["configuration"].items())}
        rows.append({kind: {k: v for k, v in value.items() if k in [f.name for f in schema.field(kind).type]}})
    full = [{name: row.get(name) for name in schema.names} for row in rows]
    parquet.write_table(arrow.Table.from_pylist(full, schema=schema), log / name, row_group_size=8)


def test_commits_are_followed_in_their_order(log: Path, tmp_path: Path) -> None:
    assert not has_log(Files(), str(tmp_path))
    commit(log, 0, *CREATED, txn("a", 1))
    commit(log, 1, {"add": {"path": "x", "stats": "{}"}}, txn("a", 2), txn("b", 7))
    commit(log, 2, {"metaData": METADATA | {"configuration": {}}})
    state = state_of(Files(), str(tmp_path))
    assert has_log(Files(), str(tmp_path))
    assert (state.version, state.transactions) == (2, {"a": 2, "b": 7})
    assert (state.metadata["configuration"], state.protocol) == ({}, PROTOCOL)


def test_a_checkpoint_stands_for_the_commits_before_it(log: Path, tmp_path: Path) -> None:
    checkpoint(log, f"{10:020d}.checkpoint.parquet", CREATED[1], CREATED[2], txn("a", 4), txn("b", 1))
    commit(log, 10, txn("a", 4))
    commit(log, 11, txn("a", 5))
    state = state_of(Files(), str(tmp_path))
    assert (state.version, state.transactions) == (11, {"a": 5, "b": 1})
    assert state.metadata == METADATA
    assert state.protocol["writerFeatures"] == ["variantType"]


def test_half_a_checkpoint_counts_for_nothing(log: Path, tmp_path: Path) -> None:
    commit(log, 0, *CREATED)
    commit(log, 1, txn("a", 1))
    (log / f"{1:020d}.checkpoint.{1:010d}.{2:010d}.parquet").write_bytes(b"the second part was never written")
    assert state_of(Files(), str(tmp_path)).transactions == {"a": 1}


def test_a_checkpoint_in_json(log: Path, tmp_path: Path) -> None:
    name = f"{3:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    (log / name).write_text("\n".join(map(json.dumps, [{"checkpointMetadata": {"version": 3}}, *CREATED, txn("a", 3)])))
    assert state_of(Files(), str(tmp_path)).version == 3
    assert state_of(Files(), str(tmp_path)).transactions == {"a": 3}


@pytest.mark.parametrize("missing", [0, 1])
def test_a_gap_is_no_guess(log: Path, tmp_path: Path, missing: int) -> None:
    for version in {0, 1, 2} - {missing}:
        commit(log, version, *(CREATED if version == 0 else []), txn("a", version))
    with pytest.raises(LogUnreadable, match=f"lacks version {missing}"):
        state_of(Files(), str(tmp_path))


def test_no_table_at_all(tmp_path: Path) -> None:
    with pytest.raises(LogUnreadable, match="is not a Delta table"):
        state_of(Files(), str(tmp_path))
