"""One writer per table on a local file system, where no lock of Delta's spans processes.

The lock is held by the JVM, not by Python: if Python is killed while the JVM's commit still flies, the lock must
outlive Python and end with the commit's process. Over Spark Connect only Python can hold it: a commit that still flies
on the server when Python dies is kept single by its transaction id alone. Both exclude each other. It binds our own
commands only.
"""

from __future__ import annotations

import fcntl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from lazaretto.model.errors import LazarettoError
from lazaretto.spark.files import is_local, local
from lazaretto.spark.reach import jvm_in_reach, jvm_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class AssetBusy(LazarettoError):
    """Another process works on the asset and did not finish in time."""


@contextmanager
def table_lock(
    spark: SparkSession, path: str, *, wait: float = 600.0, waiting: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Hold the lock of the table at this path; wait for whoever has it, at most so many seconds."""
    if not is_local(path):  # object stores: Delta's own commit protocol excludes rivals there
        yield
        return
    folder = local(path)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Beside the table, not in it: a table must be creatable in an empty folder.
    name = folder.with_name(f".{folder.name}.lz-lock")
    held = _held_by_jvm if jvm_in_reach(spark) else _held_by_python
    with held(spark, str(name), str(folder), wait, waiting):
        yield


@contextmanager
def _held_by_jvm(spark: SparkSession, name: str, path: str, wait: float, waiting: Callable[[], None]) -> Iterator[None]:
    file = jvm_of(spark).java.io.RandomAccessFile(name, "rw")
    try:
        channel = file.getChannel()
        lock = _acquire(lambda: _try_jvm_lock(channel), path, wait, waiting)
        try:
            yield
        finally:
            lock.release()
    finally:
        file.close()


def _try_jvm_lock(channel: Any) -> Any:
    from py4j.protocol import Py4JJavaError

    try:
        return channel.tryLock()
    except Py4JJavaError as error:
        if "OverlappingFileLock" not in str(error.java_exception):
            raise
        return None  # held by another thread of this very JVM


_HERE: set[str] = set()
_HERE_GUARD = threading.Lock()
"""Locks that this process holds. The system knows of processes only, and forgets a lock as soon as any handle of its
file is closed: so within a process nobody even opens the file of a lock that another thread holds."""


@contextmanager
def _held_by_python(
    spark: SparkSession, name: str, path: str, wait: float, waiting: Callable[[], None]
) -> Iterator[None]:
    def enter() -> bool | None:
        with _HERE_GUARD:
            if name in _HERE:
                return None
            _HERE.add(name)
            return True

    deadline = time.monotonic() + wait
    _acquire(enter, path, wait, waiting)
    try:
        with Path(name).open("a+b") as file:
            _acquire(lambda: _try_python_lock(file), path, deadline - time.monotonic(), waiting)
            yield  # closing the file lets the lock go
    finally:
        with _HERE_GUARD:
            _HERE.discard(name)


def _try_python_lock(file: BinaryIO) -> bool | None:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # lockf, not flock: this is the lock that the JVM's excludes
    except (BlockingIOError, PermissionError):  # which of the two, depends on the system
        return None
    return True


def _acquire(attempt: Callable[[], Any], path: str, wait: float, waiting: Callable[[], None]) -> Any:
    deadline = time.monotonic() + wait
    told = False
    while True:
        lock = attempt()
        if lock is not None:
            return lock
        if time.monotonic() >= deadline:
            raise AssetBusy(
                f"another run holds {path}; wait for it to finish, or see what it does with `lazaretto status`"
            )
        if not told:
            waiting()
            told = True
        time.sleep(0.2)
