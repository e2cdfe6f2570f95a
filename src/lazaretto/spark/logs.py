"""What a batch run asks of Delta: one interface, and two ways to it.

Where the JVM is in reach, Delta's own classes answer (`DeltaLogs`). Over Spark Connect the log is read as it lies on
disk and written through Spark's writer (`ConnectLogs`). `logs_of` is the one place that chooses. What only Delta's
classes can do (transactions with several actions, see the publishers) is no part of this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from lazaretto.spark.delta_log import DeltaLogs, TableFacts
from lazaretto.spark.reach import jvm_in_reach

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Logs(Protocol):
    """Delta tables in one session: looked at, staged beside, appended to."""

    def exists(self, path: str) -> bool:
        """Whether there is a Delta table."""

    def forget(self, path: str) -> None:
        """Let go of what is remembered of a table that was dropped behind Delta's back."""

    def facts(self, path: str) -> TableFacts:
        """The table as it is now."""

    def transaction_version(self, path: str, app_id: str) -> int:
        """The last version an application recorded in the table's log, or -1."""

    def all_transactions(self, path: str) -> Mapping[str, int]:
        """The last version of every application that recorded one in the table's log."""

    def stage(
        self,
        folder: str,
        schema_json: str,
        partitions: list[str],
        configuration: dict[str, str],
        frame: DataFrame,
    ) -> list[dict[str, Any]]:
        """Write a frame as Delta data files into a folder that is no table; the files with statistics."""

    def append_once(self, path: str, frame: DataFrame, app_id: str, note: Mapping[str, Any]) -> None:
        """Append a frame by one commit under an application id; nothing if the log has that id."""

    def frame_of_files(self, path: str, files: list[dict[str, Any]]) -> DataFrame:
        """The rows of some of a table's files, as the table shows them."""


def logs_of(spark: SparkSession) -> Logs:
    """The way to Delta that this session has."""
    if jvm_in_reach(spark):
        return DeltaLogs(spark)
    from lazaretto.spark.connect_logs import ConnectLogs

    return ConnectLogs(spark)
