"""Streams a suite once in a process of its own, to be killed at a failpoint, or sends its corrected records back.

Usage: driver.py PROJECT [LIMIT [SOURCE]]
"""

from __future__ import annotations

import sys
from pathlib import Path

import lazaretto as lz
from lazaretto.spark import session

if __name__ == "__main__":
    project, limit = Path(sys.argv[1]), int((sys.argv[2:] or ["1"])[0])
    spark = session(app_name="crash", cores=1, memory="1g", conf={"spark.sql.shuffle.partitions": "2"})
    suite = lz.load_suite(project / "suites" / "orders.yml")
    if sys.argv[3:] == ["recycle"]:
        print([sent.outcome for sent in lz.recycle(suite, spark)])
        sys.exit()
    result = lz.stream(suite, spark, once=True, limit=limit)
    print(result.ended, result.batches)
    sys.exit(result.exit_code)
