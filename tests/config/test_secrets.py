"""Secrets are named in files, resolved where they are used, and shown nowhere."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from lazaretto.config import secrets
from lazaretto.config.project import load_project
from lazaretto.config.suites import load_suite, load_suites
from lazaretto.model.errors import ConfigError
from lazaretto.model.fingerprint import rule_set_fingerprint

VALUE = "s3cr3t-value"


@pytest.fixture(autouse=True)
def _given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAZARETTO_SECRET_KAFKA_CORE_JAAS", VALUE)


def test_by_environment_variable() -> None:
    assert secrets.resolve("x ${secret:kafka-core/jaas} y").reveal() == f"x {VALUE} y"
    assert secrets.resolve("plain").reveal() == "plain"
    assert secrets.variable_name("kafka-core", "user.name") == "LAZARETTO_SECRET_KAFKA_CORE_USER_NAME"


def test_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAZARETTO_SECRETS_DIR", str(tmp_path / "secrets"))
    (tmp_path / "secrets" / "db").mkdir(parents=True)
    (tmp_path / "secrets" / "db" / "password").write_text("pw\n")
    (tmp_path / "outside").write_text("outside")
    assert secrets.resolve("${secret:db/password}").reveal() == "pw"
    for name in ("db/../../outside", "../outside", "db/none"):
        with pytest.raises(secrets.SecretMissing):
            secrets.resolve(f"${{secret:{name}}}")


def test_by_provider() -> None:
    remove = secrets.register_provider(lambda scope, key: "vault" if scope == "kafka-core" else None)
    try:
        assert secrets.resolve("${secret:kafka-core/jaas}").reveal() == "vault"
    finally:
        remove()
    assert secrets.resolve("${secret:kafka-core/jaas}").reveal() == VALUE


def test_a_missing_one_says_how_to_give_it() -> None:
    with pytest.raises(ConfigError, match="LAZARETTO_SECRET_DB_PW") as caught:
        secrets.resolve(f"{VALUE} ${{secret:db/pw}}")
    assert "db/pw" in str(caught.value)
    assert VALUE not in str(caught.value)


def test_nothing_shows_it() -> None:
    secret = secrets.resolve("${secret:kafka-core/jaas}")
    assert VALUE not in f"{secret} {secret!r} {[secret]} {secret:>30}"
    assert secret == secrets.resolve("${secret:kafka-core/jaas}")
    with pytest.raises(TypeError):
        pickle.dumps(secret)


def test_an_escape_is_not_a_secret() -> None:
    assert secrets.resolve("$${secret:kafka-core/jaas}").reveal() == "${secret:kafka-core/jaas}"
    assert not secrets.has_secret("$${secret:kafka-core/jaas}")
    assert secrets.has_secret("a ${secret:kafka-core/jaas}")


def test_the_model_keeps_the_name_only(write: Any, suite_text: Any) -> None:
    options = 'options: {jaas: "a ${secret:kafka-core/jaas}", raw: "$${secret:x/y}", other: "$${z}"}'
    write("s.yml", suite_text(f"source: {{format: kafka, {options}}}"))
    suite = load_suite("s.yml")
    assert suite.source is not None
    assert suite.source.options["jaas"] == "a ${secret:kafka-core/jaas}"
    assert secrets.resolve(suite.source.options["raw"]).reveal() == "${secret:x/y}"
    assert suite.source.options["other"] == "${z}"
    assert VALUE not in f"{suite!r} {suite} {suite.model_dump_json()} {rule_set_fingerprint(suite)}"


def test_errors_beside_a_secret_do_not_show_it(write: Any, suite_text: Any) -> None:
    write(
        "s.yml",
        suite_text('source: {format: kafk, tabel: x, options: {a: "${secret:kafka-core/jaas}"}}\ntier: 5'),
    )
    result = load_suites("s.yml")
    assert result.errors
    assert VALUE not in " ".join(map(str, result.problems)) + repr(result.problems)


def test_a_project_may_name_them_in_its_store(write: Any) -> None:
    write("lazaretto.yml", 'project: p\nstore: "postgresql+psycopg://lz:${secret:kafka-core/jaas}@h/db"\n')
    project = load_project()
    assert project.store_url == "postgresql+psycopg://lz:${secret:kafka-core/jaas}@h/db"
    assert VALUE not in repr(project)
    assert VALUE in secrets.resolve(project.store_url).reveal()


def test_a_project_may_not_name_them_elsewhere(write: Any) -> None:
    write(
        "lazaretto.yml",
        'project: p\nlake: /mnt/${secret:kafka-core/jaas}\nenvironments: {dev: {a: "${secret:a/b}"}}\n',
    )
    with pytest.raises(ConfigError) as caught:
        load_project()
    assert str(caught.value).count("LZ-CFG-025") == 2
