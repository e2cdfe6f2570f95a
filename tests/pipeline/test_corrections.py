"""Automatic corrections on real records: only what passes is applied, once, in one commit, and all of it is counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import lazaretto as lz
from lazaretto.cli import app
from lazaretto.config.project import load_project
from lazaretto.model.lifecycle import Step
from lazaretto.pipeline import corrections
from lazaretto.pipeline.attempted import Attempted
from lazaretto.pipeline.attempts import so_far
from lazaretto.pipeline.corrections import chosen, correct, corrections_of
from lazaretto.pipeline.person import Person
from lazaretto.pipeline.review import act, named
from lazaretto.quarantine.transitions import Deed
from world import World

SUITE = """
suite: orders
version: 1.0.0
asset: silver.orders
owner: sales
key: [id]
source: {format: delta, table: bronze.orders}
target: {create: false}
quarantine_batch_above: 100%
rules:
  - {id: amount_positive, check: custom_sql, expression: "try_cast(amount AS decimal(10,2)) > 0", on_null: pass}
  - {id: country_known, check: allowed_values, column: "Land (ISO)", allowed: [DE, FR]}
  - {id: shout, check: custom_sql, expression: upper(note) <> note, on_null: pass, on_fail: warn}
"""
CORRECTIONS = r"""
asset: silver.orders
version: 1.2.0
owner: sales
corrections:
  - id: currency_sign
    match: {rules: [lz.castable, amount_positive], where: "amount LIKE '%$%'"}
    transformations:
      - {transform: regex_extract, column: amount, pattern: '-?[0-9][0-9,]*(\.[0-9]+)?'}
      - {transform: replace, column: amount, find: ',', with: ''}
      - {transform: cast, column: amount, type: 'decimal(18,2)'}
  - id: country
    version: 3.0.0
    match: {rules: [country_known]}
    transformations:
      - {transform: trim, column: "Land (ISO)"}
      - {transform: case, column: "Land (ISO)", to: upper}
  - id: throws
    match: {rules: [country_known]}
    transformations: [{transform: sql, column: "Land (ISO)", expression: "cast('no' AS int)"}]
  - id: asleep
    active: false
    match: {rules: [country_known]}
    transformations: [{transform: default, column: "Land (ISO)", value: DE}]
