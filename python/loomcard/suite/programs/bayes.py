"""Naive Bayes over words. `bayes.py INPUT OUTPUT`."""

import json
import sys

from pyspark.ml.classification import NaiveBayes
from pyspark.ml.feature import CountVectorizer, Tokenizer
from pyspark.sql import SparkSession
from pyspark.sql.functions import avg, col, count, countDistinct


def main(source: str, target: str) -> None:
    """Learn the classes of the pages below `source` (label, tab, words); write the number of
    classes and of words, and the share of pages that the model classifies correctly, as one JSON
    object.
    """
    spark = SparkSession.builder.appName("bayes").getOrCreate()
    rows = spark.read.csv(source, sep="\t", schema="label DOUBLE, text STRING")
    words = Tokenizer(inputCol="text", outputCol="words").transform(rows)
    vectors = CountVectorizer(inputCol="words", outputCol="features").fit(words).transform(words)
    predicted = NaiveBayes().fit(vectors.cache()).transform(vectors)
    right = (col("prediction") == col("label")).cast("int")
    pages, classes, accuracy = predicted.select(
        count("label"), countDistinct("label"), avg(right)
    ).first()
    text = json.dumps({"pages": pages, "classes": classes, "accuracy": accuracy})
    spark.createDataFrame([(text,)], "value STRING").coalesce(1).write.text(target)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
