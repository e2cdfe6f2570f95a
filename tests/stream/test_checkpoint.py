"""Spark's checkpoint: what it says, and how a torn one is told. No Spark here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazaretto.model.suite import Suite, make_rule
from lazaretto.pipeline.sources import SourceError
from lazaretto.pipeline.stream.checkpoint import Checkpoint, Span, Torn
from lazaretto.pipeline.stream.delta import BEGIN, DeltaFeed, number, version_and_place
from lazaretto.pipeline.stream.doctor import _retention_of_topics
from lazaretto.pipeline.stream.feed import Marks, refuse_options
from lazaretto.spark.files import Files

places = st.integers(min_value=BEGIN, max_value=2**22)
offsets = st.tuples(st.integers(min_value=0, max_value=2**38), places, st.booleans())


@given(offsets, offsets)
def test_offsets_become_numbers_that_grow_as_the_source_is_taken(a: tuple[int, int, bool], b: tuple) -> None:  # type: ignore[type-arg]
    assert version_and_place(number(*a)) == a
    if a[:2] < b[:2]:
        assert number(*a) < number(*b)


def test_a_version_of_too_many_files_is_refused() -> None:
    with pytest.raises(SourceError, match="more files than a stream can count"):
        number(1, 2**23, False)


def suite(**options: str) -> Suite:
    source = {"format": "delta", "table": "bronze.orders", "options": options}
    rule = make_rule("not_null", id="given", column="id")
    return Suite.model_validate(
        {"suite": "s", "version": "1", "asset": "a.b", "owner": "o", "source": source, "rules": (rule,)}
    )


def offset(version: int, index: int = -1, initial: bool = False, table: str = "t") -> str:
    return json.dumps(
        {
            "sourceVersion": 1,
            "reservoirId": table,
            "reservoirVersion": version,
            "index": index,
            "isStartingVersion": initial,
        },
        separators=(",", ":"),
    )


def feed() -> DeltaFeed:
    return DeltaFeed(None, suite(), None, "bronze.orders", "/x", "t")  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [offset(5, 3, True), offset(0, 0, True), offset(6), offset(6, 2)])
def test_what_the_log_keeps_gives_the_same_offset_back(text: str) -> None:
    assert feed().offset(feed().marks(text)) == text
    assert feed().knows(text)
    assert not feed().knows(offset(1, table="another"))


def test_a_run_that_went_further_counts() -> None:
    stream, run = feed()._apps
    assert feed().offset({stream: number(3, 1, False), run: 7}) == offset(8)
    assert feed().offset({stream: number(9, 1, False), run: 7}) == offset(9, 1)


def test_a_checkpoint_is_written_read_and_known_when_torn(tmp_path: Path) -> None:
    place = tmp_path / "cp"
    checkpoint = Checkpoint(Files(), str(place))
    assert checkpoint.look() is None
    checkpoint.write(offset(3))
    assert checkpoint.look() == (Span(None, offset(3)), True)
    query = checkpoint.query_id
    (place / "offsets" / "1").write_text('v1\n{"conf":{}}\n' + offset(4))
    assert checkpoint.look() == (Span(offset(3), offset(4)), False)
    assert checkpoint.query_id == query
    for name, text in (
        ("offsets/1", "v1\n{}"),
        ("offsets/1", ""),
        ("offsets/1", 'v1\n{}\n{"reservoirId":'),
        ("offsets/0", ""),
        ("commits/0", ""),
        ("metadata", "{"),
    ):
        before = (place / name).read_text()
        (place / name).write_text(text)
        with pytest.raises(Torn):
            checkpoint.look()
        (place / name).write_text(before)
    (place / "commits" / "0").unlink()
    with pytest.raises(Torn, match="planned before batch 0 was done"):
        checkpoint.look()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("ignoreMissingFiles", "true"),
        ("failOnDataLoss", "false"),
        ("skipChangeCommits", "true"),
        ("asyncProgressTrackingEnabled", "true"),
    ],
)
def test_options_that_lose_rows_are_refused(option: str, value: str) -> None:
    with pytest.raises(SourceError, match=f"{option}.*refused"):
        refuse_options(suite(**{option: value}))
    refuse_options(suite(**{option: "false" if value == "true" else "true"}))


def test_messages_that_expired_before_they_were_taken_are_told() -> None:
    class Topics:
        name, unit = "orders", "messages"

        def first_kept(self) -> dict[str, int]:
            return {"orders:0": 10, "orders:1": 0}

        def offset(self, _: Marks) -> str:
            return "{}"

        def behind(self, _: str) -> int:
            return 1234

    gone = _retention_of_topics(Topics(), {"orders:0": 7, "orders:1": 4})  # type: ignore[arg-type]
    assert (gone.ok, gone.detail) == (False, "3 messages of orders expired before they were taken")
    fine = _retention_of_topics(Topics(), {"orders:0": 10, "orders:1": 4})  # type: ignore[arg-type]
    assert (fine.ok, fine.detail) == (True, "no message expired before it was taken; lag 1,234 messages")
