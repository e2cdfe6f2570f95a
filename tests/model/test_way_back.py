"""Thousands of random operations on the double of the tables, against the plain model."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from lazaretto.model.words import RecordStatus
from way_back import Double, play


@pytest.mark.parametrize("seed", range(10))
def test_every_record_is_in_exactly_one_place_and_published_at_most_once(seed: int) -> None:
    model = play(Double(), random.Random(seed), 500)
    assert sum(model.published.values()) > 5
    found = Counter(model.status.values())
    assert found[RecordStatus.REJECTED] + found[RecordStatus.ARCHIVED] > 5
