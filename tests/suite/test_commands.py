"""The exact command of a job, word by word."""

from pathlib import PurePosixPath

from loomcard.suite.benchmarks import BENCHMARKS
from loomcard.suite.commands import Submitted, Where, mapreduce, on_yarn, spark
from loomcard.suite.inputs import Job

WHERE = Where("hdfs:///in", "hdfs:///out")


def test_a_mapreduce_job() -> None:
    """Properties come before the program's own arguments, input and output last."""
    job = Job(BENCHMARKS["wordcount"], "small")
    said = mapreduce(job, WHERE, Submitted("w1", "root.a", {"mapreduce.job.tags": "x"}))
    assert said == [
        "org.apache.hadoop.examples.WordCount",
        "-Dmapreduce.job.reduces=2",
        "-Dmapreduce.job.name=w1",
        "-Dmapreduce.job.queuename=root.a",
        "-Dmapreduce.job.tags=x",
        "hdfs:///in",
        "hdfs:///out",
    ]


def test_sort_reads_text_and_is_told_its_reduces() -> None:
    """By default Sort would read sequence files, and ask the cluster for the number of reduces."""
    said = mapreduce(Job(BENCHMARKS["sort"], "tiny"), WHERE, Submitted("s"))
    assert said[said.index("-r") + 1] == "1"
    assert said[said.index("-inFormat") + 1].endswith("KeyValueTextInputFormat")
    assert said[-2:] == ["hdfs:///in", "hdfs:///out"]


def test_greps_pattern_follows_input_and_output() -> None:
    said = mapreduce(Job(BENCHMARKS["grep"], "small"), WHERE, Submitted("g"))
    assert said[0] == "org.apache.hadoop.examples.Grep"
    assert said[-3:] == ["hdfs:///in", "hdfs:///out", "word[0-9]*7"]


def test_a_spark_job_on_yarn() -> None:
    """Driver and executors run in containers, from an environment that the nodes have."""
    home, python = PurePosixPath("/env/pyspark"), PurePosixPath("/env/bin/python")
    said = spark(
        Job(BENCHMARKS["pagerank"], "tiny"),
        WHERE,
        Submitted("p1"),
        PurePosixPath("/programs"),
        on_yarn(home, python, "root.b", 5),
    )
    settings = dict(
        each.split("=", 1) for each in said[1 : said.index("/programs/pagerank.py") : 2]
    )
    assert settings["spark.yarn.jars"] == "local:/env/pyspark/jars/*"
    assert settings["spark.yarn.queue"] == "root.b"
    assert settings["spark.app.name"] == "p1"
    assert settings["spark.executor.instances"] == "5"
    assert settings["spark.yarn.appMasterEnv.PYSPARK_PYTHON"] == "/env/bin/python"
    assert said[-5:] == ["/programs/pagerank.py", "hdfs:///in", "hdfs:///out", "3", "0.85"]
