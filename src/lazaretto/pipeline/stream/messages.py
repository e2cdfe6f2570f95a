"""Messages as rows: JSON by a declared schema, plain or framed by a schema id. Total SQL: every message is a row.

A message that is no such JSON, is not UTF-8, or has no value (a tombstone) becomes a row that `lz.unparseable` fails,
with the bytes as they came. One whose schema id is missing or unknown fails `lz.schema_id`, which holds the batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazaretto.checks import sql
from lazaretto.engine.plan import CORRUPT_RECORD, RAW_VALUE, SCHEMA_ID
from lazaretto.model.suite import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OWN = ("topic", "partition", "offset", "timestamp", "headers")
POSITION = "lz_position"
"""Column with topic, partition and offset of a message, as one text."""
_HEAD = 5
"""Bytes of a frame: a zero, and the schema id in four bytes, big-endian."""


def read_messages(frame: DataFrame, source: Source) -> DataFrame:
    """Kafka's frame as rows of the declared schema, with what Kafka knows of each message."""
    schema, framed = str(source.schema_), bool(source.schemas)
    spark = frame.sparkSession
    names = spark.createDataFrame([], schema).schema.fieldNames()
    types = {field.name: field.dataType.simpleString() for field in spark.createDataFrame([], schema).schema}
    known = ", ".join(str(int(number)) for number in source.schemas)
    is_framed = f"length(value) >= {_HEAD} AND substring(value, 1, 1) = X'00'"
    number = f"CASE WHEN {is_framed} THEN cast(conv(hex(substring(value, 2, 4)), 16, 10) as bigint) END"
    body = f"substring(value, {_HEAD + 1})" if framed else "value"
    step = frame.selectExpr(
        "*",
        f"{number if framed else 'cast(NULL as bigint)'} AS lz_schema_id",
        f"CASE WHEN is_valid_utf8(cast({body} as string)) THEN cast({body} as string) END AS lz_text",
    )
    parsed = (
        "CASE lz_schema_id "
        + " ".join(
            f"WHEN {int(key)} THEN {_projected(_json(shape), _names(spark, shape), types)}"
            for key, shape in source.schemas.items()
        )
        + " END"
        if framed
        else _json(schema)
    )
    step = step.selectExpr("*", f"{parsed} AS lz_row")
    wrong_id = f"(value IS NOT NULL AND coalesce(lz_schema_id NOT IN ({known}), true))" if framed else "false"
    object_only = "substring(ltrim(lz_text), 1, 1) = '{'"
    corrupt = (
        "CASE WHEN value IS NULL THEN '(tombstone: the message has no value)' "
        f"WHEN {wrong_id} THEN NULL "
        "WHEN lz_text IS NULL THEN '(not UTF-8)' "
        f"WHEN lz_row IS NULL OR NOT coalesce({object_only}, false) OR lz_row.{sql.identifier(CORRUPT_RECORD)} "
        "IS NOT NULL THEN lz_text END"
    )
    step = step.selectExpr("*", f"{corrupt} AS lz_corrupt", f"{wrong_id} AS lz_wrong_id")
    bad = "(lz_corrupt IS NOT NULL OR lz_wrong_id)"
    taken = {name.casefold() for name in names}
    columns = [
        f"CASE WHEN NOT {bad} THEN lz_row.{sql.identifier(name)} END AS {sql.identifier(name)}" for name in names
    ]
    columns.append(f"{_text('key')} AS {_free('key', taken)}")
    columns += [f"{name} AS {_free(name, taken)}" for name in _OWN]
    columns += [f"lz_corrupt AS {CORRUPT_RECORD}", f"CASE WHEN {bad} THEN value END AS {RAW_VALUE}"]
    columns.append(f"concat_ws('/', topic, partition, offset) AS {POSITION}")
    if framed:
        shown = "coalesce(cast(lz_schema_id as string), 'none')"
        columns.append(f"CASE WHEN lz_wrong_id THEN {shown} END AS {SCHEMA_ID}")
    return step.selectExpr(*columns)


def _json(schema: str) -> str:
    shape = sql.text(f"{schema}, {CORRUPT_RECORD} STRING")
    return f"from_json(lz_text, {shape}, map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{CORRUPT_RECORD}'))"


def _projected(parsed: str, has: list[str], types: dict[str, str]) -> str:
    """A row of an older or newer schema as one of the declared: by name, missing fields NULL."""
    known = {name.casefold(): name for name in has}
    members = [
        f"{sql.text(name)}, "
        + (
            f"try_cast(p.{sql.identifier(known[name.casefold()])} as {type_})"
            if name.casefold() in known
            else f"cast(NULL as {type_})"
        )
        for name, type_ in types.items()
    ]
    members.append(f"'{CORRUPT_RECORD}', p.{sql.identifier(CORRUPT_RECORD)}")
    return f"element_at(transform(array({parsed}), p -> named_struct({', '.join(members)})), 1)"


def _names(spark: object, schema: str) -> list[str]:
    from pyspark.sql import SparkSession

    assert isinstance(spark, SparkSession)
    return spark.createDataFrame([], schema).schema.fieldNames()


def _text(column: str) -> str:
    """Bytes as text where they are text; else as base64 that says so."""
    as_text = f"cast({column} as string)"
    return f"CASE WHEN is_valid_utf8({as_text}) THEN {as_text} ELSE concat('base64:', base64({column})) END"


def _free(name: str, taken: set[str]) -> str:
    return sql.identifier(f"kafka_{name}" if name in taken else name)