"""
SCHEMA = "id bigint, amount string, `Land (ISO)` string, note string"


def make(spark: Any, root: Path, suite: str = SUITE, written: str = CORRECTIONS) -> World:
    world = World.create(spark, root, suite)
    (root / "corrections").mkdir()
    (root / "corrections" / "orders.yml").write_text(written)
    return world


def make_tables(world: World) -> None:
    target = SCHEMA.replace("amount string", "amount decimal(18,2)")
    for table, columns in (("bronze.orders", SCHEMA), ("silver.orders", target)):
        properties = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
        world.spark.sql(f"CREATE TABLE delta.`{world.path(table)}` ({columns}) USING delta {properties}")


def attempt(world: World, *, only: str | None = None, **options: Any) -> Attempted:
    loaded = corrections_of(load_project(world.root), None)
    with world.bench() as bench:
        ((asset, ones),) = chosen(loaded.corrections, None, only).items()
        return correct(bench, asset, ones, loaded.suites, person=Person("tester"), **options)


def counted(done: Attempted) -> dict[str, tuple[int, int, int]]:
    return {c.correction.id: (c.tried, c.applied, c.succeeded) for c in done.counts}


def records(world: World) -> dict[int, Any]:
    rows = world.rows("quarantine.records")
    return {json.loads(row.payload.toJson())["id"]: row for row in rows}


def given(row: Any) -> Any:
    return None if row.correction is None else json.loads(row.correction.toJson())


def stable(found: dict[int, Any]) -> dict[int, Any]:
    return {n: (row.status, row.updated_at, given(row), len(row.history or ())) for n, row in found.items()}


def commits(world: World) -> int:
    return world.commits("quarantine.records")


def test_the_example_of_the_specification_and_all_around_it(spark: Any, tmp_path: Path) -> None:
    world = make(spark, tmp_path)
    make_tables(world)
    world.add(
        (1, "$1,234.50", "DE", "x"),  # an amount stored as text with a currency sign
        (2, "$-5", "DE", "x"),  # corrected it would be negative
        (3, "12.00", " fr ", "x"),
        (4, "$7", "fr", "X"),  # two corrections; a rule that only warns does not matter
        (5, "$8", "??", "x"),  # one of them is not enough
        (6, "dollars $", "DE", "x"),  # nothing to extract
        (7, "9.00", "FR", "x"),  # never rejected
        (8, "$1,2.345", "DE", "x"),  # would have to be rounded
        schema=SCHEMA,
    )
    world.run()
    assert sorted(records(world)) == [1, 2, 3, 4, 5, 6, 8]
    originals = {n: row.payload.toJson() for n, row in records(world).items()}

    before = commits(world)
    dry = attempt(world, dry_run=True, examples=10)
    assert commits(world) == before
    assert not (tmp_path / "lake" / "quarantine" / "attempts").exists()
    assert (dry.tried, dry.passing, dry.corrected, dry.version) == (7, 3, 0, None)
    shown = {json.loads(e.before).get("amount"): e for e in dry.examples}
    assert (json.loads(shown["$1,234.50"].after), shown["$1,234.50"].passes) == ({"amount": "1234.50"}, True)
    assert (shown["$-5"].passes, shown["$-5"].broken) == (False, ("amount_positive",))
    assert shown["$8"].broken == ("country_known",)
    with world.store() as store:
        assert not [e for e in store.events("silver.orders") if "correct" in e.action]

    done = attempt(world)
    assert commits(world) == before + 1
    expected = {"currency_sign": (6, 4, 2), "country": (3, 2, 2), "throws": (1, 0, 0)}
    assert counted(done) == counted(dry) == expected
    assert (done.tried, done.passing, done.corrected) == (7, 3, 3)
    after = records(world)
    assert {n: row.payload.toJson() for n, row in after.items()} == originals
    assert {n for n, row in after.items() if row.status == "CORRECTED"} == {1, 3, 4}
    assert [given(after[n]) for n in (1, 3, 4, 5)] == [
        {"amount": "1234.50"},
        {"Land (ISO)": "FR"},
        {"amount": "7.00", "Land (ISO)": "FR"},
        None,
    ]
    assert after[1].updated_by == "correction:currency_sign@1.2.0"
    assert after[4].updated_by == "correction:currency_sign@1.2.0, country@3.0.0"
    (step,) = after[3].history
    assert (step.step, step.means, step.by, step.went_to) == (
        "correct",
        "automatic",
        "correction:country@3.0.0",
        "CORRECTED",
    )

    again = attempt(world)
    assert (again.tried, again.corrected, again.version) == (4, 0, None)
    assert commits(world) == before + 1
    assert stable(records(world)) == stable(after)
    assert not (tmp_path / "lake" / "quarantine" / "attempts").exists() or not list(
        (tmp_path / "lake" / "quarantine" / "attempts").iterdir()
    )
    loaded = corrections_of(load_project(world.root), None)
    with world.store() as store:
        lines = {line["id"]: line for line in so_far(store, chosen(loaded.corrections, None, None))}
        assert store.verify_chain("silver.orders") == ()
    assert {name: (line["tried"], line["succeeded"]) for name, line in lines.items()} == {
        "currency_sign": (10, 2),
        "country": (4, 2),
        "throws": (2, 0),
    }
    assert lines["country"]["version"] == "3.0.0"
    assert all(line["current"] and line["last"] for line in lines.values())

    def command(*words: str) -> Any:
        return CliRunner().invoke(app, ["correct", *words, "--project", str(tmp_path)])

    counts = json.loads(command("--counts", "--correction", "country", "--output", "json").stdout)
    assert [(line["current"], line["tried"], line["succeeded"]) for line in counts] == [(True, 4, 2)]
    told = json.loads(command("silver.orders", "--dry-run", "--output", "json").stdout)
    assert (told[0]["tried"], told[0]["passing"], len(told[0]["examples"])) == (4, 0, 2)
    assert "still fails: country_known" in command("--dry-run", "--correction", "currency_sign").stdout
    for unknown in (["silver.order"], ["--correction", "contry"]):
        assert "did you mean" in str(command(*unknown).exception)

    (sent,) = lz.recycle(world.suite(), spark)
    assert (sent.counts.input, sent.counts.accepted) == (3, 3)
    published = {row.id: (row.amount, row["Land (ISO)"]) for row in world.rows()}
    assert published == {
        1: (Decimal("1234.50"), "DE"),
        3: (Decimal("12.00"), "FR"),
        4: (Decimal("7.00"), "FR"),
        7: (Decimal("9.00"), "FR"),
    }
    world.proved()


def test_what_somebody_changes_meanwhile_is_left_alone(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make(spark, tmp_path)
    make_tables(world)
    world.add((1, "$1", "DE", "x"), (2, "$2", "DE", "x"), (3, "3", "DE", "x"), schema=SCHEMA)
    world.run()
    counts = corrections._totals

    def meanwhile(*given: Any) -> Any:
        with world.bench() as bench:
            act(bench, named(bench, [records(world)[1].record_id]), Deed(Step.CLAIM, "ann"))
        return counts(*given)

    monkeypatch.setattr(corrections, "_totals", meanwhile)
    done = attempt(world)
    assert (done.tried, done.passing, done.corrected) == (2, 2, 1)
    assert {n: row.status for n, row in records(world).items()} == {1: "UNDER_REVIEW", 2: "CORRECTED"}
    monkeypatch.setattr(corrections, "_totals", counts)
    assert attempt(world).tried == 0  # whoever claimed it decides


RESCUED = """
suite: orders
version: 1.0.0
asset: silver.orders
owner: sales
key: [id]
source: {format: delta, table: bronze.orders}
on_new_column: ignore
quarantine_batch_above: 100%
payload: {policy: masked, columns: [iban]}
corrections: after_quarantine
rules:
  - {id: amount_given, check: not_null, column: amount}
  - {id: iban_given, check: not_null, column: iban}
