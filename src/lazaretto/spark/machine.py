"""What this machine has: memory and cores, as far as this process may use them."""

from __future__ import annotations

import os
from pathlib import Path

GIB = 1024**3

_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def memory_bytes(cgroup_limits: tuple[Path, ...] = _CGROUP_LIMITS) -> int:
    """The memory of the machine, or of the container if that is less: the JVM is killed beyond it."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([total, *(limit for path in cgroup_limits if (limit := _limit(path)) is not None)])


def cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def driver_memory(total: int | None = None) -> str:
    """A quarter of the memory for Spark's JVM, in its notation: from 1 GiB up to 16 GiB.

    The JVM uses more than its heap, Python and the page cache want their share, and a heap above 16 GiB
    mostly makes garbage collection longer. Who knows better passes `memory`.
    """
    total = memory_bytes() if total is None else total
    return f"{max(GIB, min(total // 4, 16 * GIB)) // 1024**2}m"


def _limit(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such cgroup, or "max"
        return None
