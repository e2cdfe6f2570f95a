"""What can be learnt of a frame without a job, and how errors are kept quiet."""

from __future__ import annotations

import subprocess
import sys


def test_hushing_leaves_pysparks_own_logger_in_place() -> None:
    """In a fresh process, where nobody has asked PySpark for the logger before."""
    code = (
        "from lazaretto.spark.frames import hushed, query_logger\n"
        "with hushed():\n    assert query_logger().disabled\n"
        "assert not query_logger().disabled\n"
        "query_logger().error('refused', errorClass='X')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
