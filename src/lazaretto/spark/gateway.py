"""Start Spark's JVM quietly: what it prints goes through a filter instead of straight to the terminal.

A JVM for Spark 4.2 always begins with a warning about an incubator module, which no option turns off, and
writes to the standard output of the command that started it, where `--output json` promises one document.
So it gets a pipe; a thread passes on to standard error whatever is not known noise, and remembers the last
lines, which are the only place where a JVM that cannot start says why.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from lazaretto.extras import package_folder
from lazaretto.model.errors import SparkStartError
from lazaretto.spark.java import Java

_NOISE = (
    b"WARNING: Using incubator modules:",
    b"Picked up JAVA_TOOL_OPTIONS:",
    b"Picked up _JAVA_OPTIONS:",
)
_STDERR = 2

CLASSIC: dict[str, str | None] = {"SPARK_REMOTE": None, "SPARK_CONNECT_MODE_ENABLED": None}
"""Without these variables a builder gives a session of this machine, and not a Connect client."""


def launch(settings: Mapping[str, str]) -> None:
    """Start the JVM with `settings`, unless this process has one; raise SparkStartError if it fails."""
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        return
    conf = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        conf.set(key, value)
    with _Pipe() as pipe:
        streams = {"stdout": pipe.inlet, "stderr": subprocess.STDOUT}
        try:
            started = launch_gateway(conf, popen_kwargs=streams)
        except PySparkRuntimeError as error:
            raise SparkStartError(
                f"Spark's JVM ended before it was up; its last words: {pipe.last_words() or 'none'}.",
                "Run: lazaretto doctor",
            ) from error
        pipe.flow()
    SparkContext._ensure_initialized(gateway=started)


def variables(java: Java) -> dict[str, str | None]:
    """What Spark's scripts read: other values start another Spark, Java or Python than those checked."""
    return CLASSIC | {
        "JAVA_HOME": str(java.home) if java.home else None,
        "SPARK_HOME": str(package_folder("pyspark", extra="spark")),
        # Without it Spark asks for the host's own name, which not every container can resolve.
        "SPARK_LOCAL_IP": os.environ.get("SPARK_LOCAL_IP", "127.0.0.1"),
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
    }


@contextmanager
def environment(values: Mapping[str, str | None]) -> Iterator[None]:
    """Set variables of this process (None: unset them) and put back what was there."""
    before = {name: os.environ.get(name) for name in values}
    _set_variables(values)
    try:
        yield
    finally:
        _set_variables(before)


def _set_variables(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


class _Pipe:
    """A pipe with a thread at its outlet; leaving the block closes our copy of the inlet, not the JVM's.

    It holds lines back until `flow`: if the start fails they are in the error, and need not be seen twice.
    """

    def __init__(self) -> None:
        self._outlet, self.inlet = os.pipe()
        self._lock = threading.Lock()
        self._held: deque[bytes] | None = deque(maxlen=1000)
        # A daemon: it ends with the JVM or with this process, whichever comes first.
        self._thread = threading.Thread(target=self._read, name="lazaretto-spark-output", daemon=True)

    def __enter__(self) -> _Pipe:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._close_inlet()

    def flow(self) -> None:
        """Pass on what was held back, and from now on every line as it comes."""
        with self._lock:
            for line in self._held or ():
                _write(line)
            self._held = None

    def last_words(self) -> str:
        """What a JVM that ended before `flow` printed last, in one line."""
        self._close_inlet()
        self._thread.join(timeout=5)
        with self._lock:
            lines = [line.decode(errors="replace").strip() for line in self._held or ()]
        return " ".join(filter(None, lines))[-600:].rstrip(".")

    def _close_inlet(self) -> None:
        if self.inlet >= 0:
            os.close(self.inlet)
            self.inlet = -1

    def _read(self) -> None:
        with os.fdopen(self._outlet, "rb") as lines:
            for line in lines:
                if line.startswith(_NOISE):
                    continue
                with self._lock:
                    if self._held is None:
                        _write(line)
                    else:
                        self._held.append(line)


def _write(line: bytes) -> None:
    # Not sys.stderr: a daemon thread that holds its lock at exit aborts the interpreter.
    with suppress(OSError):
        os.write(_STDERR, line)
