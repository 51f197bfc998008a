"""Join: the revenue of each address, and the mean rank of the pages it visited. `join.py INPUT
OUTPUT FIRST_DAY LAST_DAY`
"""

import sys

from pyspark.sql import SparkSession

VISITS = "address STRING, page STRING, day INT, cents INT, agent STRING, seconds INT"
RANKINGS = "url STRING, rank INT, seconds INT"
QUERY = """
    SELECT address, SUM(cents) AS earned, AVG(rank) AS mean_rank
    FROM uservisits JOIN rankings ON page = url
    WHERE day BETWEEN {first} AND {last}
    GROUP BY address
    ORDER BY earned DESC, address
"""


def main(source: str, target: str, first: str, last: str) -> None:
    """Join the tables below `source` over the days, and write address, cents and rank as CSV, the
    largest revenue first.
    """
    spark = SparkSession.builder.appName("join").getOrCreate()
    spark.read.csv(f"{source}/uservisits", schema=VISITS).createOrReplaceTempView("uservisits")
    spark.read.csv(f"{source}/rankings", schema=RANKINGS).createOrReplaceTempView("rankings")
    spark.sql(QUERY.format(first=int(first), last=int(last))).write.csv(target)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
