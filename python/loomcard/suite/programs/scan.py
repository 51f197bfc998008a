"""Scan: copies the table of visits. `scan.py INPUT OUTPUT`."""

import sys

from pyspark.sql import SparkSession

SCHEMA = "address STRING, page STRING, day INT, cents INT, agent STRING, seconds INT"


def main(source: str, target: str) -> None:
    """Read the visits below `source` and write all of them to `target`, both as CSV."""
    spark = SparkSession.builder.appName("scan").getOrCreate()
    spark.read.csv(f"{source}/uservisits", schema=SCHEMA).createOrReplaceTempView("uservisits")
    spark.sql("SELECT * FROM uservisits").write.csv(target)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
