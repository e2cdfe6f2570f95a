"""Decisions on record: listed, shown, replayed; status; all without a JVM."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from lazaretto.cli import app
from lazaretto.config.project import load_project
from lazaretto.gate import decide
from lazaretto.model.policy import Policy, PolicyRow
from lazaretto.model.results import Approval, CheckResult, Counts, GateContext, Scope
from lazaretto.model.words import GateAction
from lazaretto.pipeline.control import open_project_store
from lazaretto.store.tables import evidence, evidence_head, quality_gate_result

AT = datetime(2026, 11, 18, tzinfo=UTC)
STRICT = Policy(name="strict", rows=(PolicyRow(action=GateAction.BLOCK_PUBLICATION),))


def results(batch: str, asset: str = "silver.t") -> tuple[CheckResult, GateContext]:
    scope = Scope(asset=asset, partition={"day": "1"}, run_id="run-1", batch_id=batch)
    common = {"suite": "core", "suite_version": "1.0.0", "scope": scope, "owner": "o"}
    result = CheckResult.model_validate(
        common
        | {
            "tool_version": "1",
            "rule_id": "r",
            "rule_version": "1.0.0",
            "rule_fingerprint": "f",
            "check": "range",
            "dimension": "VALIDITY",
            "severity": "HIGH",
            "status": "FAIL",
            "checked": 100,
            "failed": 1,
            "on_fail": "warn",
            "on_error": "block_publication",
            "reason_code": "range",
            "evaluated_at": AT,
        }
    )
    context = GateContext.model_validate(
        common
        | {
            "rule_set_fingerprint": "a",
            "tier": "standard",
            "certify_below": "1%",
            "quarantine_batch_above": "50%",
            "rows": 100,
            "rows_failing": 1,
            "rows_quarantined": 0,
            "expected": (("r", None),),
        }
    )
    return result, context


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two decisions: one by the built-in policy and confirmed, one by a policy that no file holds any more."""
    from lazaretto.gate import BUILT_IN

    (tmp_path / "lazaretto.yml").write_text("project: p\n")
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "closed.yml").write_text("rows:\n- {action: fail_closed}\n")
    with open_project_store(load_project(tmp_path), None) as store:
        for number, policy in enumerate((BUILT_IN, STRICT)):
            result, context = results(f"batch-{number}")
            exception = Approval(approver="maria", rules=("p",), reason="seen", expires_at=AT)
            decision = decide(policy, [result], context, [exception])
            details = {"policy": policy.model_dump(mode="json", exclude_none=True)}
            store.record_decision(decision, details=details, decided_at=AT.replace(hour=number))
            if not number:
                counts = Counts(input=100, accepted=100)
                store.record_confirmation("batch-0", decision.decision_id, published_version=3, counts=counts)
    return tmp_path


def called(project: Path, *words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, [*words, "--project", str(project)])
    assert result.exit_code == code, result.output
    return result.output


def test_list_pages_and_show_has_the_shape_of_the_evidence(project: Path) -> None:
    listed = json.loads(called(project, "decisions", "list", "--output", "json"))
    assert [one["action"] for one in listed] == ["BLOCK_PUBLICATION", "WARN"]
    older = json.loads(called(project, "decisions", "list", "--before", listed[0]["decided_at"], "--output", "json"))
    assert [one["action"] for one in older] == ["WARN"]
    assert json.loads(called(project, "decisions", "list", "no.asset", "--output", "json")) == []
    assert json.loads(called(project, "decisions", "list", "--since", "2027-01-01", "--output", "json")) == []
    assert "older ones: --before" in called(project, "decisions", "list", "--limit", "1")

    shown = json.loads(called(project, "decisions", "show", listed[1]["decision_id"][:10], "--output", "json"))
    seed = {"runId", "asset", "scope", "suiteId", "suiteVersion", "decision", "evaluatedAt", "checks"}
    assert seed <= set(shown)
    assert (shown["decision"], shown["evaluatedAt"]) == ("WARN", "2026-11-18T00:00:00Z")
    assert shown["scope"] == {"partition": {"day": "1"}}
    assert {"ruleId", "status", "checkedCount", "failedCount"} <= set(shown["checks"][0])
    assert "Published as degraded: silver.t" in called(project, "decisions", "show", listed[1]["decision_id"])


