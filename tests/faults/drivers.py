"""Processes to be struck. One is always kept ready: while a cell is counted, the next one's Spark starts."""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
from pathlib import Path

_DRIVER = Path(__file__).parent.parent / "stream" / "driver.py"
_ready: list[subprocess.Popen[str]] = []


def ordered(*, keep_ready: bool, **order: object) -> subprocess.Popen[str]:
    """A process that sets about its order now. `keep_ready`: begin another one behind it."""
    process = _ready.pop() if _ready else _begun()
    assert process.stdin is not None
    process.stdin.write(json.dumps(order) + "\n")
    process.stdin.close()
    process.stdin = None  # `communicate` would close it once more
    if keep_ready:
        make_ready()
    return process


def make_ready() -> None:
    """See that one is ready, or will be soon."""
    if not _ready:
        _ready.append(_begun())


def _begun() -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, str(_DRIVER)], stdin=pipe, stdout=pipe, stderr=pipe, text=True)


@atexit.register
def _dismiss() -> None:
    for process in _ready:
        process.communicate("")  # no order: it ends by itself
