"""Small things that the tests of the engine share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lazaretto as lz

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

Failures = list[tuple[str, str | None, str]]


def suite_of(*rules: dict[str, Any], **keys: Any) -> lz.Suite:
    """A suite of these rules and little else."""
    return lz.Suite(**({"suite": "s", "version": "1.2.0", "asset": "silver.t", "owner": "me", "rules": rules} | keys))


def custom(rule_id: str, expression: str, **keys: Any) -> dict[str, Any]:
    """A rule of the check `custom_sql`."""
    return {"id": rule_id, "check": "custom_sql", "expression": expression} | keys


def failures(
    frame: DataFrame, suite: lz.Suite, key: str = "id", references: Mapping[str, DataFrame] | None = None
) -> dict[Any, Failures | None]:
    """For each row, by its key: None if it is clean, else what `dq_failed_rules` says. No row is lost or doubled."""
    clean, quarantined = lz.split(frame, suite, references=references)
    found: dict[Any, Failures | None] = {}
    for row in clean.unionByName(quarantined, allowMissingColumns=True).collect():
        assert row[key] not in found, f"the row {row[key]} came out twice"
        listed = row["dq_failed_rules"]
        found[row[key]] = None if listed is None else [(f.rule_id, f.column_name, f.status) for f in listed]
    return found


def optimised(frame: DataFrame) -> str:
    """The plan as Spark would run it."""
    return str(frame._jdf.queryExecution().optimizedPlan().toString())
