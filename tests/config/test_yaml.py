"""YAML as the loader reads it: literals, places, limits."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazaretto.config import codes
from lazaretto.config.problems import Problems
from lazaretto.config.yaml_reader import read_file, read_text
from lazaretto.config.yaml_tree import Document


def read(text: str) -> tuple[Any, list[str]]:
    problems = Problems()
    root = read_text(text, "f.yml", problems)
    return (None if root is None else Document(root).data), [problem.code for problem in problems.found]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *((word, word) for word in ("NO", "no", "yes", "on", "off", "Y", "010", "12:30", "2026-01-01", "0x10", "0o7")),
        *((word, word) for word in ("1_", "1__0", "_1", "+", ".", "1.", "1e", "e3", "1.2.3", ".inf", ".nan", "nan")),
        *((word, None) for word in ("null", "Null", "NULL", "~")),
        *((word, True) for word in ("true", "True", "TRUE")),
        ("tRue", "tRue"),
        ("0", 0),
        ("-0", 0),
        ("+7", 7),
        ("1_000_000", 1_000_000),
        ("-12", -12),
        ("1.10", Decimal("1.10")),
        ("1e3", Decimal("1E+3")),
        ("1_000.5", Decimal("1000.5")),
        (".5", Decimal("0.5")),
        ("0.1", Decimal("0.1")),
        ("-2.5E-3", Decimal("-0.0025")),
        ("'1'", "1"),
        ('"true"', "true"),
        ("'null'", "null"),
        ("''", ""),
    ],
)
def test_literals_are_literals(written: str, value: object) -> None:
    data, problems = read(f"a: [{written}]\nb: {written}\n")
    assert problems == []
    assert data == {"a": [value], "b": value}
    assert type(data["b"]) is type(value)


def test_every_key_and_value_has_its_place() -> None:
    root = read_text("# top\nrules:\n  - id: a\n    allowed: [x, y]\n", "f.yml", Problems())
    assert root is not None
    document = Document(root)
    places = {path: (at.line, at.column) for path, at in document.positions.items()}
    assert places[("rules", 0, "allowed", 1)] == (4, 18)
    assert places[("rules", 0, "id")] == (3, 9)
    keys = {path: (at.line, at.column) for path, at in document.key_positions.items()}
    assert keys[("rules",)] == (2, 1)
    assert keys[("rules", 0, "allowed")] == (4, 5)


def test_keys_are_names_as_written() -> None:
    assert read("1: a\ntrue: b\n010: c\non: d\n") == ({"1": "a", "true": "b", "010": "c", "on": "d"}, [])


def test_all_duplicates_are_told() -> None:
    data, problems = read("a: 1\na: 2\nb: {c: 1, c: 2}\na: 3\n")
    assert problems == [codes.DUPLICATE_KEY] * 3
    assert data == {"a": 1, "b": {"c": 1}}


def test_aliases_share_what_they_name() -> None:
    data, problems = read("a: &x [1, 2]\nb: *x\nc: {d: *x}\n")
    assert problems == []
    assert data == {"a": [1, 2], "b": [1, 2], "c": {"d": [1, 2]}}


def test_billion_laughs() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    assert read("\n".join(lines))[1] == [codes.ALIASES]


def test_depth_cannot_be_hidden_behind_aliases() -> None:
    nested = "[" * 40
    lines = ["a0: &a0 x"] + [f"a{i}: &a{i} {nested}*a{i - 1} {']' * 40}" for i in range(1, 30)]
    assert read("\n".join(lines))[1] == [codes.TOO_DEEP]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", codes.EMPTY),
        (b"# only a comment\n\n", codes.EMPTY),
        (b"---\n", codes.EMPTY),
        (b"a: 1\nb: caf\xe9\n", codes.NOT_UTF8),
        ("a: 1".encode("utf-16"), codes.NOT_UTF8),
        (b"a: " + b"x" * 1024 * 1024, codes.TOO_LARGE),
        (b"a: \x00", codes.SYNTAX),
        (b"%YAML 1.1\n---\na: no\n", codes.SYNTAX),
        (b'a: "\\Uffffffff"', codes.SYNTAX),
        (b"a: 'unclosed\n", codes.SYNTAX),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, raw: bytes, code: str) -> None:
    path = tmp_path / "f.yml"
    path.write_bytes(raw)
    problems = Problems()
    assert read_file(path, "f.yml", problems) is None
    assert [problem.code for problem in problems.found] == [code]


def test_place_of_a_byte_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "f.yml"
    path.write_bytes(b"a: 1\nb: caf\xe9\n")
    problems = Problems()
    read_file(path, "f.yml", problems)
    assert str(problems.found[0]).startswith("f.yml:2:7: LZ-CFG-003 ")


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    problems = Problems()
    assert read_file(tmp_path / "none.yml", "none.yml", problems) is None
    assert read_file(tmp_path, "folder", problems) is None
    assert [problem.code for problem in problems.found] == [codes.UNREADABLE] * 2


def test_a_byte_order_mark_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "f.yml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    problems = Problems()
    root = read_file(path, "f.yml", problems)
    assert root is not None
    assert root.plain() == {"a": 1}
    assert problems.found == []


_LINES = st.lists(
    st.sampled_from(
        [
            "a: 1",
            "b: *x",
            "- &x [a, *x]",
            "  c: {d: ${e}}",
            "\t- f",
            "? g",
            ": h",
            "<<: *x",
            "!!python/name:os x",
            "---",
            "...",
            "%YAML 1.2",
            "k: |",
            "   text",
            "'q",
            '"\\x',
            "a: &a {a: *a}",
            "- - - -",
            "[[[",
            "}}}",
            "# c",
            "é: ☃",
        ]
    )
)


@given(st.one_of(st.text(), _LINES.map("\n".join)))
def test_no_text_is_a_traceback(text: str) -> None:
    read(text)


@given(st.binary(max_size=300))
def test_no_bytes_are_a_traceback(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.yml"
    path.write_bytes(raw)
    problems = Problems()
    assert read_file(path, "f.yml", problems) is not None or problems.found
