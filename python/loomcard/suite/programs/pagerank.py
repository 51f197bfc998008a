"""PageRank. `pagerank.py INPUT OUTPUT ITERATIONS DAMPING`."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, count, lit
from pyspark.sql.functions import sum as total


def main(source: str, target: str, iterations: str, damping: str) -> None:
    """Rank the pages of the links below `source` (`from to`) and write page and rank as CSV."""
    spark = SparkSession.builder.appName("pagerank").getOrCreate()
    links = spark.read.csv(source, sep=" ", schema="page STRING, target STRING")
    degrees = links.groupBy("page").agg(count("target").alias("links"))
    links = links.join(degrees, "page").cache()
    ranks = degrees.select("page", lit(1.0).alias("rank"))
    kept = float(damping)
    for _ in range(int(iterations)):
        given = links.join(ranks, "page").select(
            col("target").alias("page"), (col("rank") / col("links")).alias("given")
        )
        got = total("given")
        ranks = given.groupBy("page").agg((lit(1 - kept) + lit(kept) * got).alias("rank"))
    ranks.select("page", "rank").write.csv(target)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
