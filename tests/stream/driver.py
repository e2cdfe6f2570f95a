"""Makes itself a Spark, waits for an order on standard input, and then streams a suite once or sends its corrected
records back; it is there to be struck at a failpoint.

The order is one line of JSON: {"project": …, "source": …, "limit": …, "failpoint": …}
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import lazaretto as lz
from lazaretto.spark import session

if __name__ == "__main__":
    spark = session(app_name="crash", cores=1, memory="1g", conf={"spark.sql.shuffle.partitions": "2"})
    with tempfile.TemporaryDirectory(prefix="lazaretto-warm-") as scratch:
        spark.range(1).write.format("delta").save(f"{scratch}/table")  # while nobody waits for it
    if not (line := sys.stdin.readline()):
        sys.exit()
    order = json.loads(line)
    os.environ["LAZARETTO_FAILPOINT"] = order["failpoint"]
    suite = lz.load_suite(Path(order["project"]) / "suites" / "orders.yml")
    if order["source"] == "recycle":
        print([sent.outcome for sent in lz.recycle(suite, spark)])
        sys.exit()
    result = lz.stream(suite, spark, once=True, limit=order["limit"])
    print(result.ended, result.batches)
    sys.exit(result.exit_code)
