"""Seeing what is in the quarantine: pages, counts, one record, files; sensitive values masked."""

from __future__ import annotations

import csv
import json
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lazaretto.cli import app
from lazaretto.config.project import load_project
from lazaretto.pipeline.bench import Bench
from lazaretto.pipeline.control import open_project_store
from lazaretto.pipeline.looking import Desk
from lazaretto.pipeline.person import here
from lazaretto.pipeline.sensitive import NotForYou
from lazaretto.quarantine import looking
from lazaretto.quarantine.export import harmless
from lazaretto.quarantine.history import entry
from lazaretto.quarantine.wanted import FilterError, Wanted
from lazaretto.quarantine.whereabouts import inbox
from lazaretto.spark.delta_log import DeltaLogs
from quarantine.made import failure, records
from world import World

SECRET = "ada.secret@example.org"
SUITE = """
suite: orders
version: 1.0.0
asset: silver.orders
owner: sales
key: [id]
source: {format: delta, table: bronze.orders}
payload: {policy: masked, columns: [Card]}
rules:
  - {id: mail, check: regex, column: email, pattern: "[a-z]+@x", dimension: privacy}
  - {id: city, check: not_empty, column: where.City}
"""
ROW = (
    f"named_struct('id', id, 'Amount due', -1.5BD, 'a.b', '=cmd()', 'where', named_struct('City', 'Ro\"me'), "
    f"'email', '{SECRET}', 'card', '[masked]', 'it''s', '-7')"
)
SCHEMA = (
    "id bigint, `Amount due` decimal(10,2), `a.b` string, `where` struct<City:string>, email string, card string, "
    "`it's` string"
)
IDS = "sha2(cast(id as string), 256)"


