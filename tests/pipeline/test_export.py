"""Checks and summary metrics as Delta tables: exact shapes, joinable, never doubled."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

import lazaretto as lz
from lazaretto.cli import app
from lazaretto.model.fingerprint import rule_set_fingerprint
from lazaretto.pipeline import held
from lazaretto.pipeline.person import Person
from world import SUITE, World, row

PROJECT = "project: test\nlake: ./lake\nexports: {checks: dq.checks, metrics: dq.metrics}\n"
CHECKS = {
    "name": "string",
    "criticality": "string",
    "check": "struct<function:string,for_each_column:array<string>,arguments:map<string,string>>",
    "filter": "string",
    "run_config_name": "string",
    "user_metadata": "map<string,string>",
    "created_at": "timestamp",
    "rule_fingerprint": "string",
    "rule_set_fingerprint": "string",
}
METRICS = {
    **dict.fromkeys(
        (
            "run_id",
            "run_name",
            "input_location",
            "output_location",
            "quarantine_location",
            "checks_location",
            "rule_set_fingerprint",
            "metric_name",
            "metric_value",
        ),
        "string",
    ),
    "run_time": "timestamp",
    "error_column_name": "string",
    "warning_column_name": "string",
    "user_metadata": "map<string,string>",
}


def counts(world: World, batch: str | None) -> dict[str, str]:
    found = [r for r in world.rows("dq.metrics") if r.user_metadata["lazaretto.batch_id"] == batch]
    assert len({r.metric_name for r in found}) == len(found) == 5
    return {r.metric_name: r.metric_value for r in found}


def test_every_run_adds_to_the_tables_and_nothing_is_doubled(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    (world.root / "lazaretto.yml").write_text(PROJECT)
    world.add(row(1), row(2, amount="-1"), row(3, amount="-1", name=""), row(4, name=""), row(5, code="x"))
    first = world.run(run_id="monday", metadata={"ticket": "7"})
    told = counts(world, first.batch_id)
    checks = {each["check_name"]: each for each in json.loads(told.pop("check_metrics"))}
    assert told == {"input_row_count": "5", "error_row_count": "3", "warning_row_count": "2", "valid_row_count": "1"}
    assert (checks["amount_positive"]["error_count"], checks["amount_positive"]["warning_count"]) == (2, 0)
    assert (checks["name_given"]["error_count"], checks["name_given"]["warning_count"]) == (0, 2)
    assert checks["code_numeric"]["error_count"] == 1  # it could not be judged, and that is no pass
    spark, lake = world.spark, world.root / "lake"
    for table, shape in (("checks", CHECKS), ("metrics", METRICS)):
        assert dict(spark.read.format("delta").load(f"{lake}/dq/{table}").dtypes) == shape
    metric = world.rows("dq.metrics")[0]
    assert (metric.run_id, metric.run_name, metric.output_location) == ("monday", "orders", "silver.orders")
    assert (metric.quarantine_location, metric.checks_location) == ("quarantine.records", "dq.checks")
    assert metric.input_location.startswith("bronze.orders")
    assert metric.user_metadata["ticket"] == "7"

    # Joined as the reference says: by run id to the rows, by both fingerprints to the rules.
    lz.register_views(spark, world.root)
    joined = spark.sql(f"""
        SELECT c.name, count(*) AS n FROM (SELECT explode(_errors) AS e FROM inbox)
        JOIN delta.`{lake}/dq/checks` c
          ON e.rule_fingerprint = c.rule_fingerprint AND e.rule_set_fingerprint = c.rule_set_fingerprint
        JOIN (SELECT DISTINCT run_id, rule_set_fingerprint FROM delta.`{lake}/dq/metrics`) m
          ON e.run_id = m.run_id AND m.rule_set_fingerprint = c.rule_set_fingerprint
        GROUP BY c.name""").collect()
    assert {r.name: r.n for r in joined} == {"amount_positive": 2, "code_numeric": 1}

    # A crash between commit and confirmation, a second run, a run with nothing new, and the command: no row twice.
    world.add(row(6))
    world.crash(monkeypatch, "after_commit")
    with world.store() as store:
        assert len(store.unconfirmed()) == 1
    second = world.run()
    assert second.outcome == "nothing_new"
    assert len(counts(world, second.rolled_forward[0])) == 5
    monkeypatch.setattr(type(spark), "stop", lambda self: None)
    here = ["--project", str(world.root)]
    runner = CliRunner()
    assert "dq.metrics: nothing new" in runner.invoke(app, ["export", "metrics", *here]).output
    assert "dq.checks: nothing new" in runner.invoke(app, ["export", "checks", *here]).output
    document = json.loads(
        runner.invoke(app, ["export", "metrics", "--table", "dq.other", "--output", "json", *here]).output
    )
    assert (document["rows"], len(document["of"])) == (10, 2)
    assert len(world.rows("dq.metrics")) == len(world.rows("dq.other")) == 10
    back = lz.load_exported_suite(spark, "orders", table="dq.checks", project=world.root)
    assert rule_set_fingerprint(back) == first.rule_set_fingerprint == rule_set_fingerprint(world.suite())
    world.add(row(7))
    assert lz.run(back, spark, project=lz_project(world)).rule_set_fingerprint == first.rule_set_fingerprint


def lz_project(world: World) -> Any:
    from lazaretto.config.project import load_project

    return load_project(world.root)


def test_a_batch_has_its_metrics_once_whatever_becomes_of_it(world: World) -> None:
    (world.root / "lazaretto.yml").write_text(PROJECT)
    world.write_suite(SUITE.replace("min: 0}", "min: 0, block_above: 10%}"))
    world.add(row(1), row(2, amount="-1"))
    refused = world.run()
    assert refused.published_version is None
    before = counts(world, refused.batch_id)
    with world.bench() as bench:
        held.release(bench, str(refused.batch_id), Person("bob"), "seen", requested_by="ann")
    (world.root / "lake" / "dq" / "checks" / "_delta_log").rename(world.root / "gone")
    (world.root / "lake" / "dq" / "checks" / "_delta_log").write_text("in the way")
    assert "Not exported" in world.run().message  # told, and the run itself is done
    (world.root / "lake" / "dq" / "checks" / "_delta_log").unlink()
    (world.root / "gone").rename(world.root / "lake" / "dq" / "checks" / "_delta_log")
    world.run()
    assert counts(world, refused.batch_id) == before
    # A mode that publishes the bad rows as well counts them all the same.
    world.write_suite(SUITE.replace("rules:", "mode: annotate\nrules:").replace("1.0.0", "2.0.0"))
    world.add(row(3), row(4, amount="-1", name=""), row(5, name=""))
    annotated = world.run()
    told = counts(world, annotated.batch_id)
    del told["check_metrics"]
    assert told == {"input_row_count": "3", "error_row_count": "1", "warning_row_count": "2", "valid_row_count": "1"}
    assert {
        r.quarantine_location
        for r in world.rows("dq.metrics")
        if r.user_metadata["lazaretto.batch_id"] == annotated.batch_id
    } == {None}
