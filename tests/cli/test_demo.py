"""The demo tells the truth, and leaves a project that the commands it names work on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lazaretto.cli import app


@pytest.mark.usefixtures("generated_code")
def test_the_demo_and_what_it_says_to_try_next(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = CliRunner(env={"COLUMNS": "80"})
    project = tmp_path / "demo"
    told = runner.invoke(app, ["demo", "--rows", "4000", "--keep", str(project)])
    assert told.exit_code == 0, told.output
    assert all(len(line) <= 80 for line in told.output.splitlines() if "--project" not in line)
    assert "PUBLISHED_DEGRADED silver.transactions" in told.output
    assert "NOT_PUBLISHED silver.customers" in told.output
    assert "200 rows in = 200 held" in told.output
    assert "silver.transactions proved: 4,000 in = " in told.output
    assert "4111" not in told.output  # no card number reaches the screen
    again = runner.invoke(app, ["demo", "--keep", str(project)])
    assert again.exit_code == 2
    assert "remove it, or name another" in " ".join(again.output.replace("│", " ").split())

    tried = [line.split(" --project")[0].split(" ", 1)[1] for line in told.output.splitlines() if " --project" in line]
    assert [line.split()[0] for line in tried] == ["status", "decisions", "held", "sql", "verify"]
    here = ["--project", str(project)]
    status = runner.invoke(app, ["status", *here])
    assert status.output.startswith("no open seals\n1 held batch waiting: silver.customers")
    assert "degraded" in status.output
    listed = json.loads(runner.invoke(app, ["decisions", "list", "--output", "json", *here]).output)
    assert [one["action"] for one in listed] == ["BLOCK_PUBLICATION", "QUARANTINE_RECORDS"]
    held = runner.invoke(app, [*tried[2].split(), *here])
    assert "identity_checked" in held.output, held.output
    counted = runner.invoke(app, ["sql", "SELECT count(*) AS n FROM inbox", "--output", "json", *here])
    found = json.loads(counted.output)[0]["n"]
    proved = runner.invoke(app, ["verify", "--output", "json", *here])
    assert proved.exit_code == 0, proved.output
    customers, transactions = json.loads(proved.output)["assets"]
    assert transactions["counts"]["input"] == 4000 == transactions["counts"]["accepted"] + found
    assert (customers["counts"]["held"], customers["counts"]["accepted"]) == (200, 0)
    assert runner.invoke(app, ["decisions", "replay", *here]).exit_code == 0
