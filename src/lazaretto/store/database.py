"""The database underneath: how it is reached, and what a transaction is on SQLite and on PostgreSQL."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from lazaretto.extras import require
from lazaretto.store.errors import StoreError, StoreUnreachable, explain
from lazaretto.store.types import read_json, write_json

T = TypeVar("T")

BUSY_SECONDS = 30
"""How long a transaction on SQLite waits for the one before it; ours take milliseconds."""
CONNECT_SECONDS = 10
_ATTEMPTS = 10
_COLLISIONS = {"40001", "40P01", "23505"}  # serialisation failure, deadlock, unique violation


class Database:
    """One store's database. Knows transactions and errors, and nothing of what is stored."""

    def __init__(self, engine: Engine, shown: str) -> None:
        self._engine = engine
        self.shown = shown
        """The address without its password, for messages."""

    @property
    def is_postgres(self) -> bool:
        """PostgreSQL rather than SQLite."""
        return self._engine.dialect.name == "postgresql"

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent view of the store, however many statements read it and whoever writes meanwhile."""
        options: dict[str, Any] = (
            {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True} if self.is_postgres else {}
        )
        try:
            with self._engine.connect() as connection:
                yield connection.execution_options(**options)
        except SQLAlchemyError as error:
            raise explain(error, self.shown) from error

    def write(self, work: Callable[[Connection], T]) -> T:
        """Do `work` in one transaction; once more from the start where it collided with somebody else's."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with self._engine.connect() as connection:
                    connection = connection.execution_options(lazaretto_writes=True)
                    with connection.begin():
                        return work(connection)
            except SQLAlchemyError as error:
                if attempt == _ATTEMPTS or not _collided(error):
                    raise explain(error, self.shown) from error
            # Not all at once again.
            time.sleep(random.uniform(0, 0.01 * attempt))
        raise AssertionError("unreachable")  # pragma: no cover

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()


def connect(url: str, *, root: Path | None = None, create: bool = True) -> Database:
    """Reach the database at `url`. A relative SQLite path begins at `root`, or the working folder."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise _unknown_address() from None
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed, root, create)
    if parsed.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        return _postgres(parsed.set(drivername="postgresql+psycopg"))
    raise _unknown_address()


def _unknown_address() -> StoreError:
    # The address itself is not repeated: it may hold a password.
    return StoreError(
        "The address of the control store is not understood: expected sqlite:///path/to/control.db "
        "or postgresql+psycopg://user@host/database."
    )


def _postgres(url: URL) -> Database:
    require("psycopg", extra="postgres")
    engine = create_engine(
        url,
        pool_pre_ping=True,  # a server that was restarted since is no error
        connect_args={"connect_timeout": CONNECT_SECONDS},
        json_serializer=write_json,
        json_deserializer=read_json,
    )
    return Database(engine, url.render_as_string(hide_password=True))


def _sqlite(url: URL, root: Path | None, create: bool) -> Database:
    if not url.database or url.database == ":memory:":
        raise StoreError("The control store needs a file: a store in memory would forget its evidence.")
    path = (root or Path.cwd()) / url.database
    shown = f"sqlite:///{path}"
    if create:
        _create_file(path, shown)
    elif not path.is_file():
        raise StoreUnreachable(f"There is no control store at {path}; the first run makes it.")
    engine = create_engine(
        shown,
        creator=lambda: _open(path, "rw"),
        # No connection outlives its transaction: on a file deleted meanwhile it would write into nothing.
        poolclass=NullPool,
        json_serializer=write_json,
        json_deserializer=read_json,
    )
    event.listen(engine, "begin", _begin)
    return Database(engine, shown)


def _open(path: Path, mode: str) -> sqlite3.Connection:
    """Mode rw, unlike SQLite's default, does not make an empty store out of a missing one."""
    address = f"file:{quote(str(path))}?mode={mode}"
    # isolation_level None: the driver begins no transaction of its own accord, `_begin` does.
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")  # a decision on record survives a power cut
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _begin(connection: Connection) -> None:
    """Writers queue up at the door: who began by reading could not become a writer after another one."""
    writes = connection.get_execution_options().get("lazaretto_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _create_file(path: Path, shown: str) -> None:
    """Make folder and file, and switch to WAL, so that readers and a writer do not wait for each other."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnreachable(
            f"The folder {path.parent} for the control store cannot be made: {error.strerror}."
        ) from None
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection = _open(path, "rwc")
            try:
                if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                    connection.execute("PRAGMA journal_mode = WAL")
                return
            finally:
                connection.close()
        except sqlite3.Error as error:
            # SQLite does not wait by itself while another process is switching the same new file.
            if "locked" in str(error) and time.monotonic() < give_up:
                time.sleep(random.uniform(0.005, 0.05))
                continue
            raise explain(DBAPIError(None, None, error), shown) from error


def _collided(error: SQLAlchemyError) -> bool:
    """Whether the same work, begun anew, may well succeed."""
    if isinstance(error, IntegrityError):
        return True
    return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) in _COLLISIONS
