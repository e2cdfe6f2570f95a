"""Publishing over Spark Connect: the accepted rows are appended by Spark's writer, once.

The commit has one transaction id, the batch's, and says of the batch what every commit of ours says. A writer cannot
put more ids into it. So what the log has to know besides (how far the source was taken, the lock of an asset) follows
in commits without rows, from the seal and that one commit: as long as the seal is open, whoever comes next writes what
is still owed, and nothing new of the source is taken before.

What a transaction of Delta's own would check in the commit is checked right before it, under the table's lock.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any

from lazaretto.model.seal import ACCEPTED, Seal
from lazaretto.model.words import WriteMode
from lazaretto.spark.commits import commit
from lazaretto.spark.connect_logs import ConnectLogs
from lazaretto.spark.delta_log import IDENTITY, TableFacts, physical_name
from lazaretto.spark.files import Files
from lazaretto.spark.publisher import Published, batch_app, owed, see_that_it_is_the_table
from lazaretto.spark.reach import OutOfReach
from lazaretto.spark.staged import accepted_rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, DataFrameWriterV2, SparkSession

_READ: dict[str, Callable[[str], Any]] = {"string": str, "integer": int, "long": int, "date": date.fromisoformat}
"""Types whose partition values are the same text everywhere (a timestamp's depends on who wrote it)."""
_CLASSIC = "use the command line or a classic session for it"


class ConnectPublisher:
    """Spark's writer appends the accepted rows from the staged files."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._logs = ConnectLogs(spark)
        self._files = Files()

    def refusal(self, facts: TableFacts) -> str | None:
        """Why this table cannot be published to over Spark Connect, or None."""
        if any(IDENTITY in field.get("metadata", {}) for field in facts.schema["fields"]):
            return "it has an identity column"
        if managed := [f for f in facts.features if f.startswith(("catalogOwned", "catalogManaged"))]:
            return f"its commits belong to a catalog ({managed[0]})"
        return None

    def refusal_to_replace(self, facts: TableFacts) -> str | None:
        """Why single partitions of this table cannot be replaced over Spark Connect, or None."""
        types = {field["name"]: field["type"] for field in facts.schema["fields"]}
        unclear = [name for name in facts.partition_columns if types[name] not in _READ]
        return f"it is partitioned by {unclear[0]}, which is {types[unclear[0]]}" if unclear else None

    def committed(self, seal: Seal) -> Published | None:
        app, state = batch_app(seal.batch_id), self._logs.state(seal.target.path)
        if state.transactions.get(app, -1) < 0 or state.metadata["id"] != seal.target.table_id:
            return None
        for version in range(state.version, -1, -1):
            if (found := commit(self._files, seal.target.path, version)) is None:
                break
            if app in found.transactions:
                return Published(version, True, dict(found.note))
        return Published(-1, True, {})  # the log has been cleaned since; the evidence has it

    def publish(self, seal: Seal, metadata: dict[str, Any], *, with_rows: bool, lock: bool) -> Published:
        """Commit the batch, unless it is committed already. The lock is `follow_up`'s: the commit says why."""
        self.see_that_it_can_be_finished(seal)
        if (found := self.committed(seal)) is not None:
            return found
        self.see_that_it_fits(seal)
        path, note = seal.target.path, json.dumps(metadata, ensure_ascii=False)
        app = batch_app(seal.batch_id)
        try:
            if with_rows and (seal.files_of(ACCEPTED) or seal.write is not WriteMode.APPEND):
                self._logs.write_once(path, self._rows(seal), app, 1, note, lambda writer: _write(writer, seal))
            else:
                self._logs.note(path, app, 1, note)
        except Exception:
            # An exception does not mean "not committed": ask the log.
            if (found := self.committed(seal)) is not None:
                return found
            raise
        self.see_that_it_fits(seal)  # a table made anew in this moment has our rows, and is not the one they are for
        found = self.committed(seal)
        if found is None:
            raise OutOfReach(f"the server says that it wrote to {path}, and the log there knows nothing of it")
        return Published(found.version, found.metadata != metadata, found.metadata)

    def follow_up(self, seal: Seal, published: Published) -> None:
        """What the one commit could not say besides."""
        path = seal.target.path
        known = self._logs.all_transactions(path)
        note = json.dumps({"lazaretto": 1, "marks": seal.batch_id})
        for app, version in owed(self._files, lambda app: known.get(app, -1), seal, published).items():
            self._logs.note(path, app, version, note)

    def resolve(self, seal: Seal, metadata: dict[str, Any], *, with_rows: bool, unlock: bool) -> Published:
        raise OutOfReach(f"a held batch of {seal.target.asset} was to be ended: {_CLASSIC}")

    def resolved(self, seal: Seal) -> Published | None:
        raise OutOfReach(f"somebody began to end a held batch of {seal.target.asset}: {_CLASSIC}")

    def see_that_it_is_due(self, seal: Seal) -> None:
        """Batches of streams are fenced inside the commit, which cannot be done from here."""
        self.see_that_it_can_be_finished(seal)

    def see_that_it_can_be_finished(self, seal: Seal) -> None:
        """OutOfReach for batches that only a classic session can carry to their end."""
        if seal.source.stream is not None or seal.recycled:
            what = "a stream" if seal.source.stream is not None else "corrected records"
            raise OutOfReach(
                f"batch {seal.batch_id[:12]} of {what} for {seal.target.asset} was left open, and a Spark Connect "
                "session cannot finish it: run `lazaretto settle` first"
            )

    def see_that_it_fits(self, seal: Seal) -> None:
        see_that_it_is_the_table(seal, self._logs.facts(seal.target.path))

    def _rows(self, seal: Seal) -> DataFrame:
        if seal.files_of(ACCEPTED):
            return accepted_rows(self._spark, seal)
        return self._logs.no_rows(seal.target.path)


def _write(writer: DataFrameWriterV2, seal: Seal) -> None:
    from pyspark.sql import functions as F

    if seal.write is WriteMode.REPLACE:
        writer.overwrite(F.lit(True))
    elif seal.write is WriteMode.REPLACE_PARTITIONS and seal.replaces:
        writer.overwrite(_replaced(seal))
    else:
        writer.append()


def _replaced(seal: Seal) -> Column:
    """The partitions that the batch takes the place of."""
    from pyspark.sql import functions as F

    fields = {physical_name(field): field for field in json.loads(seal.target.table_schema)["fields"]}

    def holds(name: str, value: str | None) -> Column:
        column = F.col("`" + fields[name]["name"].replace("`", "``") + "`")
        return column.isNull() if value is None else column == F.lit(_READ[fields[name]["type"]](value))

    partitions = (reduce(and_, (holds(n, v) for n, v in partition.items())) for partition in seal.replaces)
    return reduce(or_, partitions)
