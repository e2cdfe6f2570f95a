"""What goes into a payload comes out again, by way of JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazaretto.store.canonical import canonical_json
from lazaretto.store.errors import StoreError
from lazaretto.store.payload import decode, encode

text = st.text(st.characters(codec=None, categories=None))  # NUL and lone surrogates too
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text,
    lambda inner: (
        st.lists(inner) | st.dictionaries(text | st.sampled_from(["$int", "$pairs", "$"]) | st.integers(), inner)
    ),
)


@given(values)
def test_round_trip(value: Any) -> None:
    assert decode(json.loads(canonical_json(encode(value)))) == value


@given(values)
def test_nothing_that_jsonb_would_refuse_or_rewrite(value: Any) -> None:
    written = canonical_json(encode(value))
    assert b"\\u0000" not in written
    json.loads(written, parse_int=_safe, parse_float=_safe)


def _safe(number: str) -> float:
    assert abs(float(number)) < 2**53
    return float(number)


def test_nan() -> None:
    assert math.isnan(decode(encode(float("nan"))))


def test_an_unknown_type_is_named() -> None:
    with pytest.raises(StoreError, match="type object cannot be stored"):
        encode({"a": [object()]})
