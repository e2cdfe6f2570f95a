"""Reading back what was staged for the target."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lazaretto.model.seal import ACCEPTED, ROUTE, Seal
from lazaretto.spark.delta_log import physical_name, physical_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def accepted_rows(spark: SparkSession, seal: Seal, stage: str | None = None) -> DataFrame:
    """The accepted rows as the target will show them. `stage`: where the staged files lie by now."""
    fields: list[dict[str, Any]] = json.loads(seal.target.table_schema)["fields"]
    base = f"{stage or seal.stage}/{ROUTE}={ACCEPTED}"
    return rows_of_files(spark, fields, base, seal.paths_of(ACCEPTED, stage=stage))


def rows_of_files(spark: SparkSession, fields: Sequence[Mapping[str, Any]], base: str, paths: list[str]) -> DataFrame:
    """The rows of data files as a table with these fields (JSON forms) shows them; partitions are told by the folders
    below `base`."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    shown = StructType.fromJson({"type": "struct", "fields": fields})
    staged = [
        {"name": physical_name(field), "type": physical_type(field["type"]), "nullable": True, "metadata": {}}
        for field in fields
    ]
    rows = (
        spark.read.schema(StructType.fromJson({"type": "struct", "fields": staged}))
        .option("basePath", base)
        # None that is missing or damaged is passed over, whatever the session is set to.
        .option("ignoreMissingFiles", "false")
        .option("ignoreCorruptFiles", "false")
        .parquet(*paths)
    )
    # A cast between structs goes by position, so nested names become the target's as well.
    return rows.select(
        *(
            F.col(f"`{physical['name']}`").cast(field.dataType).alias(field.name)
            for physical, field in zip(staged, shown.fields, strict=True)
        )
    )
