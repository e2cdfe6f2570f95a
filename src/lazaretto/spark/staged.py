"""Reading back what was staged for the target."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lazaretto.model.seal import ACCEPTED, ROUTE, Seal
from lazaretto.spark.delta_log import physical_name, physical_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def accepted_rows(spark: SparkSession, seal: Seal, stage: str | None = None) -> DataFrame:
    """The accepted rows as the target will show them. `stage`: where the staged files lie by now."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    fields: list[dict[str, Any]] = json.loads(seal.target.table_schema)["fields"]
    shown = StructType.fromJson({"type": "struct", "fields": fields})
    staged = [
        {"name": physical_name(field), "type": physical_type(field["type"]), "nullable": True, "metadata": {}}
        for field in fields
    ]
    rows = (
        spark.read.schema(StructType.fromJson({"type": "struct", "fields": staged}))
        .option("basePath", f"{stage or seal.stage}/{ROUTE}={ACCEPTED}")
        .parquet(*seal.paths_of(ACCEPTED, stage=stage))
    )
    # A cast between structs goes by position, so nested names become the target's as well.
    return rows.select(
        *(
            F.col(f"`{physical['name']}`").cast(field.dataType).alias(field.name)
            for physical, field in zip(staged, shown.fields, strict=True)
        )
    )
