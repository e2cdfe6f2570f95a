"""A row becomes a payload and comes back exactly, whatever its types and names, under every policy."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from lazaretto.checks.sql import identifier
from lazaretto.quarantine.fields import fields_of, form_of
from lazaretto.quarantine.payload import (
    PayloadError,
    decoded,
    failures_sql,
    key_sql,
    opened,
    overlaid,
    payload_sql,
    rescued_sql,
)

VALUES = {
    "tinyint": "cast(-128 as tinyint)",
    "smallint": "cast(32767 as smallint)",
    "int": "-2147483648",
    "bigint": "9223372036854775807L",
    "float": "cast('0.1' as float)",
    "float_nan": "cast('NaN' as float)",
    "double": "cast('1.7976931348623157E308' as double)",
    "minus_zero": "cast('-0.0' as double)",
    "infinity": "cast('-Infinity' as double)",
    "decimal": "cast('12345678901234567890.123456789012345678' as decimal(38,18))",
    "decimal_scale": "cast('1.50' as decimal(10,2))",
    "string": "'hé \"quoted\" \\\\ \\n back'",
    "empty": "''",
    "looks_like_json": "'{\"a\": 1}'",
    "binary": "X'00FF10'",
    "boolean": "true",
    "date": "DATE'0001-01-01'",
    "timestamp": "TIMESTAMP'2026-03-29 02:30:00.123456Z'",
    "old_timestamp": "TIMESTAMP'1582-10-04 00:00:00Z'",
    "timestamp_ntz": "TIMESTAMP_NTZ'2026-03-29 02:30:00.123456'",
    "far": "TIMESTAMP_NTZ'+12345-01-01 00:00:00.000001'",
    "array": "array(1, NULL, 3)",
    "empty_array": "cast(array() as array<int>)",
    "struct": "named_struct('a b', 1, 'C.d', named_struct('x:y', cast(NULL as string)))",
    "null_struct": "cast(NULL as struct<a:int>)",
    "map": "map('k', 1.5D, 'k 2', NULL)",
    "null": "cast(NULL as int)",
    "void": "NULL",
    "interval_day": "INTERVAL '-1 02:03:04.000005' DAY TO SECOND",
    "interval_hour": "INTERVAL '3' HOUR",
    "interval_year": "INTERVAL '-1-2' YEAR TO MONTH",
    "interval": "make_interval(1, -2, 3, 4, 5, 6, 7.5)",
    "map_int": "map(1, array(INTERVAL '1' DAY), 2, NULL)",
    "map_date": "map(DATE'2020-01-01', named_struct('m', map(cast(1.5 as decimal(3,1)), 'x')))",
    "array_interval": "array(INTERVAL '1' DAY, NULL)",
    "nested": "array(named_struct('m', map(true, INTERVAL '1' MONTH), 'v', NULL), NULL)",
    "it's \"5.0\" \\ `wide` ${x} ['$'] ü": "1",
    "$.a": "2",
    "A": "3",
    "ключ 日本 😀": "4",
}
VARIANT_VALUE = "to_variant_object(named_struct('d', DATE'2020-01-01', 'n', 1.50BD))"


@pytest.fixture(scope="module")
def row(spark: SparkSession) -> DataFrame:
    return spark.sql("SELECT " + ", ".join(f"{value} AS {identifier(name)}" for name, value in VALUES.items()))


def same(spark: SparkSession, row: DataFrame, back: DataFrame) -> None:
    """Types as they are written in SQL, values as their exact text (intervals cannot be compared)."""
    assert back.dtypes == row.dtypes

    def texts(frame: DataFrame) -> dict[str, object]:
        found = frame.selectExpr(
            *(
                f"cast({identifier(name)} as string) AS {identifier(name)}"
                if kind != "binary"
                else f"hex({identifier(name)}) AS {identifier(name)}"
                for name, kind in frame.dtypes
            )
        ).first()
        assert found is not None
        return found.asDict()

    assert texts(back) == texts(row)


def test_every_type_and_name_comes_back_exactly_from_a_file(
    spark: SparkSession, row: DataFrame, tmp_path: Path
) -> None:
    schema = row.schema.json()
    row.selectExpr(f"{payload_sql(schema)} AS p").write.format("delta").save(f"{tmp_path}/t")
    stored = spark.read.format("delta").load(f"{tmp_path}/t")
    for strict in (True, False):
        back = stored.selectExpr(
            *(f"{value} AS {identifier(name)}" for name, value in decoded(schema, "p", strict=strict))
        )
        same(spark, row, back)


def test_encryption_brings_every_type_back_exactly_and_shows_nothing(spark: SparkSession, row: DataFrame) -> None:
    schema, key = row.schema.json(), key_sql("a secret of any length")
    hidden = row.selectExpr(f"{payload_sql(schema, 'encrypted', (), key)} AS p").cache()
    shown = hidden.selectExpr("to_json(p)", "to_json(p) LIKE '%wide%'").first()
    assert shown is not None
    assert shown[0].startswith('{"lz_encrypted":')
    assert shown[1] is False
    clear = hidden.selectExpr(f"{opened(schema, 'p', key)} AS p")
    back = clear.selectExpr(*(f"{value} AS {identifier(name)}" for name, value in decoded(schema, "p", strict=True)))
    same(spark, row, back)
    without_key = hidden.selectExpr(*(f"{value} AS {identifier(name)}" for name, value in decoded(schema, "p")))
    found = without_key.select("int", "string").first()
    assert found is not None
    assert tuple(found) == (None, None)


def test_a_variant_column_is_exact_inline_and_by_its_json_value_encrypted(spark: SparkSession) -> None:
    row = spark.sql(f"SELECT {VARIANT_VALUE} AS v")
    schema, key = row.schema.json(), key_sql("k")
    [(_, value)] = decoded(schema, "p")
    payload = row.selectExpr("v AS original", f"{payload_sql(schema)} AS p")
    inline = payload.selectExpr(*(f"schema_of_variant({v})" for v in ("original", value))).first()
    hidden = row.selectExpr(f"{payload_sql(schema, 'encrypted', (), key)} AS p")
    clear = hidden.selectExpr(f"{opened(schema, 'p', key)} AS p").selectExpr(f"to_json({value})").first()
    assert inline is not None
    assert clear is not None
    assert inline[0] == inline[1] == "OBJECT<d: DATE, n: DECIMAL(2,1)>"
    assert clear[0] == '{"d":"2020-01-01","n":1.5}'


def test_masked_columns_are_not_kept_anywhere(spark: SparkSession) -> None:
    row = spark.sql(
        "SELECT 'Ann' AS name, 42 AS Age, cast(NULL as string) AS iban, "
        """'{"IBAN": "AE07", "extra": 1}' AS _rescued_data"""
    )
    sql_text = payload_sql(row.schema.json(), "masked", ("name", "age", "iban"), rescued="_rescued_data")
    found = row.selectExpr(f"to_json({sql_text})").first()
    assert found is not None
    assert found[0] == '{"Age":"[masked]","extra":1,"iban":null,"name":"[masked]"}'
    assert rescued_sql("_rescued_data", "masked") == "cast(NULL as string)"
    assert rescued_sql("_rescued_data", "inline") == "`_rescued_data`"


def test_a_masked_column_that_does_not_exist_is_refused(spark: SparkSession) -> None:
    with pytest.raises(PayloadError, match="nmae, which the source does not have"):
        payload_sql([("name", "string")], "masked", ("nmae",))
    with pytest.raises(PayloadError, match="names no columns"):
        payload_sql([("name", "string")], "masked")
    with pytest.raises(PayloadError, match="needs a key"):
        payload_sql([("name", "string")], "encrypted")


def test_a_reference_keeps_nothing(spark: SparkSession) -> None:
    assert payload_sql([("name", "string")], "reference") == "cast(NULL as variant)"


def test_rescued_data_fills_what_could_not_be_read(spark: SparkSession) -> None:
    rows = spark.sql(
        """SELECT * FROM VALUES
        (1, 'a', '{"amount": "12 AED", "id": 99, "new": {"x": [1]}}', NULL),
        (2, 'b', NULL, 7), (3, 'c', 'not json', 8), (4, 'd', '[1]', 9)
        AS t(id, name, _rescued_data, amount)"""
    )
    made = payload_sql(rows.schema.json(), rescued="_rescued_data")
    found = [r[0] for r in rows.orderBy("id").selectExpr(f"to_json({made})").collect()]
    assert found == [
        '{"amount":"12 AED","id":1,"name":"a","new":{"x":[1]}}',
        '{"amount":7,"id":2,"name":"b"}',
        '{"amount":8,"id":3,"name":"c"}',
        '{"amount":9,"id":4,"name":"d"}',
    ]
    hidden = payload_sql(rows.schema.json(), "encrypted", (), key_sql("k"), rescued="_rescued_data")
    clear = opened(rows.schema.json(), "p", key_sql("k"), rescued="_rescued_data")
    again = rows.orderBy("id").selectExpr(f"{hidden} AS p").selectExpr(f"to_json({clear})").collect()
    assert [r[0] for r in again] == found


def test_a_correction_is_laid_over(spark: SparkSession) -> None:
    found = spark.sql(
        f"SELECT to_json({overlaid('p', 'c')}) FROM (SELECT "
        """parse_json('{"a": 1, "b": null, "c": {"d": 1}}') AS p, """
        """parse_json('{"a": null, "b": 2, "e": 3}') AS c)"""
    ).first()
    assert found is not None
    assert found[0] == '{"a":null,"b":2,"c":{"d":1},"e":3}'


def test_failures_tell_no_value_that_is_not_kept(spark: SparkSession) -> None:
    from quarantine.staged import FAILURES

    def told(policy: str, *masked: str) -> list[tuple[str | None, str]]:
        found = spark.sql(f"SELECT {failures_sql(FAILURES, policy, masked)} AS f").first()
        assert found is not None
        return [(failure.actual_value, failure.message) for failure in found.f]

    plain = ("-1", "amount: expected at least 0, found -1")
    hidden = ("[masked]", "amount: expected at least 0")
    assert told("inline")[0] == plain
    assert told("encrypted")[0] == hidden
    assert told("masked", "AMOUNT")[0] == hidden
    assert told("masked", "name")[0] == plain
    assert told("masked", "name")[1] == (None, "expected even")  # it names no column, so it may show any


def test_type_names_are_understood_where_they_are_not_ambiguous() -> None:
    [field] = fields_of('[["x", "struct<a b:map<int,array<decimal(10,2)>>,c:d:string>"]]')
    assert field.form == {
        "type": "struct",
        "fields": [
            {
                "name": "a b",
                "type": {
                    "type": "map",
                    "keyType": "int",
                    "valueType": {"type": "array", "elementType": "decimal(10,2)"},
                },
            },
            {"name": "c:d", "type": "string"},
        ],
    }
    assert form_of("interval day to second") == "interval day to second"
