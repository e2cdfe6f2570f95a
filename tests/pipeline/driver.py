"""Runs one batch in a process of its own, to be killed at a failpoint. Usage: driver.py PROJECT"""

from __future__ import annotations

import sys
from pathlib import Path

import lazaretto as lz
from lazaretto.spark import session

if __name__ == "__main__":
    spark = session(app_name="crash", cores=1, memory="1g", conf={"spark.sql.shuffle.partitions": "2"})
    lz.run(lz.load_suite(Path(sys.argv[1]) / "suites" / "orders.yml"), spark, run_id="doomed")
