"""Columns that Lazaretto itself fills in the target: operational metadata, and results on request."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lazaretto.checks import sql
from lazaretto.engine import details
from lazaretto.engine.judge import Judged, literal_time
from lazaretto.engine.target import TargetShape
from lazaretto.model.seal import RECYCLE
from lazaretto.model.suite import Suite
from lazaretto.pipeline.sources import ATTEMPT, FILE_COLUMN, ORIGINAL_RUN, Taken
from lazaretto.pipeline.target import result_columns


def operational_sql(suite: Suite, run_id: str, batch_id: str, now: datetime, taken: Taken) -> dict[str, str]:
    """Column → SQL, for the operational columns that the suite declares."""
    values = {
        "run_id": sql.text(run_id),
        "batch_id": sql.text(batch_id),
        "loaded_at": literal_time(now),
        "suite_version": sql.text(suite.version),
        **_recycling(taken),
        "file": FILE_COLUMN if FILE_COLUMN in taken.carried else "cast(NULL as string)",
    }
    return {name: values[kind] for name, kind in suite.operational_metadata.items()}


def _recycling(taken: Taken) -> dict[str, str]:
    if taken.source.kind != RECYCLE:
        return {"reprocessed": "false", "attempt": "0", "original_run_id": "cast(NULL as string)"}
    return {"reprocessed": "true", "attempt": ATTEMPT, "original_run_id": ORIGINAL_RUN}


class ResultColumns:
    """`_errors` and `_warnings` as columns of the target."""

    @staticmethod
    def types(suite: Suite) -> dict[str, str]:
        """Their types, for creating the target."""
        return dict.fromkeys(result_columns(suite), details.RESULT_TYPE)

    @staticmethod
    def placeholders(suite: Suite) -> dict[str, str]:
        """Before the rows are judged: they are ours, whatever the source has."""
        return dict.fromkeys(result_columns(suite), f"cast(NULL as {details.RESULT_TYPE})")

    @staticmethod
    def filled(shape: TargetShape, judged: Judged) -> TargetShape:
        """After: what was found, per row."""
        wanted = result_columns(judged.plan.suite)
        run = judged.run
        columns = tuple(
            replace(
                column,
                value=details.results(
                    judged.plan,
                    judged.words,
                    judged.schema,
                    run.run_id,
                    run.now,
                    warnings=column.name == "_warnings",
                ),
            )
            if column.name in wanted
            else column
            for column in shape.columns
        )
        return replace(shape, columns=columns)
