"""NWeight: the weights of paths between vertices some links apart. `nweight.py INPUT OUTPUT HOPS
KEPT`
"""

import sys

from pyspark.sql import SparkSession, Window
from pyspark.sql.functions import col, row_number
from pyspark.sql.functions import sum as total


def main(source: str, target: str, hops: str, kept: str) -> None:
    """Multiply the weights along every path of `hops` links of the graph below `source` (`from to
    weight`), add them over all paths between two vertices, and write the `kept` largest of each
    vertex as CSV.
    """
    spark = SparkSession.builder.appName("nweight").getOrCreate()
    links = spark.read.csv(source, sep=" ", schema="source INT, target INT, weight DOUBLE").cache()
    step = links.select(
        col("source").alias("middle"), col("target").alias("end"), col("weight").alias("more")
    )
    reached = links
    for _ in range(int(hops) - 1):
        paths = reached.join(step, col("target") == col("middle")).where("end <> source")
        product = total(col("weight") * col("more")).alias("weight")
        reached = paths.groupBy("source", col("end").alias("target")).agg(product)
    nearest = Window.partitionBy("source").orderBy(col("weight").desc(), col("target"))
    ranked = reached.withColumn("rank", row_number().over(nearest)).where(f"rank <= {int(kept)}")
    ranked.select("source", "target", "weight").write.csv(target)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
