"""Bring a store's tables to what this version expects: one transaction, whoever else opens it meanwhile."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from lazaretto.store.database import Database
from lazaretto.store.errors import StoreTooNew

REVISION = "0001"
"""The newest migration. Known here, so that opening a store that is up to date spares importing Alembic."""
VERSION_TABLE = "lazaretto_version"
"""Not Alembic's default: a shared PostgreSQL may hold somebody else's migrations."""
_LOCK = 0x6C617A6172657474  # "lazarett"
_FOLDER = Path(__file__).parent / "migrations"


def migrate(database: Database) -> None:
    """Make an empty store, bring an old one up to date, refuse a newer one."""
    with database.read() as connection:
        if revision(connection) == REVISION:
            return
    database.write(lambda connection: _upgrade(connection, database))


def revision(connection: Connection) -> str | None:
    """The migration that the store is at; None if it has no tables yet."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608


def _upgrade(connection: Connection, database: Database) -> None:
    if database.is_postgres:
        # A writing transaction on SQLite is alone by nature.
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    found = revision(connection)
    if found == REVISION:  # somebody was faster
        return

    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise StoreTooNew(
            f"The control store {database.shown} was written by a newer Lazaretto (tables at {found}, "
            f"this version knows {REVISION}); run: pip install --upgrade lazaretto."
        )
    command.upgrade(config, "head")
