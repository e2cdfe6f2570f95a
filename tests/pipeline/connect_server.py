"""A Spark Connect server of our own, with Delta Lake. Usage: connect_server.py PORT WAREHOUSE; ends with its input."""

from __future__ import annotations

import sys

from lazaretto.spark import session

if __name__ == "__main__":
    spark = session(
        "connect-server",
        cores=2,
        memory="1g",
        warehouse=sys.argv[2],
        conf={
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.port": sys.argv[1],
            "spark.sql.shuffle.partitions": "2",
        },
    )
    print("ready", flush=True)
    sys.stdin.read()
    spark.stop()
