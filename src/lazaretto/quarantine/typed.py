"""Corrections as people type them: text by column, made values of the payload's own types, or refused.

A value that does not fit is refused at once, never turned into NULL.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from lazaretto.checks import sql
from lazaretto.quarantine.fields import VARIANT, Field, ddl, fields_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EXACT = "decimal(38,18)"


def typed(spark: SparkSession, records: str, given: DataFrame) -> DataFrame:
    """`record_id`, `seen`, `correction` (VARIANT) and `refused` (why not, or NULL) for each record that is there.

    `given` has `record_id` and `given`, a map from column to text (NULL for NULL).
    """
    table = (
        spark.read.format("delta")
        .load(records)
        .selectExpr("record_id", "payload_schema", "_metadata.row_commit_version AS seen")
    )
    wanted = table.join(given, "record_id")
    schemas = [row[0] for row in wanted.select("payload_schema").distinct().collect()]
    frames = []
    for schema in schemas:
        fields = fields_of(schema) if schema else ()
        same = f"payload_schema <=> {'NULL' if schema is None else sql.text(schema)}"
        correction, refused = _correction(fields), _refused(fields)
        frames.append(
            wanted.where(same).selectExpr(
                "record_id",
                "seen",
                f"{refused} AS refused",
                f"CASE WHEN {refused} IS NULL THEN {correction} END AS correction",
            )
        )
    if not frames:
        return wanted.selectExpr(
            "record_id", "seen", "cast(NULL as string) AS refused", "cast(NULL as variant) AS correction"
        )
    return reduce(lambda one, other: one.unionByName(other), frames)


def _correction(fields: tuple[Field, ...]) -> str:
    if not fields:
        return "cast(NULL as variant)"
    pairs = ", ".join(f"{sql.text(f.name)}, {_as_variant(f)}" for f in fields)
    return f"to_variant_object(map_filter(map({pairs}), (k, v) -> map_contains_key(given, k)))"


def _as_variant(field: Field) -> str:
    value = _value(field)
    if isinstance(field.form, str):
        return f"cast({VARIANT.write(field.form, value)} as variant)"
    return f"to_variant_object({VARIANT.write(field.form, value)})"


def _value(field: Field) -> str:
    """SQL of the text as a value of the column's type; NULL if it is none."""
    text = f"given[{sql.text(field.name)}]"
    if not isinstance(field.form, str):
        return f"from_json({text}, {sql.text(ddl(field.form))})"
    match field.form.partition("(")[0]:
        case "string" | "varchar" | "char":
            return text
        case "binary":
            return f"try_to_binary({text}, 'base64')"
        case "variant":
            return f"try_parse_json({text})"
        case _:
            return f"try_cast({text} as {ddl(field.form)})"


def _refused(fields: tuple[Field, ...]) -> str:
    if not fields:
        return "'nothing says what columns this record has'"
    names = ", ".join(sql.text(field.name) for field in fields)
    strange = f"filter(map_keys(given), k -> NOT array_contains(array({names}), k))"
    known = sql.text(f"; it has {', '.join(field.name for field in fields)}")
    unknown = f"CASE WHEN size({strange}) > 0 THEN concat('the row has no column ', {strange}[0], {known}) END"
    cases = []
    for field in fields:
        text, value = f"given[{sql.text(field.name)}]", _value(field)
        lost = f"{value} IS NULL"
        if isinstance(field.form, str) and field.form.startswith("decimal"):  # a cast rounds without a word
            lost += f" OR try_cast({text} as {_EXACT}) <> cast({value} as {_EXACT})"
        says = f"concat({sql.text(field.name + ': ')}, '''', left({text}, 40), ''' does not fit ', {_shown(field)})"
        cases.append(f"CASE WHEN {text} IS NOT NULL AND ({lost}) THEN {says} END")
    return f"coalesce({unknown}, {', '.join(cases)})"


def _shown(field: Field) -> str:
    return sql.text(ddl(field.form))
