"""`split` and `annotate`: what a suite says of a DataFrame, for callers who write the tables themselves."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from lazaretto.checks import sql
from lazaretto.engine import details, masks
from lazaretto.engine.judge import judge
from lazaretto.model.suite import Suite
from lazaretto.model.words import RecordStatus

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

QUARANTINE_COLUMNS = (
    "dq_run_id",
    "dq_failed_rules",
    "dq_failure_timestamp",
    "dq_source_table",
    "dq_severity",
    "dq_status",
)
"""What a quarantined row carries besides its own columns."""


class Split(NamedTuple):
    """The two ways a row can go. Every row is in exactly one of them."""

    clean: DataFrame
    quarantined: DataFrame


def split(
    df: DataFrame,
    suite: Suite,
    *,
    run_id: str | None = None,
    run_time: datetime | None = None,
    source_table: str | None = None,
    references: Mapping[str, DataFrame] | None = None,
) -> Split:
    """Split a frame, batch or streaming, into clean rows and quarantined rows with all their reasons. Lazy.

    A row is quarantined if it breaks a rule whose `on_fail` asks for more than a warning, or if such a rule could
    not be evaluated on it. `references` gives frames for reference tables by name, instead of reading them.
    """
    judged = judge(
        df,
        suite,
        run_id=run_id,
        run_time=run_time,
        source_table=source_table,
        references_given=references,
        reserved=QUARANTINE_COLUMNS,
    )
    out = masks.keeps_row_out(judged.words)
    clean = judged.frame.where(f"NOT ({out})").selectExpr(*judged.source_columns)
    quarantined = judged.frame.where(out).selectExpr(
        *judged.source_columns,
        f"{sql.text(judged.run.run_id)} AS dq_run_id",
        f"{details.failed_rules(judged.words, judged.schema)} AS dq_failed_rules",
        f"{judged.run.now} AS dq_failure_timestamp",
        f"{sql.text(judged.run.source_table)} AS dq_source_table",
        f"{details.highest_severity(judged.words)} AS dq_severity",
        f"'{RecordStatus.QUARANTINED}' AS dq_status",
    )
    return Split(clean, quarantined)


def annotate(
    df: DataFrame,
    suite: Suite,
    *,
    errors: str = "_errors",
    warnings: str = "_warnings",
    run_id: str | None = None,
    run_time: datetime | None = None,
    source_table: str | None = None,
    references: Mapping[str, DataFrame] | None = None,
) -> DataFrame:
    """All rows, with what is wrong with each in two columns; NULL where nothing is. Lazy."""
    judged = judge(
        df,
        suite,
        run_id=run_id,
        run_time=run_time,
        source_table=source_table,
        references_given=references,
        reserved=(errors, warnings),
    )

    def column(name: str, *, warnings: bool) -> str:
        found = details.results(
            judged.plan, judged.words, judged.schema, judged.run.run_id, judged.run.now, warnings=warnings
        )
        return f"{found} AS {sql.identifier(name)}"

    return judged.frame.selectExpr(
        *judged.source_columns, column(errors, warnings=False), column(warnings, warnings=True)
    )
