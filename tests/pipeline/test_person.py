"""Who somebody is: asserted by the operating system, or proved by a token that only the issuer can have signed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lazaretto.cli import app
from lazaretto.config.project import load_project
from lazaretto.gate import BUILT_IN, decide
from lazaretto.model.policy import Policy
from lazaretto.model.words import Publication
from lazaretto.pipeline.person import NotAuthenticated, Person, here, os_user
from lazaretto.pipeline.token import TokenRefused, subject

KEY = "k" * 32
NOW = 4_000_000_000  # far from every clock, and the same in every process that collects these tests


def part(value: Any) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def token(key: str = KEY, alg: str = "HS256", **claims: Any) -> str:
    signed = f"{part({'alg': alg})}.{part({'sub': 'ann', 'exp': NOW + 60} | claims)}"
    return f"{signed}.{part(hmac.new(key.encode(), signed.encode(), hashlib.sha256).digest())}"


def test_a_token_names_its_subject() -> None:
    assert subject(token(), KEY, now=NOW) == "ann"
    assert subject(token(iss="ci"), KEY, now=NOW, issuer="ci") == "ann"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (token("x" * 32), "not signed"),
        (token(alg="none"), "not signed"),
        (token().rpartition(".")[0] + ".", "not signed"),
        (token().replace(part({"alg": "HS256"}), part({"alg": "HS256", "a": 1})), "not signed"),
        (token(exp=1), "expired"),
        (token(exp=None), "expired"),
        (token(nbf=NOW + 900), "not valid yet"),
        (token(iss="other"), "not issued by ci"),
        (token(sub=" ", iss="ci"), "names nobody"),
        ("abc", "no token"),
        ("ü.b.c", "no token"),
    ],
)
def test_any_other_token_is_refused(given: str, why: str) -> None:
    with pytest.raises(TokenRefused, match=why):
        subject(given, KEY, now=NOW, issuer="ci")
    with pytest.raises(TokenRefused, match="too short"):
        subject(token("short"), "short", now=NOW)


def test_a_policy_may_demand_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "suites").mkdir()
    (tmp_path / "policies" / "sure.yml").write_text("approvals: authenticated\nrows:\n- {action: warn}\n")
    (tmp_path / "lazaretto.yml").write_text("project: p\npolicy: sure\ntokens: {key: '${secret:lz/tokens}'}\n")
    (tmp_path / "suites" / "s.yml").write_text(
        "suite: s\nversion: 1.0.0\nasset: silver.s\nowner: o\n"
        "rules:\n  - {id: mail, check: no_pii, column: x, detectors: [email], runbook: r}\n"
    )
    monkeypatch.setenv("LAZARETTO_SECRET_LZ_TOKENS", KEY)
    home = load_project(tmp_path)
    assert here(home) == Person(os_user())
    call = ["exceptions", "add", "silver.s", "--rules", "mail", "--reason", "r", "--expires", "2099-01-01"]
    call += ["--requested-by", "bob", "--project", str(tmp_path)]
    refused = CliRunner().invoke(app, call)
    assert isinstance(refused.exception, NotAuthenticated)
    assert "only asserted" in str(refused.exception)
    monkeypatch.setenv("LAZARETTO_TOKEN", token())
    assert here(home) == Person("ann", "authenticated")
    assert here() == Person(os_user())
    given = CliRunner().invoke(app, call)
    assert given.exit_code == 0, given.output
    listed = CliRunner().invoke(app, ["exceptions", "list", "--output", "json", "--project", str(tmp_path)])
    assert [(one["approver"], one["assurance"]) for one in json.loads(listed.output)] == [("ann", "authenticated")]
    monkeypatch.setenv("LAZARETTO_TOKEN", token("x" * 32))
    with pytest.raises(TokenRefused):
        here(home)  # and never simply somebody else
    (tmp_path / "lazaretto.yml").write_text("project: p\n")
    with pytest.raises(TokenRefused, match="no `tokens"):
        here(load_project(tmp_path))


def test_the_gate_counts_only_what_the_policy_takes() -> None:
    from gate.builders import a_context, a_result, an_approval

    sure = Policy(name="sure", rows=BUILT_IN.rows, approvals="authenticated")
    assert sure.digest != BUILT_IN.digest
    result = a_result("private", dimension="PRIVACY", failed=1, on_fail="warn")
    for policy, assurance, publication in (
        (BUILT_IN, "asserted", Publication.PUBLISHED_DEGRADED),
        (sure, "asserted", Publication.NOT_PUBLISHED),
        (sure, "authenticated", Publication.PUBLISHED_DEGRADED),
    ):
        decided = decide(policy, [result], a_context(result), [an_approval("private", assurance=assurance)])
        assert decided.publication is publication, (policy.name, assurance)
