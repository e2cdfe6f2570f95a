"""Whether the rows to be published can be told apart by the suite's key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazaretto.engine.paths import MissingColumn, resolve
from lazaretto.model.schema import TableSchema
from lazaretto.model.seal import Seal
from lazaretto.spark.staged import accepted_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def duplicate_keys(spark: SparkSession, seal: Seal) -> int | None:
    """Accepted rows that share their key with another one; None where nobody needs to know.

    Asked only of a batch that is to be published without some of its rows: keys matter there, because repaired rows
    must find their place. Read from the staged files, and of those the key columns alone. Rows without a key
    are counted elsewhere.
    """
    if not seal.key or not seal.rows_set_aside or not seal.counts.accepted or seal.incompatible:
        return None
    rows = accepted_rows(spark, seal)
    schema = TableSchema.from_json(rows.schema.jsonValue())
    try:
        keys = [resolve(name, schema) for name in seal.key]
    except MissingColumn:  # the target does not take this column
        return None
    if any((key.type or "").startswith("map") or key.inner for key in keys):
        return None
    listed = ", ".join(key.sql for key in keys)
    known = rows.where(" AND ".join(f"{key.sql} IS NOT NULL" for key in keys))
    # Hashes first: they are distinct nearly always, and then so are the keys, whatever their length.
    first = known.selectExpr("count(*)", f"count(distinct xxhash64({listed}))").first()
    assert first is not None
    if first[0] == first[1]:
        return 0
    names = [f"key_{number}" for number in range(len(keys))]
    named = known.selectExpr(*(f"{key.sql} AS {name}" for key, name in zip(keys, names, strict=True)))
    shared = named.groupBy(*names).count().where("count > 1").selectExpr("coalesce(sum(count), 0)").first()
    assert shared is not None
    return int(shared[0])
