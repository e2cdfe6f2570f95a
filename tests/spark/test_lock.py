"""The lock of a table where only Python can hold it. Against the JVM's: tests/pipeline/test_connect.py."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lazaretto.spark.lock import AssetBusy, table_lock

NO_JVM: Any = object()
HOLDER = """
import sys
from lazaretto.spark.lock import table_lock
with table_lock(object(), sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_threads_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    path = str(tmp_path / "table")

    def busy() -> bool:
        try:
            with table_lock(NO_JVM, path, wait=0):
                return False
        except AssetBusy:
            return True

    with ThreadPoolExecutor(1) as other:
        with table_lock(NO_JVM, path):
            assert other.submit(busy).result()
            assert other.submit(busy).result(), "a vain try must not take the lock away from whoever holds it"
        assert not other.submit(busy).result()


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(AssetBusy, match="another run holds"), table_lock(NO_JVM, path, wait=0):
            pass
        holder.kill()
        holder.wait()
    with table_lock(NO_JVM, path, wait=5):
        pass
