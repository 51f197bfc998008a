"""K-means. `kmeans.py INPUT OUTPUT CLUSTERS DIMENSIONS ITERATIONS`."""

import json
import sys

from pyspark.ml.clustering import KMeans
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import SparkSession


def main(source: str, target: str, clusters: str, dimensions: str, iterations: str) -> None:
    """Cluster the points below `source`; write centres and sizes as one JSON object."""
    spark = SparkSession.builder.appName("kmeans").getOrCreate()
    names = [f"x{index}" for index in range(int(dimensions))]
    rows = spark.read.csv(source, schema=", ".join(f"{name} DOUBLE" for name in names))
    points = VectorAssembler(inputCols=names, outputCol="features").transform(rows).cache()
    model = KMeans(k=int(clusters), maxIter=int(iterations), seed=1).fit(points)
    counted = model.transform(points).groupBy("prediction").count().collect()
    sizes = {row["prediction"]: row["count"] for row in counted}
    result = {
        "centres": [centre.tolist() for centre in model.clusterCenters()],
        "sizes": [sizes.get(index, 0) for index in range(int(clusters))],
    }
    spark.createDataFrame([(json.dumps(result),)], "value STRING").coalesce(1).write.text(target)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
