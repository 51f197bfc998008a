"""Logistic regression. `lr.py INPUT OUTPUT FEATURES ITERATIONS`."""

import json
import sys

from pyspark.ml.classification import LogisticRegression
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import SparkSession


def main(source: str, target: str, features: str, iterations: str) -> None:
    """Fit a model to the labelled points below `source`; write its coefficients and its accuracy on
    them as one JSON object.
    """
    spark = SparkSession.builder.appName("lr").getOrCreate()
    names = [f"x{index}" for index in range(int(features))]
    schema = ", ".join(f"{name} DOUBLE" for name in ["label", *names])
    rows = spark.read.csv(source, schema=schema)
    points = VectorAssembler(inputCols=names, outputCol="features").transform(rows)
    model = LogisticRegression(maxIter=int(iterations)).fit(points.cache())
    result = {
        "accuracy": model.summary.accuracy,
        "coefficients": model.coefficients.toArray().tolist(),
        "intercept": model.intercept,
    }
    spark.createDataFrame([(json.dumps(result),)], "value STRING").coalesce(1).write.text(target)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