@pytest.mark.parametrize("columns", ["60", "80", "150", None])
def test_ids_are_whole_on_every_terminal(project: Path, columns: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    whole = json.loads(called(project, "decisions", "list", "--output", "json"))
    listed, standing = called(project, "decisions", "list"), called(project, "status")
    assert all(one["decision_id"][:12] in listed for one in whole)
    assert whole[0]["decision_id"][:12] in standing
    assert "…" not in listed + standing
    assert columns is None or max(map(len, standing.splitlines())) <= int(columns)


def test_replay_decides_again_and_tells_what_another_policy_would_do(project: Path) -> None:
    assert "2 decisions replayed, 0 differ" in called(project, "decisions", "replay")
    other = json.loads(called(project, "decisions", "replay", "--policy", "closed", "--output", "json"))
    assert [(one["before"], one["after"]) for one in other["different"]] == [
        ("BLOCK_PUBLICATION", "FAIL_CLOSED"),
        ("WARN", "FAIL_CLOSED"),
    ]
    by_file = called(project, "decisions", "replay", "--policy", str(project / "policies" / "closed.yml"))
    assert "2 decisions replayed, 2 would be other under closed" in by_file
    engine = sa.create_engine(f"sqlite:///{project}/.lazaretto/control.db")
    with engine.begin() as connection:  # a result is made to look better than it was
        change = "UPDATE quality_gate_result SET payload = replace(payload, :was, :is)"
        connection.execute(sa.text(change), {"was": '"failed":1', "is": '"failed":2'})
    engine.dispose()
    assert "2 differ" in called(project, "decisions", "replay", code=1)


def test_status_names_open_seals_first(project: Path) -> None:
    assert called(project, "status").startswith("no open seals\n")
    stage = project / "lake" / "silver" / "t" / "lz-1"
    stage.mkdir(parents=True)
    (stage / "seal.json").write_text("torn")
    told = called(project, "status")
    assert told.startswith("1 open seal, the oldest of unknown age\n")
    (asset,) = json.loads(called(project, "status", "--output", "json"))["assets"]
    assert (asset["state"], asset["version"], asset["last_decision"]["action"]) == ("degraded", 3, "BLOCK_PUBLICATION")


def test_no_jvm_no_alembic_and_an_index(project: Path) -> None:
    code = (
        "import sys; sys.argv[0] = 'lazaretto'\n"
        "from lazaretto.cli import app\n"
        "app(standalone_mode=False)\n"
        "bad = {'pyspark', 'py4j', 'alembic', 'sqlglot'} & set(sys.modules)\n"
        "sys.exit(str(bad) if bad else 0)"
    )
    for words in (["decisions", "list"], ["status"]):
        command = [sys.executable, "-c", code, *words, "--project", str(project)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    query = "SELECT gate_result_id FROM quality_gate_result WHERE environment = 'x' ORDER BY evaluated_at DESC LIMIT 50"
    engine = sa.create_engine(f"sqlite:///{project}/.lazaretto/control.db")
    with engine.connect() as connection:
        plan = " ".join(str(row) for row in connection.execute(sa.text(f"EXPLAIN QUERY PLAN {query}")))
    engine.dispose()
    assert "USING" in plan
    assert "INDEX" in plan


def test_a_store_that_is_not_there_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "lazaretto.yml").write_text("project: p\nstore: postgresql+psycopg://u:pw@127.0.0.1:1/none\n")
    for words in (["status"], ["decisions", "list"]):
        command = [sys.executable, "-m", "lazaretto.cli", *words, "--project", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("error: The control store postgresql+psycopg://u:***@127.0.0.1:1/none cannot")
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_ten_thousand_decisions_are_listed_in_a_moment(
    tmp_path: Path, database: str, request: pytest.FixtureRequest
) -> None:
    url = "sqlite:///.lazaretto/control.db" if database == "sqlite" else request.getfixturevalue("postgres")()
    (tmp_path / "lazaretto.yml").write_text(f"project: p\nstore: {url}\n")
    home = load_project(tmp_path)
    with open_project_store(home, None) as store:
        result, context = results("batch", "silver.t0")
        store.record_decision(decide(STRICT, [result], context), decided_at=AT)
    engine = sa.create_engine(home.store_url, poolclass=sa.NullPool)
    copied = {quality_gate_result: ("gate_result_id", "batch_id"), evidence: ("record_key", "batch_id", "hash")}
    with engine.begin() as connection:  # copies of the one decision: of 500 assets, 20 each
        for table, own in copied.items():
            row = dict(connection.execute(sa.select(table)).mappings().one())
            rows = []
            for number in range(1, 10_000):
                changed = {name: f"{row[name]}-{number}" for name in own}
                if table is evidence:
                    changed |= {"asset": f"silver.t{number % 500}", "sequence": number + 1}
                else:
                    changed |= {"asset_name": f"t{number % 500}", "evaluated_at": AT + timedelta(seconds=number)}
                rows.append(row | changed)
            connection.execute(sa.insert(table), rows)
        heads = [{"environment": "default", "asset": f"silver.t{n}", "sequence": n, "hash": "x"} for n in range(1, 500)]
        connection.execute(sa.insert(evidence_head), heads)
    engine.dispose()
    for words, last in ((["decisions", "list"], "older ones"), (["status"], "silver.t99 ")):
        command = [sys.executable, "-m", "lazaretto.cli", *words, "--project", str(tmp_path)]
        taken = []
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            assert last in done.stdout
            # Of the processor: what else runs on the machine is not the command's fault.
            taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        # Well under a second alone, several times that where other tests share the cores; reading all of it takes more.
        assert min(taken) < 4, (words, taken)
