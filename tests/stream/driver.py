"""Streams a suite once in a process of its own, to be killed at a failpoint. Usage: driver.py PROJECT [LIMIT]"""

from __future__ import annotations

import sys
from pathlib import Path

import lazaretto as lz
from lazaretto.spark import session

if __name__ == "__main__":
    project, limit = Path(sys.argv[1]), int((sys.argv[2:] or ["1"])[0])
    spark = session(app_name="crash", cores=1, memory="1g", conf={"spark.sql.shuffle.partitions": "2"})
    result = lz.stream(lz.load_suite(project / "suites" / "orders.yml"), spark, once=True, limit=limit)
    print(result.ended, result.batches)
    sys.exit(result.exit_code)