@pytest.fixture(scope="module")
def world(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> World:
    """120 records of 40 days, one dead letter without payload, one of an asset nobody guards."""
    from pyspark.sql.types import StructType

    world = World.create(spark, tmp_path_factory.mktemp("looking"), SUITE)
    schema = StructType.fromDDL(SCHEMA).json().replace("'", "''")
    mail = failure(
        rule_id="'mail'", rule_type="'regex'", column_name="'email'", columns="array('email')",
        dimension="'PRIVACY'", actual_value=f"'{SECRET}'", message=f"'found {SECRET}'",
    )  # fmt: skip
    said = {
        "at": "current_timestamp()",
        "step": "'fail'",
        "failures": f"array({mail})",
        "correction": f"to_variant_object(named_struct('email', '{SECRET}'))",
    }
    common = {
        "record_id": IDS,
        "quarantined_at": "current_timestamp() - make_interval(0, 0, 0, cast(id % 40 as int))",
        "payload_schema": f"'{schema}'",
        "record_key": "cast(id as string)",
    }
    records(
        spark, world.path("quarantine.records"), "SELECT id FROM range(120)",
        payload=f"to_variant_object({ROW})", severity="if(id % 3 = 0, 'CRITICAL', 'HIGH')",
        failures=f"if(id % 2 = 0, array({failure()}), array({failure()}, {mail}))",
        correction="if(id = 6, to_variant_object(named_struct('Amount due', 2.5BD)), NULL)",
        history=f"array({entry(said)})",
        status="CASE id WHEN 5 THEN 'RECOVERED' WHEN 6 THEN 'CORRECTED' ELSE 'QUARANTINED' END",
        **common,
    )  # fmt: skip
    records(
        spark, world.path("quarantine.records"), "SELECT 500 AS id",
        place="'dead_letter'", failures="NULL",
        error="named_struct('class', 'C', 'message', 'm', 'trace', NULL, 'phase', 'stage')", **common,
    )  # fmt: skip
    records(
        spark, world.path("quarantine.records"), "SELECT 501 AS id", asset="'silver.unknown'",
        payload=f"to_variant_object(named_struct('x', '{SECRET}'))", **common,
    )  # fmt: skip
    return world


@pytest.fixture
def desk(world: World) -> Iterator[Desk]:
    home = load_project(world.root)
    with open_project_store(home, None) as store:
        yield Desk(Bench.of(world.spark, home, store), home)


def ask(world: World, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["quarantine", *arguments, "--project", str(world.root)], env={"COLUMNS": "200"})


def document(result: Result) -> Any:
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


def test_pages_are_complete_without_reading_more_days_than_needed(
    world: World, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "_AT_FIRST", 10)
    for oldest_first in (False, True):
        seen: list[tuple[Any, str]] = []
        after = None
        while True:
            page = desk.page(Wanted(), limit=50, after=after, oldest_first=oldest_first)
            seen += [(record["quarantined_date"], record["record_id"]) for record in page.records]
            if (after := page.next) is None:
                break
        days = [day for day, _ in seen]
        assert days == sorted(days, reverse=not oldest_first)
        assert len(seen) == len(set(seen)) == 122
    read = list(looking._windows(world.spark, world.path("quarantine.records"), Wanted(), None, oldest_first=False))
    assert len(read) > 1  # not the whole table at once
    places = DeltaLogs(world.spark).partition_rows(world.path("quarantine.records"))
    assert sum(rows or 0 for _, rows in places) == 122
    with pytest.raises(FilterError, match="no place to continue from"):
        desk.page(Wanted(), after="2026-01-01/' OR true")


def test_filters(world: World, desk: Desk) -> None:
    now = datetime.now(UTC)
    people = {"datasets": ("silver.orders",)}
    expected = (
        (Wanted(rules=("mail",)), 60),
        (Wanted(severities=("critical",)), 40),
        (Wanted(statuses=("RECOVERED", "CORRECTED")), 2),
        (Wanted(places=("dead_letter",)), 1),
        (Wanted(systems=("nope",)), 0),
        (Wanted(entities=("nope",)), 0),
        (Wanted(runs=("nope",)), 0),
        (Wanted(runs=("r1",), systems=("shop",)), 122),
        (Wanted(until=now - timedelta(days=38, hours=12)), 3),
        (Wanted(since=now - timedelta(hours=12)), 3),
        (Wanted(keys=("7", "8"), **people), 2),
        # Fields with any name, nested ones, in whatever case, corrected ones.
        (Wanted(texts=(("a.b", "=CMD"),)), 120),
        (Wanted(texts=(("where.City", 'ro"ME'),)), 120),
        (Wanted(texts=(("it's", "-7"), ("Amount due", "2.5"))), 1),
    )
    counts = ", ".join(f"count_if({wanted.condition()})" for wanted, _ in expected)
    source = inbox(world.spark, desk.tables)
    found = world.spark.sql(f"SELECT {counts} FROM {source}").first()
    assert list(found) == [count for _, count in expected]

    def count(**given: Any) -> int:
        return len(desk.page(Wanted(**given, **people), limit=1000).records)

    assert count(where="row.id BETWEEN 3 AND 5 AND status = 'QUARANTINED'") == 2
    assert count(where="row.`Amount due` > 0") == 1
    assert count(severities=("HIGH",), since=now - timedelta(days=2, hours=1)) == 6
    with pytest.raises(FilterError, match="exactly one dataset"):
        Wanted(where="row.id = 1")
    with pytest.raises(FilterError, match="refused"):
        Wanted(where="reflect('java.lang.System', 'exit', 1) IS NULL")
    again = Wanted(where="row.id = 1", severities=("high",), since=now, texts=(("a", "b"),), **people)
    assert Wanted.of_dict(json.loads(json.dumps(again.to_dict()))) == again
    assert SECRET not in str(Wanted(texts=(("email", SECRET),), where=f"payload = '{SECRET}'").without_values())


def test_sensitive_values_never_leave_the_query(world: World, desk: Desk, tmp_path: Path) -> None:
    odd = next(r["record_id"] for r in desk.page(Wanted(rules=("mail",)), limit=1).records)
    told = [
        ask(world, "list", "--output", "json").stdout,
        ask(world, "show", odd).stdout,
        ask(world, "show", odd, "--output", "json").stdout,
    ]
    [stranger] = desk.page(Wanted(datasets=("silver.unknown",))).records
    assert stranger["record_key"] == "[masked]"  # nobody says what is sensitive there
    told.append(ask(world, "show", stranger["record_id"]).stdout)
    for name in ("a.csv", "a.jsonl"):
        assert ask(world, "export", "--to", str(tmp_path / name)).exit_code == 0
        told.append((tmp_path / name).read_text())
    assert SECRET not in "".join(told)
    record = document(ask(world, "show", odd, "--output", "json"))
    assert (record["payload"]["email"], record["payload"]["Amount due"]) == ("[masked]", -1.5)
    assert [f["actual_value"] for f in record["failures"]] == ["-1", "[masked]"]
    # By its answers a filter would tell the values as well.
    for wanted in (
        Wanted(texts=(("email", "ada"),), datasets=("silver.orders",)),
        Wanted(texts=(("x", "ada"),), datasets=("silver.unknown",)),
        Wanted(texts=(("a.b", "x"),)),
        Wanted(where="row.email LIKE 'a%'", datasets=("silver.orders",)),
        Wanted(where="to_json(payload) LIKE '%a%'", datasets=("silver.orders",)),
        Wanted(where="failures[1].actual_value LIKE 'a%'", datasets=("silver.orders",)),
    ):
        with pytest.raises(NotForYou, match="masked for you"):
            desk.page(wanted)


def test_who_may_see_is_named_by_the_project_and_put_on_record(world: World, desk: Desk) -> None:
    odd = desk.page(Wanted(rules=("mail",)), limit=1).records[0]["record_id"]
    refused = ask(world, "show", odd, "--reveal")
    assert isinstance(refused.exception, NotForYou)
    assert "names nobody" in str(refused.exception)
    config = world.root / "lazaretto.yml"
    before = config.read_text()
    config.write_text(f"{before}may_see: [{here().name}]\n")
    try:
        assert SECRET in ask(world, "show", odd, "--reveal").stdout
        found = document(ask(world, "list", "--reveal", "--dataset", "silver.orders", "--field", f"email={SECRET}",
                             "--limit", "2", "--output", "json"))  # fmt: skip
        assert len(found["records"]) == 2
    finally:
        config.write_text(before)
    events = desk.bench.store.events()
    assert [event.action for event in events][:3] == ["revealed", "revealed", "reveal refused"]
    assert SECRET not in str(events)


def test_a_record_in_front_of_a_person(world: World, desk: Desk) -> None:
    [corrected] = desk.page(Wanted(statuses=("CORRECTED",))).records
    shown = ask(world, "show", corrected["record_id"][:12]).stdout
    for words in ("at least 0", "corrected to", "2.5", "a.b", "=cmd()", "quarantined by run r1", "CORRECTED"):
        assert words in shown
    [dead] = desk.page(Wanted(places=("dead_letter",))).records
    assert "not kept" in ask(world, "show", dead["record_id"]).stdout
    nobody = ask(world, "show", "ffffffffffff")
    assert isinstance(nobody.exception, looking.NoSuchRecord)
    assert isinstance(ask(world, "show", "a").exception, looking.NoSuchRecord)


def test_the_summary_counts_each_record_once_and_each_failure_by_itself(world: World, desk: Desk) -> None:
    found = desk.summary(Wanted())
    assert (found.records, found.by_place) == (122, {"dead_letter": 1, "inbox": 121})
    assert found.by_status == {"CORRECTED": 1, "QUARANTINED": 120, "RECOVERED": 1}
    assert sum(n for ages in found.by_severity_and_age.values() for n in ages.values()) == 121
    assert (datetime.now(UTC) - found.oldest).days == 39
    by_rule = {rule: sum(g.records for g in found.groups if g.rule == rule) for rule in ("amount_positive", "mail")}
    assert by_rule == {"amount_positive": 120, "mail": 59}
    assert {g.failure for g in found.groups} == {"range", "regex", "dead_letter"}
    assert document(ask(world, "summary", "--rule", "mail", "--output", "json"))["records"] == 60
    assert "the oldest open one is 39 d old" in ask(world, "summary").stdout


def test_exports(world: World, desk: Desk, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    assert ask(world, "export", "--dataset", "silver.orders", "--to", str(target)).stdout.startswith("121 records")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    rows = list(csv.DictReader(target.read_text().splitlines()))
    row = next(r for r in rows if r["a.b"])
    assert (row["a.b"], row["it's"], row["Amount due"], row["email"]) == ("'=cmd()", "-7", "-1.5", "[masked]")
    assert row["quarantined_at"].endswith("Z")
    assert ask(world, "export", "--to", str(target)).exit_code == 1  # never over another file
    lines = tmp_path / "out.jsonl"
    ask(world, "export", "--to", str(lines), "--status", "corrected")
    assert json.loads(lines.read_text())["correction"] == {"Amount due": 2.5}
    table = tmp_path / "out.parquet"
    ask(world, "export", "--to", str(table))
    assert world.spark.read.parquet(str(table)).count() == 122
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "out.jsonl", "out.parquet"]
    assert desk.bench.store.events()[0].details["records"] == 122


@pytest.mark.parametrize("cell", ["=1+1", "+A1", "-A1", "@x", "\t=1", "\r=1", "\n", " =1", "＝1", "-1-cmd|' /C'!A0"])
def test_formulas_are_made_harmless(cell: str) -> None:
    assert harmless(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "a=1", "-1", "+49", "-1.5e10", "2026-01-01", "a-b"])
def test_other_cells_stay(cell: str) -> None:
    assert harmless(cell) == cell


def test_an_empty_quarantine_says_so(spark: Any, tmp_path: Path) -> None:
    empty = World.create(spark, tmp_path, SUITE)
    assert ask(empty, "list").stdout == "the quarantine is empty\n"
    assert ask(empty, "summary").stdout == "the quarantine is empty\n"
    assert document(ask(empty, "list", "--rule", "x", "--output", "json")) == {"records": [], "next": None}
    assert isinstance(ask(empty, "show", "abc").exception, looking.NoSuchRecord)
