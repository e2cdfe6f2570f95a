"""Judging many values by many checks in one Spark job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import pytest

import lazaretto.checks  # noqa: F401 - enters the checks into the catalogue
from lazaretto.model.rule import Rule, Site
from lazaretto.model.suite import make_rule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = "TIMESTAMP'2026-06-01 12:00:00'"
WORDS = {"true": True, "false": False, "undecided": None, None: "error"}

Case = tuple[str, dict[str, Any], str, Sequence[tuple[Any, ...]]]
"""Check, its parameters, types of the columns `value` and `other`, and rows of (value[, other], expected)."""


def rule_of(check: str, **parameters: Any) -> Rule:
    """A rule with nothing but what its check asks for."""
    return make_rule(check, id="a_rule", **({"column": "value"} | parameters))


@pytest.fixture
def rule() -> Callable[..., Rule]:
    """Makes a rule on the column `value`."""
    return rule_of


@pytest.fixture(scope="session")
def judge(spark: SparkSession) -> Callable[[Sequence[Case]], list[list[tuple[Any, Any]]]]:
    """For every row of every case, the verdict on the value itself and on the same value inside a lambda."""

    def judge(cases: Sequence[Case]) -> list[list[tuple[Any, Any]]]:
        groups: dict[str, list[int]] = defaultdict(list)
        for number, (_, _, types, _) in enumerate(cases):
            groups[types].append(number)
        frames = [_judged(spark, cases, numbers, types) for types, numbers in groups.items()]
        found: dict[tuple[int, int], tuple[Any, Any]] = {
            (row["number"], row["place"]): (WORDS[row["plain"]], WORDS[row["inner"]])
            for row in reduce(lambda a, b: a.union(b), frames).collect()
        }
        return [[found[n, place] for place in range(len(case[3]))] for n, case in enumerate(cases)]

    return judge


def _judged(spark: SparkSession, cases: Sequence[Case], numbers: list[int], types: str) -> DataFrame:
    value_type, _, other_type = types.partition(" | ")
    rows = []
    for number in numbers:
        for place, row in enumerate(cases[number][3]):
            rows.append((number, place, row[0], row[1] if len(row) > 2 else None))
    schema = f"number INT, place INT, value {value_type}, other {other_type or 'string'}"
    # "variant" columns are given as JSON text.
    frame = spark.createDataFrame(rows, schema.replace("variant", "string"))
    if value_type == "variant":
        frame = frame.selectExpr("number", "place", "parse_json(value) as value", "other")

    def site(value: str) -> Site:
        return Site(value, value_type, now=NOW, resolve=lambda name: (f"`{name}`", other_type or "string"))

    def verdict(value: str) -> str:
        cases_sql = []
        for number in numbers:
            rule = rule_of(cases[number][0], **cases[number][1])
            assert rule.misfit(value_type) is None, (rule.check, value_type)
            cases_sql.append(f"WHEN {number} THEN ({rule.passes(site(value))})")
        chosen = f"CASE number {' '.join(cases_sql)} END"
        said = f"coalesce(cast({chosen} as string), 'undecided')"
        # try_to_binary is NULL where its argument throws.
        return f"cast(try_to_binary(CASE WHEN spark_partition_id() >= 0 THEN {said} END, 'utf-8') as string)"

    inner = f"transform(array(named_struct('v', value)), lz_each0 -> {verdict('lz_each0.v')})[0]"
    return frame.selectExpr("number", "place", f"{verdict('`value`')} as plain", f"{inner} as inner")


@pytest.fixture(scope="module", autouse=True)
def _generated_code(generated_code: None) -> None:
    """What a check says must hold for the code that Spark generates."""
