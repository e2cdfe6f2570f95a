"""Delta's transaction log, asked and written through Delta's own classes (the JVM has to be in reach)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lazaretto.spark.files import Files
from lazaretto.spark.noted import all_noted, noted
from lazaretto.spark.reach import jvm_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PHYSICAL_NAME = "delta.columnMapping.physicalName"
GENERATION = "delta.generationExpression"
CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
IDENTITY = "delta.identity.start"
CONSTRAINT = "delta.constraints."


@dataclass(frozen=True)
class TableFacts:
    """What a table is, as of one version."""

    path: str
    version: int
    id: str
    schema: dict[str, Any]
    """JSON form of the Spark schema, with Delta's field metadata."""
    partition_columns: tuple[str, ...]
    configuration: dict[str, str]
    features: frozenset[str]

    @property
    def schema_text(self) -> str:
        """The schema as one text, equal for equal schemas."""
        return json.dumps(self.schema, sort_keys=True)

    @property
    def leaf_columns(self) -> int:
        """How many columns the files have, fields of structs counted one by one."""
        return sum(map(_leaves, (field["type"] for field in self.schema["fields"])))

    @property
    def mapping_mode(self) -> str:
        """How columns are named in the files: none, name or id."""
        return self.configuration.get("delta.columnMapping.mode", "none")

    @property
    def constraints(self) -> dict[str, str]:
        """CHECK constraints by name."""
        return {
            key.removeprefix(CONSTRAINT): value
            for key, value in sorted(self.configuration.items())
            if key.startswith(CONSTRAINT)
        }


def physical_name(field: Mapping[str, Any]) -> str:
    """The name a column has in the files."""
    return str(field.get("metadata", {}).get(PHYSICAL_NAME, field["name"]))


def physical_type(form: Any) -> Any:
    """A type (JSON form) with its nested fields called as they are called in the files."""
    if not isinstance(form, Mapping):
        return form
    if form["type"] == "struct":
        return {
            "type": "struct",
            "fields": [
                {"name": physical_name(f), "type": physical_type(f["type"]), "nullable": True, "metadata": {}}
                for f in form["fields"]
            ],
        }
    inner = {key: physical_type(form[key]) for key in ("elementType", "keyType", "valueType") if key in form}
    return {**form, **inner}


def ddl(form: Any) -> str:
    """A type (JSON form) as SQL spells it, nested names quoted."""
    if not isinstance(form, Mapping):
        return str(form)
    if form["type"] == "struct":
        inner = (f"`{f['name'].replace('`', '``')}`: {ddl(f['type'])}" for f in form["fields"])
        return f"struct<{', '.join(inner)}>"
    return f"{form['type']}<{', '.join(ddl(form[k]) for k in ('elementType', 'keyType', 'valueType') if k in form)}>"


def _leaves(form: Any) -> int:
    """As Delta counts columns for statistics: into structs, not into arrays and maps."""
    if isinstance(form, str) or form["type"] != "struct":
        return 1
    return sum(_leaves(field["type"]) for field in form["fields"])


def facts_of(path: str, version: int, metadata: Mapping[str, Any], protocol: Mapping[str, Any]) -> TableFacts:
    """A table from the actions (JSON forms) that say what it is."""
    return TableFacts(
        path=path,
        version=version,
        id=metadata["id"],
        schema=json.loads(metadata["schemaString"]),
        partition_columns=tuple(metadata["partitionColumns"]),
        configuration=metadata.get("configuration", {}),
        features=frozenset(protocol.get("writerFeatures", ())) | frozenset(protocol.get("readerFeatures", ())),
    )


