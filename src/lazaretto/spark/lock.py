"""One writer per table on a local file system, where no lock of Delta's spans processes.

The lock is held by the JVM, not by Python: if Python is killed while the JVM's commit still flies, the lock must
outlive Python and end with the commit's process. It binds our own commands only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lazaretto.model.errors import LazarettoError
from lazaretto.spark.files import is_local, local

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
    jvm: Any = spark._jvm
    file = jvm.java.io.RandomAccessFile(str(name), "rw")
    try:
        lock = _acquire(file.getChannel(), str(folder), wait, waiting)
        try:
            yield
        finally:
            lock.release()
    finally:
        file.close()


def _acquire(channel: Any, path: str, wait: float, waiting: Callable[[], None]) -> Any:
    from py4j.protocol import Py4JJavaError

    deadline = time.monotonic() + wait
    told = False
    while True:
        try:
            lock = channel.tryLock()
        except Py4JJavaError as error:
            if "OverlappingFileLock" not in str(error.java_exception):
                raise
            lock = None  # held by another thread of this very JVM
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
