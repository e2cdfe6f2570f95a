"""The commands of the way back, as a person uses them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lazaretto.cli import app
from lazaretto.model.lifecycle import IllegalStep
from lazaretto.pipeline.correcting import CorrectionRefused, from_file
from lazaretto.quarantine.transitions import RecordChanged
from world import World, row


def ask(world: World, *words: str, fails: bool = False) -> Result:
    result = CliRunner().invoke(app, [*words, "--project", str(world.root)])
    assert fails or result.exception is None, (result.output, result.exception)
    return result


@pytest.mark.timeout(600)
def test_review_correct_and_recycle(spark: Any, tmp_path: Path) -> None:
    world = World.create(spark, tmp_path)
    world.add(row(1), *(row(n, amount="-1") for n in range(2, 7)))
    world.run()
    ids = {json.loads(r.payload.toJson())["id"]: r.record_id for r in world.quarantined()}

    # A value that does not fit is refused; a preview says what today's rules would say; then it is done.
    for wrong, told in (
        ("amount=much", "'much' does not fit decimal"),
        ("amount=1.005", "does not fit decimal"),
        ("amuont=1", "the row has no column amuont; it has id, amount"),
    ):
        refused = ask(world, "quarantine", "correct", ids[2], "--set", wrong, fails=True)
        assert isinstance(refused.exception, CorrectionRefused)
        assert told in str(refused.exception)
    shown = ask(world, "quarantine", "correct", ids[2][:16], "--set", "amount=-3", "--dry-run").stdout
    assert "would fail again: amount_positive" in shown
    assert "nothing was changed" in shown
    many = tmp_path / "many.jsonl"
    many.write_text(
        "\n".join(json.dumps({"record_id": ids[n], "set": {"amount": 10.5 + n, "name": None}}) for n in (2, 3))
    )
    told = json.loads(ask(world, "quarantine", "correct", "--file", str(many), "--output", "json").stdout)
    assert told["corrected"] == 2
    assert all(each["would_pass"] for each in told["preview"])

    # By filter: counted first, and only what was confirmed.
    first = ask(
        world, "quarantine", "claim", "--rule", "amount_positive", "--where", "status = 'QUARANTINED'", fails=True
    )
    assert first.exit_code == 2
    assert "to confirm: --count 3" in first.stderr
    done = ask(
        world, "quarantine", "claim", "--where", "status = 'QUARANTINED'", "--count", "3", "--output", "json"
    ).stdout
    assert json.loads(done)["records"] == 3
    bad = ask(world, "quarantine", "reject", ids[4], "--reason", "BECAUSE", fails=True)
    assert "expected one of DUPLICATE" in bad.output
    ask(world, "quarantine", "reject", ids[4], "--reason", "DUPLICATE", "--why", "came twice")
    changed = ask(world, "quarantine", "release", ids[5], "--seen", "0", fails=True)
    assert isinstance(changed.exception, RecordChanged)
    ask(world, "quarantine", "release", ids[5])
    ask(world, "quarantine", "resubmit", ids[6], "--why", "the rule will be mended")

    planned = json.loads(ask(world, "recycle", "--dry-run", "--output", "json").stdout)
    assert [(p["waiting"], p["would_pass"], p["would_fail"]) for p in planned] == [(3, 2, 1)]
    sent = ask(world, "recycle", "silver.orders", "--limit", "2").stdout
    assert "2 sent, 2 recovered, 0 failed again" in sent
    assert "withdrawn 1" in ask(world, "recycle", "--cancel").stdout
    assert "nothing to send" in ask(world, "recycle").stdout
    assert sorted((r.id, str(r.amount)) for r in world.rows()) == [(1, "5.00"), (2, "12.50"), (3, "13.50")]
    status = {json.loads(r.payload.toJson())["id"]: r.status for r in world.quarantined()}
    assert status == {2: "RECOVERED", 3: "RECOVERED", 4: "REJECTED", 5: "QUARANTINED", 6: "QUARANTINED"}
    closed = ask(world, "quarantine", "claim", ids[4], fails=True)
    assert isinstance(closed.exception, IllegalStep)
    world.proved()


def test_reason_codes_are_the_projects_own(tmp_path: Path) -> None:
    (tmp_path / "lazaretto.yml").write_text("project: test\nlake: ./lake\nreject_reasons: [LEGACY]\n")
    result = CliRunner().invoke(app, ["quarantine", "reject", "x", "--reason", "DUPLICATE", "--project", str(tmp_path)])
    assert "expected one of LEGACY" in result.output
    assert result.exit_code == 2


def test_files_of_corrections(tmp_path: Path) -> None:
    """What people make with a spreadsheet, and what programs write."""

    def read(name: str, text: str, encoding: str = "utf-8") -> dict[str, dict[str, str | None]]:
        path = tmp_path / name
        path.write_text(text, encoding=encoding)
        return from_file(path)

    table = 'record_id,amount,name\r\na1,12.50,\r\nb2,,"two, of them"\r\n\r\n'
    expected = {"a1": {"amount": "12.50"}, "b2": {"name": "two, of them"}}
    assert read("sheet.CSV", table, "utf-8-sig") == expected
    lines = '{"record_id": "a1", "set": {"amount": 12.5, "name": null}}\n\n{"record_id": "b2", "set": {"tags": ["x"]}}'
    assert read("lines.jsonl", lines) == {"a1": {"amount": "12.5", "name": None}, "b2": {"tags": '["x"]'}}
    for name, text, told in (
        ("a.csv", "id,amount\na1,1\n", "entry 1: expected a record_id and at least one column"),
        ("b.csv", "record_id,amount\na1,\n", "entry 1: expected a record_id and at least one column"),
        ("c.csv", "record_id,amount\na1,1\na1,2\n", "entry 2: record a1 is in the file twice"),
        ("d.csv", "record_id,amount\na1,1,2\n", "entry 1: more cells than columns"),
        ("e.jsonl", '{"record_id": "a1"', "line 1: this is not JSON"),
        ("f.jsonl", '["a1"]', "line 1: expected an object"),
        ("g.jsonl", '{"record_id": "a1", "set": 7}', "line 1: expected an object"),
    ):
        with pytest.raises(CorrectionRefused, match=told):
            read(name, text)
