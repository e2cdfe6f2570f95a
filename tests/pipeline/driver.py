"""Runs one batch in a process of its own, to be killed at a failpoint. Usage: driver.py PROJECT [RUN_ID]"""

from __future__ import annotations

import sys
from pathlib import Path

import lazaretto as lz
from lazaretto.spark import session

if __name__ == "__main__":
    project, run_id = Path(sys.argv[1]), (sys.argv[2:] or ["doomed"])[0]
    spark = session(app_name="crash", cores=1, memory="1g", conf={"spark.sql.shuffle.partitions": "2"})
    result = lz.run(lz.load_suite(project / "suites" / "orders.yml"), spark, run_id=run_id)
    print(result.outcome, result.counts.input)
