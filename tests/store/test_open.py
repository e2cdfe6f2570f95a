"""Opening: a store makes and migrates itself, and says in one sentence why it cannot."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from lazaretto import extras
from lazaretto.model.errors import MissingExtra
from lazaretto.store import Store, StoreError, StoreTooNew, StoreUnreachable, migrate, open_store
from lazaretto.store.tables import metadata

Tamper = Callable[..., int]


def one_sentence(error: pytest.ExceptionInfo[StoreError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith(".")
    return text


def test_migrations_make_the_tables_of_the_code(url: str, store: Store) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": migrate.VERSION_TABLE, "compare_type": True}
        )
        assert compare_metadata(context, metadata) == []
        for name, table in metadata.tables.items():
            key = sa.inspect(connection).get_pk_constraint(name)
            assert key["constrained_columns"] == [column.name for column in table.primary_key], name


def test_revision_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_heads() == [migrate.REVISION]


def test_opening_again_finds_what_was_there(url: str) -> None:
    with open_store(url) as first:
        first.record_event("ann", "looked")
    with open_store(url) as second:
        assert [event.actor for event in second.events()] == ["ann"]


def test_environments_do_not_see_each_other(url: str) -> None:
    with open_store(url, environment="dev") as dev, open_store(url, environment="prod") as prod:
        dev.record_event("ann", "looked")
        assert prod.events() == ()


def test_a_newer_store_is_refused(url: str, store: Store, tamper: Tamper) -> None:
    tamper(f"UPDATE {migrate.VERSION_TABLE} SET version_num = '9999'")
    with pytest.raises(StoreTooNew, match="newer Lazaretto") as error:
        open_store(url)
    assert "pip install --upgrade lazaretto" in one_sentence(error)


def test_lost_tables_are_named(store: Store, tamper: Tamper) -> None:
    tamper("DROP TABLE audit_event")
    with pytest.raises(StoreUnreachable, match="rebuild-store") as error:
        store.events()
    one_sentence(error)


@pytest.mark.parametrize("address", ["mysql://u:secret@h/d", "nonsense", "sqlite://", "sqlite:///:memory:"])
def test_an_address_that_cannot_be_used(address: str) -> None:
    with pytest.raises(StoreError) as error:
        open_store(address)
    assert "secret" not in one_sentence(error)


def test_postgres_that_does_not_answer_is_named_without_its_password() -> None:
    with pytest.raises(StoreUnreachable, match="cannot be used") as error:
        open_store("postgresql://ann:secret@127.0.0.1:1/control")
    assert "secret" not in one_sentence(error)
    assert "postgresql+psycopg://ann:***@127.0.0.1:1/control" in str(error.value)


def test_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(extras.importlib, "import_module", missing)
    with pytest.raises(MissingExtra, match=r"pip install 'lazaretto\[postgres\]'"):
        open_store("postgresql://localhost/control")


class TestSqlite:
    def test_folder_is_made_and_wal_is_on(self, tmp_path: Path) -> None:
        open_store("sqlite:///.lazaretto/50% of it?/control.db".replace("?", ""), root=tmp_path).close()
        connection = sqlite3.connect(tmp_path / ".lazaretto" / "50% of it" / "control.db")
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        connection.close()

    def test_foreign_keys_are_on(self, tmp_path: Path) -> None:
        store = open_store("sqlite:///control.db", root=tmp_path)
        with store._ledger.database.read() as connection:
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1

    def test_who_only_looks_makes_no_store(self, tmp_path: Path) -> None:
        with pytest.raises(StoreUnreachable, match="no control store") as error:
            open_store("sqlite:///control.db", root=tmp_path, create=False)
        one_sentence(error)
        assert list(tmp_path.iterdir()) == []

    def test_a_store_deleted_meanwhile_takes_no_record(self, tmp_path: Path) -> None:
        store = open_store("sqlite:///control.db", root=tmp_path)
        for file in tmp_path.iterdir():
            file.unlink()
        with pytest.raises(StoreUnreachable, match="not there") as error:
            store.record_event("ann", "looked")
        one_sentence(error)
        assert list(tmp_path.iterdir()) == []

    def test_a_file_that_is_no_database(self, tmp_path: Path) -> None:
        (tmp_path / "control.db").write_text("Dear diary, " * 100)
        with pytest.raises(StoreUnreachable, match="not a database") as error:
            open_store("sqlite:///control.db", root=tmp_path)
        one_sentence(error)

    def test_a_folder_that_cannot_be_made(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(StoreUnreachable, match="cannot be made") as error:
            open_store("sqlite:///file/below/control.db", root=tmp_path)
        one_sentence(error)

    def test_a_busy_store_says_so(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("lazaretto.store.database.BUSY_SECONDS", 0.1)
        store = open_store("sqlite:///control.db", root=tmp_path)
        blocker = sqlite3.connect(tmp_path / "control.db", isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnreachable, match="busy") as error:
            store.record_event("ann", "looked")
        one_sentence(error)
        assert store.events() == ()  # readers do not wait
        blocker.close()


def test_opening_needs_neither_spark_nor_alembic_once_made(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/control.db"
    open_store(url).close()
    code = (
        "import sys; from lazaretto.store import open_store; open_store(sys.argv[1]).decisions(); "
        "print([name for name in ('alembic', 'pyspark', 'psycopg') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, url], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
