"""The law: whatever the rows and rules, clean + quarantined = input, and every verdict is the reference's."""

from __future__ import annotations

import os
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

import lazaretto as lz
from engine import reference
from engine.generated import COLUMNS, ROWS, SCHEMA, as_mapping, rules
from golden_support import comparable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

THOROUGH = bool(os.environ.get("LAZARETTO_THOROUGH"))
"""Set it for hundreds of examples instead of a few."""

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def interpreted(spark: SparkSession) -> SparkSession:
    """A session that evaluates without generated code, where exceptions take other ways."""
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    return session


@pytest.mark.timeout(1800)
@settings(
    max_examples=400 if THOROUGH else 25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink]
    if THOROUGH
    else [Phase.explicit, Phase.generate],
)
@given(rows=st.lists(ROWS, max_size=14), made=rules(), generated_code=st.booleans())
def test_conservation(
    rows: list[tuple[Any, ...]],
    made: list[dict[str, Any]],
    generated_code: bool,
    spark: SparkSession,
    interpreted: SparkSession,
) -> None:
    rows = rows + rows[:2]  # duplicates are rows too
    suite = lz.Suite(suite="law", version="1", asset="a.b", owner="tests", rules=made)
    frame = (spark if generated_code else interpreted).createDataFrame(rows, SCHEMA).coalesce(1)

    expected: Counter[Any] = Counter()
    for row in rows:
        outcome = reference.judge(as_mapping(row), made, COLUMNS)
        place = "clean" if outcome.is_clean else "quarantined"
        event(place)
        shown = sorted((f.rule_id, f.column or "", f.status) for f in outcome.failures)
        expected[comparable(row), place, () if outcome.is_clean else tuple(shown)] += 1
        for kind, found in (("_errors", outcome.errors), ("_warnings", outcome.warnings)):
            expected[comparable(row), kind, tuple(sorted((f.rule_id, f.column or "") for f in found))] += 1
    found = verdicts(frame, suite)
    assert found == expected, f"found: {found - expected}\nexpected: {expected - found}\nrules: {made}"


def verdicts(frame: DataFrame, suite: lz.Suite) -> Counter[Any]:
    """Both outputs of `split`, and `annotate`, by one job."""
    clean, quarantined = lz.split(frame, suite, run_time=NOW)
    triples = "transform(dq_failed_rules, f -> array(f.rule_id, coalesce(f.column_name, ''), f.status))"
    pairs = "transform({0}, f -> array(f.name, array_join(f.columns, ', ')))"
    annotated = lz.annotate(frame, suite, run_time=NOW)
    own = "struct(" + ", ".join("`" + name.replace("`", "``") + "`" for name in COLUMNS) + ") AS own"
    empty = "cast(array() as array<array<string>>)"
    parts = [
        clean.selectExpr(own, "'clean' AS place", f"{empty} AS found"),
        quarantined.selectExpr(own, "'quarantined' AS place", f"{triples} AS found"),
        annotated.selectExpr(own, "stack(2, '_errors', _errors, '_warnings', _warnings) AS (place, found)").selectExpr(
            "own", "place", f"coalesce({pairs.format('found')}, {empty}) AS found"
        ),
    ]
    everything = parts[0].unionByName(parts[1]).unionByName(parts[2])
    return Counter(
        (comparable(tuple(row.own)), row.place, tuple(sorted(tuple(item) for item in row.found)))
        for row in everything.collect()
    )
