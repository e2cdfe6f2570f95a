"""Files beside a table: listed, read, written at most once, copied and deleted, on whatever file system it has.

Local folders are handled by the operating system, because only there can a file be written so that it appears
whole and exactly once (link) and is on disk when we say so (fsync). Everything else goes through Hadoop and, for
put-if-absent, through Delta's own log store, which knows how each object store has to be asked.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lazaretto.model.errors import LazarettoError
from lazaretto.spark.reach import jvm_of, see_that_jvm_is_in_reach

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_ELSEWHERE = "a file system that is not this machine's"


def is_local(path: str) -> bool:
    """Whether the path is on this machine's file system."""
    return "://" not in path or path.startswith("file:")


def local(path: str) -> Path:
    """The path as the operating system knows it."""
    return Path(path.removeprefix("file://").removeprefix("file:"))


class Files:
    """The file system of one Spark session; without one, this machine's own."""

    def __init__(self, spark: SparkSession | None = None) -> None:
        self._given = spark

    @property
    def _spark(self) -> SparkSession:
        if self._given is None:
            raise LazarettoError("a lake that is not on this machine needs a Spark session")
        return self._given

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        if is_local(path):
            return local(path).exists()
        return bool(self._hadoop(path).exists(self._path(path)))

    def list(self, path: str) -> list[str]:
        """Names of what is in a folder, sorted; empty if there is no such folder."""
        if is_local(path):
            folder = local(path)
            return sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
        if not self.exists(path):
            return []
        return sorted(s.getPath().getName() for s in self._hadoop(path).listStatus(self._path(path)))

    def size(self, path: str) -> int | None:
        """Bytes of a file, or None if there is none."""
        if not self.exists(path):
            return None
        if is_local(path):
            return local(path).stat().st_size
        return int(self._hadoop(path).getFileStatus(self._path(path)).getLen())

    def read_text(self, path: str) -> str | None:
        """The text of a small file, or None if there is none."""
        if is_local(path):
            try:
                return local(path).read_text(encoding="utf-8")
            except FileNotFoundError:
                return None
        if not self.exists(path):
            return None
        lines = self._log_store(path).read(self._path(path), self._conf())
        return "\n".join(lines.apply(i) for i in range(lines.size()))

    def put_if_absent(self, path: str, text: str) -> bool:
        """Write a file whole and for good, unless it is there already; False then."""
        if not is_local(path):
            return self._put_by_log_store(path, text)
        target = local(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        try:
            with draft.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(draft, target)  # atomic, and fails if the name is taken
            except FileExistsError:
                return False
        finally:
            draft.unlink(missing_ok=True)
        _sync_folder(target.parent)
        return True

    def delete(self, path: str) -> None:
        """Remove a file or a whole folder; no matter if it is gone already."""
        if not is_local(path):
            self._hadoop(path).delete(self._path(path), True)
            return
        target = local(path)
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.unlink(missing_ok=True)

    def copy(self, source: str, target: str) -> None:
        """Copy a file byte for byte, by way of a draft name, so that a half copy is never taken for the file."""
        if is_local(source) and is_local(target):
            end = local(target)
            end.parent.mkdir(parents=True, exist_ok=True)
            draft = end.with_name(f".{end.name}.{uuid.uuid4().hex}")
            shutil.copyfile(local(source), draft)
            draft.replace(end)
            return
        jvm = jvm_of(self._spark, _ELSEWHERE)
        jvm.org.apache.hadoop.fs.FileUtil.copy(
            self._hadoop(source),
            self._path(source),
            self._hadoop(target),
            self._path(target),
            False,
            True,
            self._conf(),
        )

    def _put_by_log_store(self, path: str, text: str) -> bool:
        jvm = jvm_of(self._spark, _ELSEWHERE)
        lines = jvm.org.apache.spark.api.python.PythonUtils.toSeq([text]).iterator()
        try:
            self._log_store(path).write(self._path(path), lines, False, self._conf())
        except Exception as error:
            if "FileAlreadyExists" in str(error):
                return False
            raise
        return True

    def _log_store(self, path: str) -> Any:
        jvm = jvm_of(self._spark, _ELSEWHERE)
        return jvm.org.apache.spark.sql.delta.storage.LogStore.apply(self._spark._jsparkSession)

    def _conf(self) -> Any:
        see_that_jvm_is_in_reach(self._spark, _ELSEWHERE)
        return self._spark._jsparkSession.sessionState().newHadoopConf()

    def _path(self, path: str) -> Any:
        jvm = jvm_of(self._spark, _ELSEWHERE)
        return jvm.org.apache.hadoop.fs.Path(path)

    def _hadoop(self, path: str) -> Any:
        return self._path(path).getFileSystem(self._conf())


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # some file systems cannot sync a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
