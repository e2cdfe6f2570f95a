"""Does what it is told on a Spark Connect session. Usage: connect_client.py PORT, a JSON object a line, an answer each.

A process of its own: PySpark is either classic or Connect in a process.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import lazaretto as lz


class Client:
    """What can be asked for."""

    def __init__(self, port: str) -> None:
        self.spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()

    def run(self, suite: str, frame: list[Any] | None = None, failpoint: str = "", **options: Any) -> Any:
        """One run; `frame` are rows of a DataFrame in place of the source."""
        os.environ["LAZARETTO_FAILPOINT"] = failpoint
        if frame is not None:
            options["df"] = self.spark.createDataFrame([tuple(row) for row in frame], "id bigint, name string")
        result = lz.run(lz.load_suite(Path(suite)), self.spark, **options)
        return {"outcome": result.outcome, "message": result.message, **result.to_dict()}

    def stream(self, suite: str) -> Any:
        return lz.stream(lz.load_suite(Path(suite)), self.spark, once=True).to_dict()

    def recycle(self, suite: str) -> Any:
        return [result.to_dict() for result in lz.recycle(lz.load_suite(Path(suite)), self.spark)]

    def settings(self) -> Any:
        return sorted((row.key, row.value) for row in self.spark.sql("SET").collect())

    def tried(self, texts: list[str]) -> Any:
        """Texts as VARIANT; NULL where that throws."""
        from lazaretto.spark.tries import tried_variant

        parsed = tried_variant(self.spark, "CASE WHEN t <> '' THEN parse_json(t) END")
        rows = self.spark.createDataFrame([(t,) for t in texts], "t string").select(parsed.alias("v")).collect()
        return [None if row.v is None else row.v.toJson() for row in rows]


if __name__ == "__main__":
    client = Client(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed is no answer
    for line in sys.stdin:
        wish = json.loads(line)
        try:
            answer = {"gave": getattr(client, wish.pop("do"))(**wish)}
        except Exception as error:
            answer = {"raised": type(error).__name__, "text": str(error), "trace": traceback.format_exc()}
        print(json.dumps(answer, default=str), file=answers, flush=True)
