"""Lookups in other tables: one left join each, against distinct keys, so that no row is ever multiplied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from lazaretto.checks.sql import identifier, is_text
from lazaretto.config.secrets import revealed
from lazaretto.engine.paths import MissingColumn, Path, resolve
from lazaretto.engine.plan import Plan, hit_column
from lazaretto.model.lookup import Lookup, Reference
from lazaretto.model.schema import TableSchema
from lazaretto.spark.frames import error_class, estimated_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ReadReference = Callable[[Reference], "DataFrame"]

DEFAULT_BROADCAST_BELOW = 64 * 1024 * 1024


class MissingReference(LookupError):
    """The reference table cannot be read."""


def join_all(
    frame: DataFrame,
    plan: Plan,
    schema: TableSchema,
    read: ReadReference,
    broadcast_below: int = DEFAULT_BROADCAST_BELOW,
) -> tuple[DataFrame, Plan]:
    """Add a helper column per lookup (`hit_column`); a reference that cannot be used breaks the rules that need it."""
    broken: dict[int, str] = {}
    for number, lookup in enumerate(plan.lookups):
        users = [n for n, i in enumerate(plan.instances) if i.lookup == number and i.broken is None]
        if not users:
            continue
        try:
            frame = _join(frame, number, lookup, schema, read, broadcast_below)
        except MissingReference as problem:
            broken |= dict.fromkeys(users, str(problem))
    return frame, plan.breaking(broken)


def _join(
    frame: DataFrame,
    number: int,
    lookup: Lookup,
    schema: TableSchema,
    read: ReadReference,
    broadcast_below: int,
) -> DataFrame:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    reference = lookup.reference
    try:
        table = read(reference)
        # Raw size, before the projection to the keys: an estimate from file statistics, no job.
        size = estimated_bytes(table)
        if reference.where:
            table = table.where(reference.where)
        keys, shape = _distinct_keys(table, number, lookup)
    except MissingColumn as error:
        raise MissingReference(f"in the reference {reference} {error}") from error
    except (
        PySparkException,
        Py4JError,
    ) as error:  # what pyspark has no name for (a broken file) comes as py4j's
        raise MissingReference(f"the reference {reference} cannot be read ({error_class(error)})") from error
    limit = lookup.broadcast_below if lookup.broadcast_below is not None else broadcast_below
    if size is not None:
        keys = F.broadcast(keys) if size <= limit else keys.hint("shuffle_hash")

    conditions = []
    for position, column in enumerate(lookup.columns):
        conditions.append(f"{as_key(resolve(column, schema), shape[position])} = lz_key_{number}_{position}")
    try:
        joined = frame.join(keys, F.expr(" AND ".join(conditions)), "left")
        _ = joined.schema  # asks for analysis on Connect too
    except PySparkException as error:
        raise MissingReference(f"the key cannot be compared with {reference} ({error_class(error)})") from error
    return joined.drop(*(f"lz_key_{number}_{position}" for position in range(len(lookup.keys))))


def as_key(mine: Path, theirs: str) -> str:
    """SQL of the row's key in the reference's type; NULL where it has no such value."""
    if mine.type == theirs:
        return mine.sql
    # Under ANSI an implicit cast in a join condition would throw and end the batch.
    value = f"try_cast({mine.sql} as {theirs})"
    if is_text(mine.type):
        return value
    # There and back again: 5.7 is not the key 5.
    return f"CASE WHEN try_cast({value} as {mine.type}) = {mine.sql} THEN {value} END"


def _distinct_keys(table: DataFrame, number: int, lookup: Lookup) -> tuple[DataFrame, list[str]]:
    """The reference's keys once each, with the periods of validity collected where there are any."""
    from pyspark.sql import functions as F

    known = TableSchema.from_json(table.schema.jsonValue())
    paths = [resolve(key, known) for key in lookup.keys]
    names = [f"lz_key_{number}_{position}" for position in range(len(paths))]
    columns = [F.expr(path.sql).alias(name) for path, name in zip(paths, names, strict=True)]
    reference = lookup.reference
    types = [path.type or "string" for path in paths]
    if lookup.event_time is None:
        keys = table.select(*columns).distinct().withColumn(hit_column(number), F.lit(True))
        return keys, types
    since = resolve(reference.valid_from, known).sql if reference.valid_from else "cast(NULL as timestamp)"
    until = resolve(reference.valid_to, known).sql if reference.valid_to else "cast(NULL as timestamp)"
    period = F.expr(f"named_struct('since', {since}, 'until', {until})")
    grouped = table.select(*columns, period.alias("period")).groupBy(*names)
    return grouped.agg(F.collect_list("period").alias(hit_column(number))), types


def reader(given: Mapping[str, DataFrame], lake: str | None, spark_of: DataFrame) -> ReadReference:
    """How references are found: what the caller brought, then the lake, then Spark's catalog."""

    def read(reference: Reference) -> DataFrame:
        if (frame := given.get(str(reference))) is not None:
            return frame
        spark = spark_of.sparkSession
        if reference.path is not None:
            return spark.read.format(reference.format).options(**revealed(reference.options)).load(reference.path)
        table = str(reference.table)
        if lake is None:
            return spark.table(".".join(identifier(part) for part in table.split(".")))
        return spark.read.format("delta").load(f"{lake}/{table.replace('.', '/')}")

    return read