class DeltaLogs:
    """Access to the logs of Delta tables in one session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._jvm = jvm_of(spark)

    def exists(self, path: str) -> bool:
        """Whether there is a Delta table. The file system knows: Delta remembers tables dropped behind its back."""
        if not Files(self._spark).exists(f"{path}/_delta_log"):
            self.forget(path)
            return False
        return bool(self._log(path).tableExists())

    def forget(self, path: str) -> None:
        """Let go of what Delta remembers of a table that was dropped behind its back."""
        place = self._jvm.org.apache.hadoop.fs.Path(path)
        self._jvm.org.apache.spark.sql.delta.DeltaLog.invalidateCache(self._spark._jsparkSession, place)

    def facts(self, path: str) -> TableFacts:
        """The table as it is now."""
        return self._facts(path, self.begin(path).snapshot())

    def begin(self, path: str) -> Any:
        """A transaction on the newest snapshot."""
        return self._log(path).startTransaction()

    def facts_in(self, path: str, transaction: Any) -> TableFacts:
        """The table as a transaction sees it."""
        return self._facts(path, transaction.snapshot())

    def transaction_version(self, path: str, app_id: str) -> int:
        """The last version an application recorded in the table's log, or -1."""
        return self.noted(path, self.begin(path), app_id)

    def all_transactions(self, path: str) -> Mapping[str, int]:
        """The last version of every application that recorded one in the table's log."""
        return all_noted(self._spark, path, self.begin(path).snapshot())

    def noted(self, path: str, transaction: Any, app_id: str) -> int:
        """The same as a transaction sees it; asking declares the read."""
        return noted(self._spark, path, transaction, app_id)

    def stage(
        self,
        folder: str,
        schema_json: str,
        partitions: list[str],
        configuration: dict[str, str],
        frame: DataFrame,
    ) -> list[dict[str, Any]]:
        """Write a frame as Delta data files into a folder without committing anything; the files with statistics."""
        transaction = self._log(folder).startTransaction()
        metadata = {
            "metaData": {
                "id": "lazaretto-stage",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": schema_json,
                "partitionColumns": partitions,
                "configuration": configuration,
                "createdTime": 0,
            }
        }
        transaction.updateMetadata(self.action(metadata), False)
        return [json.loads(add.json())["add"] for add in self.written(transaction, frame)]

    def written(self, transaction: Any, frame: DataFrame) -> list[Any]:
        """Write a frame as data files of a transaction that is not committed yet; Delta's own add actions."""
        files = transaction.writeFiles(frame._jdf)
        return [files.apply(number) for number in range(files.size())]

    def append_once(self, path: str, frame: DataFrame, app_id: str, note: Mapping[str, Any]) -> None:
        """Append a frame by one commit under an application id; nothing if the log has that id."""
        transaction = self.begin(path)
        if self.noted(path, transaction, app_id) >= 1:
            return
        actions = [*self.written(transaction, frame), self.set_transaction(app_id, 1)]
        self.commit(transaction, actions, "Append", json.dumps({"lazaretto": 1, **note}, ensure_ascii=False))

    def frame_of_files(self, path: str, files: list[dict[str, Any]]) -> DataFrame:
        """The rows of some of a table's files, as the table shows them (names, partition values, deletions)."""
        from pyspark.sql import DataFrame

        log = self._log(path)
        adds = self._jvm.org.apache.spark.api.python.PythonUtils.toSeq([self.action({"add": f}) for f in files])
        snapshot = log.startTransaction().snapshot()
        return DataFrame(log.createDataFrame(snapshot, adds, False, self._jvm.scala.Option.empty()), self._spark)

    def partition_rows(self, path: str) -> list[tuple[dict[str, str], int | None]]:
        """Every partition and how many rows it has, from the log alone; None where a file has no statistics."""
        from pyspark.sql import DataFrame
        from pyspark.sql import functions as F

        files = DataFrame(self.begin(path).snapshot().allFiles().toDF(), self._spark)
        rows = "cast(get_json_object(stats, '$.numRecords') as bigint) - coalesce(deletionVector.cardinality, 0)"
        counted = files.selectExpr("to_json(partitionValues) AS place", f"{rows} AS rows").groupBy("place")
        found = counted.agg(F.sum("rows").alias("rows"), F.bool_or(F.expr("rows IS NULL")).alias("unknown")).collect()
        return [(json.loads(row["place"]), None if row["unknown"] else int(row["rows"])) for row in found]

    def commit(self, transaction: Any, actions: Iterable[Mapping[str, Any] | Any], mode: str, metadata: str) -> int:
        """Commit actions (JSON forms, or Delta's own objects) as one WRITE with our metadata in the history."""
        converted = [self.action(a) if isinstance(a, Mapping) else a for a in actions]
        sequence = self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(converted)
        return int(transaction.commit(sequence, self._write_operation(mode, metadata)))

    def action(self, form: Mapping[str, Any]) -> Any:
        """Delta's object for the JSON form of an action."""
        return self._jvm.org.apache.spark.sql.delta.actions.Action.fromJson(json.dumps(form))

    def set_transaction(self, app_id: str, version: int) -> dict[str, Any]:
        """The action that records an application's progress."""
        return {"txn": {"appId": app_id, "version": version, "lastUpdated": int(time.time() * 1000)}}

    def _log(self, path: str) -> Any:
        return self._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self._spark._jsparkSession, path)

    def _facts(self, path: str, snapshot: Any) -> TableFacts:
        metadata = json.loads(snapshot.metadata().json())["metaData"]
        protocol = json.loads(snapshot.protocol().json())["protocol"]
        return facts_of(path, int(snapshot.version()), metadata, protocol)

    def _write_operation(self, mode: str, metadata: str) -> Any:
        """`DeltaOperations.Write`, built by reflection: Scala's default arguments cannot be left out from here."""
        jvm = self._jvm
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        name = "org.apache.spark.sql.delta.DeltaOperations$Write"
        constructor = jvm.java.lang.Class.forName(name, True, loader).getConstructors()[0]
        kinds = [kind.getName() for kind in constructor.getParameterTypes()]
        gateway: Any = self._spark.sparkContext._gateway
        arguments = gateway.new_array(jvm.java.lang.Object, len(kinds))
        for position, kind in enumerate(kinds):
            arguments[position] = False if kind == "boolean" else jvm.scala.Option.empty()
        arguments[0] = getattr(jvm.org.apache.spark.sql.SaveMode, mode)
        arguments[_USER_METADATA] = jvm.scala.Option.apply(metadata)
        return constructor.newInstance(arguments)


_USER_METADATA = 3
"""Write(mode, partitionBy, predicate, userMetadata, …)"""