"""
RESCUED_CORRECTIONS = """
asset: silver.orders
version: 1.0.0
owner: sales
corrections:
  - id: amount_as_written
    match: {rules: [amount_given]}
    transformations: [{transform: cast, column: amount, type: 'decimal(10,2)', format: '$999,999.99'}]
  - id: iban_shouted
    match: {rules: [amount_given]}
    transformations: [{transform: sql, column: iban, expression: upper(iban)}]
  - id: iban_by_hand
    match: {where: "id = 4", rules: [iban_given, lz.castable, amount_given]}
    transformations:
      - {transform: default, column: iban, value: DE00}
      - {transform: default, column: amount, value: 1}
"""


def test_at_the_end_of_a_run_with_rescued_and_masked_values(spark: Any, tmp_path: Path) -> None:
    schema = "id bigint, amount decimal(10,2), qty int, iban string, _rescued_data string"
    # What is masked is not there to be judged or published: only a correction that gives it can help.
    masked = make(spark, tmp_path / "masked", RESCUED, RESCUED_CORRECTIONS)
    rows: Sequence[tuple[Any, ...]] = (
        (1, None, 3, None, '{"amount":"$1,234.50"}'),  # the reader could not fit the amount
        (2, None, None, None, '{"amount":"$5.00","qty":"many"}'),  # another value would be lost
        (3, None, 3, "DE01", '{"amount":"$5.00"}'),  # its iban is masked
        (4, None, 3, "DE02", None),
        (5, Decimal("1.00"), 3, "DE03", None),
    )
    masked.add(*rows, schema=schema)
    result = masked.run()
    assert result.corrected == 1
    found = records(masked)
    assert {n: row.status for n, row in found.items() if row.status == "CORRECTED"} == {4: "CORRECTED"}
    assert given(found[4]) == {"iban": "DE00", "amount": 1.0}
    assert given(found[3]) is None

    plain = make(
        spark,
        tmp_path / "plain",
        RESCUED.replace("payload: {policy: masked, columns: [iban]}\n", "").replace(
            "  - {id: iban_given, check: not_null, column: iban}\n", ""
        ),
        RESCUED_CORRECTIONS.replace("rules: [iban_given, lz.castable, amount_given]", "rules: [lz.castable]"),
    )
    plain.add(*rows, schema=schema)
    result = plain.run()
    found = records(plain)
    assert {n for n, row in found.items() if row.status == "CORRECTED"} == {1, 3}
    assert result.corrected == 2
    assert given(found[1]) == {"amount": 1234.5}
    assert plain.run().corrected is None  # nothing new: nothing is tried


@pytest.mark.parametrize("policy", ["encrypted", "reference"])
def test_what_is_not_legible_is_left_to_people(
    spark: Any, tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAZARETTO_SECRET_Q_KEY", "MDEyMzQ1Njc4OWFiY2RlZg==")
    key = ", key: '${secret:q/key}'" if policy == "encrypted" else ""
    world = make(spark, tmp_path, SUITE.replace("target:", f"payload: {{policy: {policy}{key}}}\ntarget:"))
    make_tables(world)
    world.add((1, "$1", "DE", "x"), (2, "2", "DE", "x"), schema=SCHEMA)
    world.run()
    before = commits(world)
    done = attempt(world)
    assert (done.tried, done.corrected, dict(done.illegible)) == (0, 0, {policy: 1})
    assert commits(world) == before
