"""Schemas and types: what is missing, what fits, what is too much."""

from __future__ import annotations

import pytest

from lazaretto.checks.ddl import parse_type, widens
from lazaretto.checks.sql import literal, text
from lazaretto.checks.structure import BuiltInSchema, Schema

COLUMNS = {
    "txn_id": "string",
    "Amount": "decimal(10,2)",
    "booked_at": "date",
    "address": "struct<City:string,geo:struct<lat:double>>",
    "a.b": "int",
    "days": "interval day to second",
}


def _schema(**keys: object) -> Schema:
    return Schema.model_validate({"id": "shape", **keys})


def test_a_schema_that_holds_says_nothing() -> None:
    wanted = _schema(
        required=["TXN_ID", "address.city", "address.geo.lat", "a.b"],
        types={"amount": "decimal(18,2)", "a.b": "bigint"},
    )
    assert wanted.judge(COLUMNS) is None


def test_everything_that_is_wrong_is_said_at_once() -> None:
    wanted = _schema(
        required=["txnid", "address.street"],
        types={"booked_at": "timestamp", "amount": "int"},
        unexpected="fail",
    )
    assert wanted.judge(COLUMNS) == (
        "missing: txnid (there is txn_id), address.street (there is address)"
        "; booked_at is date, which does not fit timestamp"
        "; amount is decimal(10,2), which does not fit int"
        "; unexpected: txn_id, a.b, days"
    )


def test_a_type_no_suite_can_ask_for_fits_nothing_else() -> None:
    assert "does not fit" in str(_schema(types={"days": "string"}).judge(COLUMNS))


def test_schemas_that_ask_nothing_or_nonsense_are_refused() -> None:
    with pytest.raises(ValueError, match="needs `required`"):
        _schema()
    with pytest.raises(ValueError, match="amount: there is no type"):
        _schema(types={"amount": "money"})
    with pytest.raises(ValueError, match=r"expected a list: \[a\]"):
        _schema(required="a")
    with pytest.raises(ValueError, match="takes no `column`"):
        _schema(required=["a"], column="a")


def test_the_built_in_schema_rule_names_what_rules_miss() -> None:
    rule = BuiltInSchema.model_validate({"id": "lz.schema"})
    assert rule.judge(COLUMNS, ["txn_id", "address.city"]) is None
    assert rule.judge(COLUMNS, ["txn", "zzz"]) == "missing: txn (there is txn_id), zzz"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("INTEGER", "int"),
        ("Long", "bigint"),
        ("decimal", "decimal(10,0)"),
        ("numeric( 5 )", "decimal(5,0)"),
        ("varchar(3)", "varchar(3)"),
        ("array<struct<a:int,`b c`:string>>", "array<struct<a:int,b c:string>>"),
        ("map<string, array<double>>", "map<string,array<double>>"),
        ("timestamp_ntz", "timestamp_ntz"),
    ],
)
def test_types_are_read(written: str, meant: str) -> None:
    assert str(parse_type(written)) == meant


@pytest.mark.parametrize(
    "written",
    [
        "",
        "foo",
        "int(3)",
        "decimal(2,3)",
        "decimal(1,2,3)",
        "array<",
        "varchar",
        "int int",
        "struct<a>",
        "(",
        "a`",
    ],
)
def test_other_words_are_no_types(written: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_type(written)


@pytest.mark.parametrize(
    ("actual", "wanted", "fits"),
    [
        ("int", "bigint", True),
        ("bigint", "int", False),
        ("int", "double", True),
        ("bigint", "double", False),
        ("int", "float", False),
        ("float", "double", True),
        ("int", "decimal(10,0)", True),
        ("int", "decimal(10,2)", False),
        ("bigint", "decimal(21,2)", True),
        ("decimal(10,2)", "decimal(12,4)", True),
        ("decimal(10,2)", "decimal(11,4)", False),
        ("decimal(10,2)", "double", False),
        ("date", "timestamp", False),
        ("timestamp_ntz", "timestamp", False),
        ("varchar(3)", "string", True),
        ("varchar(3)", "varchar(2)", False),
        ("string", "varchar(3)", False),
        ("int", "string", False),
        ("array<int>", "array<bigint>", True),
        ("array<int>", "array<string>", False),
        ("struct<a:int,b:date>", "struct<b:date,A:bigint>", True),
        ("struct<a:int>", "struct<a:int,b:int>", False),
        ("map<string,int>", "map<string,bigint>", True),
    ],
)
def test_types_fit_only_without_loss(actual: str, wanted: str, fits: bool) -> None:
    assert widens(parse_type(actual), parse_type(wanted)) is fits


def test_text_cannot_become_code() -> None:
    assert text("it's") == "'it''s'"
    assert text(r"a\b") == r"r'a\b'"
    assert text(r"\'") == r"concat(r'\', '''')"
    assert text("${x}") == "concat(r'$', r'{x}')"
    assert text("") == "''"


def test_literals_follow_the_type_of_the_column() -> None:
    assert literal(True, "string") == "'true'"
    assert literal("2024-02-30", "date") == "'2024-02-30'"
    assert literal("2024-01-01T10:00", "timestamp_ntz") == "TIMESTAMP_NTZ'2024-01-01 10:00:00'"
    assert literal("2024-01-01T10:00Z", "timestamp_ntz") == "TIMESTAMP'2024-01-01 10:00:00+00:00'"
    assert literal(2**40) == "1099511627776L"
    assert literal(10**20) == "100000000000000000000BD"
