"""Delta tables over Spark Connect: looked at on disk, written through Spark's own writer.

The writer takes an application id and a note with every commit, so that an append is done once, however often it is
repeated and whoever else repeats it at the same moment: Delta lets only one commit with the same id through.
It is always given the table as a name (`writeTo`): by path, Spark would make a table that is gone anew.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lazaretto.model.seal import ROUTE
from lazaretto.spark.commits import commit, commits
from lazaretto.spark.delta_log import TableFacts, facts_of
from lazaretto.spark.files import Files, local
from lazaretto.spark.log_on_disk import LogState, has_log, rows_in, state_of
from lazaretto.spark.reach import OutOfReach
from lazaretto.spark.staged import rows_of_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriterV2, SparkSession

_PLAIN_FILES = {
    "delta.columnMapping.mode": "none",
    "delta.randomizeFilePrefixes": "false",
    "delta.enableChangeDataFeed": "false",
}
"""What a session's defaults for new tables may say otherwise, and staged files cannot bear."""

_KEPT = ("path", "partitionValues", "size", "modificationTime", "dataChange", "stats")
"""What of a file is true wherever it lies."""


class ConnectLogs:
    """Delta tables in one Spark Connect session, on a file system that is mounted here as well."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._files = Files()

    def exists(self, path: str) -> bool:
        return has_log(self._files, path)

    def forget(self, path: str) -> None:
        """Nothing is remembered here, and what the server remembers is its own: see `facts`."""

    def facts(self, path: str) -> TableFacts:
        """The table as its log on disk says. A server that remembers a dropped table writes no log: that ends here."""
        state = self.state(path)
        return facts_of(path, state.version, state.metadata, state.protocol)

    def transaction_version(self, path: str, app_id: str) -> int:
        return self.all_transactions(path).get(app_id, -1)

    def all_transactions(self, path: str) -> Mapping[str, int]:
        return self.state(path).transactions

    def state(self, path: str) -> LogState:
        """All that the log says of the table, but for its files."""
        return state_of(self._files, path)

    def stage(
        self,
        folder: str,
        schema_json: str,
        partitions: list[str],
        configuration: dict[str, str],
        frame: DataFrame,
    ) -> list[dict[str, Any]]:
        """Write the frame as a table of its own, and keep its files without its log.

        A server goes on writing for a client that was killed. So every attempt writes into a folder of its own, and
        only what the log there calls whole is moved to where it belongs.
        """
        attempt = f"{folder}/w{uuid.uuid4().hex}"
        writer = frame.write.format("delta").partitionBy(*partitions)
        writer.options(**configuration, **_PLAIN_FILES).save(attempt)
        if self.facts(attempt).mapping_mode != "none":
            raise OutOfReach("the server maps the columns of every table: files staged so could not be read back")
        written = commit(self._files, attempt, 0)  # what a session may do to a new table next is none of ours
        assert written is not None
        files = [{key: file[key] for key in _KEPT if key in file} for file in written.added]
        for route in sorted({file["path"].partition("/")[0] for file in files}):
            if not route.startswith(f"{ROUTE}="):
                raise OutOfReach(f"the server lays the files of a table out in its own way ({route})")
            (local(attempt) / route).rename(local(folder) / route)
        self._files.delete(attempt)
        return files

    def append_once(self, path: str, frame: DataFrame, app_id: str, note: Mapping[str, Any]) -> None:
        said = json.dumps({"lazaretto": 1, **note}, ensure_ascii=False)
        self.write_once(path, frame, app_id, 1, said, lambda writer: writer.append())

    def write_once(
        self,
        path: str,
        frame: DataFrame,
        app_id: str,
        version: int,
        note: str,
        write: Callable[[DataFrameWriterV2], None],
    ) -> None:
        """One commit under an application id, unless the log has this version of it or a later one."""
        before, names = self.state(path).version, set(self._files.list(path))
        writer = frame.writeTo(f"delta.`{path}`")
        for key, value in {"txnAppId": app_id, "txnVersion": str(version), "userMetadata": note}.items():
            writer = writer.option(key, value)
        # A session may ask for overwriting only the partitions that have new rows.
        write(writer.option("partitionOverwriteMode", "static"))
        # For no rows Spark writes a file as well, which the commit leaves out.
        known = {unquote(file["path"]) for each in commits(self._files, path, before) for file in each.added}
        for name in set(self._files.list(path)) - names - known:
            if name.endswith(".parquet") and rows_in(f"{path}/{name}") == 0:
                self._files.delete(f"{path}/{name}")
                self._files.delete(f"{path}/.{name}.crc")

    def note(self, path: str, app_id: str, version: int, note: str) -> None:
        """A commit without rows, once."""
        self.write_once(path, self.no_rows(path), app_id, version, note, lambda writer: writer.append())

    def no_rows(self, path: str) -> DataFrame:
        """A frame of the table's columns, without rows."""
        return self._spark.read.format("delta").load(path).where("false")

    def frame_of_files(self, path: str, files: list[dict[str, Any]]) -> DataFrame:
        """The rows of some of a table's files, read as the files they are."""
        for file in files:
            if (reason := _not_by_itself(file)) is not None:
                raise OutOfReach(f"{path} {reason}: take what is new in it by a classic session")
        fields = self.facts(path).schema["fields"]
        return rows_of_files(self._spark, fields, path, [f"{path}/{unquote(file['path'])}" for file in files])


def _not_by_itself(file: Mapping[str, Any]) -> str | None:
    """Why a table's file, read without its log, would not show the rows that the table shows; None if it does."""
    if file.get("deletionVector"):
        return "has rows marked as deleted among the new ones"
    if "://" in file["path"] or file["path"].startswith(("/", "file:")):
        return "has files that lie elsewhere (it is a clone)"
    folders = [unquote(part).partition("=") for part in file["path"].split("/")[:-1]]
    shown = {name: None if value == _NO_VALUE else unquote(value) for name, _, value in folders}
    values = {name: value or None for name, value in file["partitionValues"].items()}
    return None if shown == values else "has files whose folders do not tell their partition"


_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
