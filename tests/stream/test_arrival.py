"""The gate before a file is read. No Spark here."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

from lazaretto.model.landing import Landing
from lazaretto.pipeline.stream.arrival import Arrived, Gate

FRAMED = Landing(header=r"H\|.*", trailer=r"T\|(?P<rows>\d+)", done="{name}.done", settle=timedelta(0))
LINES = b"H|orders\n1,a\n2,b\nT|2\n"


def drop(folder: Path, name: str, content: bytes, manifest: str = "") -> Path:
    path = folder / name
    path.write_bytes(content)
    path.with_name(f"{name}.done").write_text(manifest)
    return path


def look(path: Path, landing: Landing = FRAMED, taken: tuple[str, ...] = ()) -> Arrived:
    return Gate(path.parent, landing, ("id", "name")).look(path, taken)


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


GOOD_MANIFEST = json.dumps({"rows": 2, "bytes": len(LINES), "sha256": sha(LINES)})


@pytest.mark.parametrize(
    ("name", "content", "manifest"),
    [
        ("a.csv", LINES, GOOD_MANIFEST),
        ("a.csv", LINES.replace(b"\n", b"\r\n"), ""),
        ("a.csv", LINES.removesuffix(b"\n"), ""),
        ("a.csv.gz", gzip.compress(LINES, mtime=0), '{"rows": 2}'),
        ("a.csv.gz", gzip.compress(LINES[:12], mtime=0) + gzip.compress(LINES[12:], mtime=0), ""),
    ],
)
def test_a_file_that_is_what_it_says(tmp_path: Path, name: str, content: bytes, manifest: str) -> None:
    arrived = look(drop(tmp_path, name, content, manifest))
    assert (arrived.fault, arrived.rows, arrived.not_data) == (None, 2, ("H|orders", "T|2"))


@pytest.mark.parametrize(
    ("name", "content", "manifest", "fault", "readable"),
    [
        ("a.csv", b"", "", "zero bytes", False),
        ("a.csv", LINES.removesuffix(b"T|2\n"), "", "trailer record is missing", True),
        ("a.csv", LINES.removeprefix(b"H|orders\n"), "", "header record is missing", True),
        ("a.csv", LINES.replace(b"T|2", b"T|3"), "", "declares 3 rows, and 2 were read", True),
        ("a.csv", LINES, '{"rows": 5}', "manifest declares 5 rows, and 2 were read", True),
        ("a.csv", LINES, '{"bytes": 5}', "manifest declares 5 bytes", True),
        ("a.csv", LINES, '{"sha256": "00"}', "checksum", True),
        ("a.csv", LINES, "{", "manifest cannot be read", True),
        ("a.csv", LINES.replace(b"a", b"\xe4"), "", "not UTF-8", False),
        ("a.csv.gz", gzip.compress(LINES, mtime=0)[:-9], "", "truncated or damaged", False),
        ("a.csv.gz", b"no gzip at all", "", "truncated or damaged", False),
    ],
)
def test_a_file_that_is_not(
    tmp_path: Path, name: str, content: bytes, manifest: str, fault: str, readable: bool
) -> None:
    arrived = look(drop(tmp_path, name, content, manifest))
    assert fault in str(arrived.fault)
    assert (arrived.readable, arrived.not_data) == (readable, ())


def test_the_same_content_twice_is_known_whatever_it_is_called_or_packed(tmp_path: Path) -> None:
    first = look(drop(tmp_path, "a.csv", LINES))
    again = look(drop(tmp_path, "b.csv.gz", gzip.compress(LINES, mtime=0)), taken=(first.mark,))
    assert again.fault == "the same content came before, as a.csv"
    assert look(tmp_path / "a.csv", taken=(first.mark,)).fault is None  # that very file: taken, not refused


def test_a_file_has_arrived_when_its_marker_is_there_or_nobody_writes_to_it_any_more(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(LINES)
    (tmp_path / ".hidden").write_bytes(LINES)
    marked = Gate(tmp_path, FRAMED, ("id", "name"))
    assert marked.complete() == []
    path.with_name("a.csv.done").write_text("")
    assert marked.complete() == [path]
    settled = Gate(tmp_path, Landing(files="*.csv", settle=timedelta(seconds=60)), ("id", "name"))
    assert settled.complete() == []
    old = time.time() - 120
    os.utime(path, (old, old))
    assert settled.complete() == []  # it changed since the last look
    assert settled.complete() == [path]


def test_names_of_columns(tmp_path: Path) -> None:
    landing = Landing(names=True, settle=timedelta(0))
    assert look(drop(tmp_path, "a.csv", b"ID,Name\n1,a\n"), landing).fault is None
    assert "not those of the schema" in str(look(drop(tmp_path, "b.csv", b"id,nome\n1,a\n"), landing).fault)
