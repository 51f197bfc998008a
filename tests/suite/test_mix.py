"""Mixes: what a file may contain, the messages for mistakes, and the jobs of a mix."""

import json
import re
from pathlib import Path

import pytest

from loomcard.cluster.job_profiles import PROFILES
from loomcard.suite.benchmarks import BENCHMARKS
from loomcard.suite.mix import Mix, arrivals, find, one_each, read_mix, schema
from loomcard.suite.shipped_mixes import shipped
from loomcard.validation.findings import FindingsError


def mix(tmp_path: Path, text: str) -> Mix:
    file = tmp_path / "mine.yml"
    file.write_text(f"version: 1\nkind: mix\n{text}")
    return read_mix(file)


def test_jobs_come_one_after_the_other(tmp_path: Path) -> None:
    """A stated time counts for the first of several jobs; the next comes `every_s` later."""
    text = (
        "every_s: 5\njobs:\n- {benchmark: sort, count: 2, user: bob}\n"
        "- {benchmark: join, at_s: 2.5, queue: root.a, tags: [x, tiny]}\n- {benchmark: lr}\n"
    )
    found = arrivals(mix(tmp_path, text), 1)
    assert [(each.id, each.at_ms) for each in found] == [
        ("1-sort", 0),
        ("3-join", 2500),
        ("2-sort", 5000),
        ("4-lr", 7500),
    ]
    assert found[1].tags == ("x", "tiny", "join")
    assert (found[1].queue, found[0].user, found[1].user) == ("root.a", "bob", "")


def test_shuffled_jobs_are_the_same_under_every_policy(tmp_path: Path) -> None:
    """The number of a repetition decides its order; times stay, jobs change places."""
    names = [{"benchmark": name} for name in ("sort", "join", "lr", "scan", "bayes", "kmeans")]
    shuffled = mix(tmp_path, f"every_s: 1\nshuffled: true\njobs: {names}\n")
    orders = [[each.job.benchmark.name for each in arrivals(shuffled, n)] for n in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])
    assert [each.at_ms for each in arrivals(shuffled, 2)] == [0, 1000, 2000, 3000, 4000, 5000]


def test_every_mistake_is_named_with_its_line(tmp_path: Path) -> None:
    text = (
        "submiters: 2\nwarm_up: [sorted]\ncluster: {nodes: 0}\n"
        "jobs:\n- {benchmark: sort, size: huge}\n- {size: tiny}\n- {benchmark: sort, counts: 2}\n"
    )
    with pytest.raises(FindingsError) as said:
        mix(tmp_path, text)
    found = {(each.line, each.path): f"{each.message} {each.hint}" for each in said.value.findings}
    assert "did you mean 'submitters'?" in found[3, "submiters"]
    assert "found the number 0" in found[5, "cluster.nodes"]
    assert "found the text 'huge'" in found[7, "jobs[0].size"]
    assert "benchmark: wordcount" in found[8, "jobs[1]"]
    assert "did you mean 'count'?" in found[9, "jobs[2].counts"]


def test_an_unknown_benchmark_is_named(tmp_path: Path) -> None:
    with pytest.raises(FindingsError) as said:
        mix(tmp_path, "warm_up: [sorted]\njobs: [{benchmark: wordcont}]\n")
    assert [each.path for each in said.value.findings] == ["warm_up[0]", "jobs[0].benchmark"]
    assert "did you mean 'wordcount'?" in said.value.findings[1].hint


@pytest.mark.parametrize("key", ["queue", "user", "benchmark", "profile"])
def test_a_bad_name_is_told_which_characters_it_may_have(tmp_path: Path, key: str) -> None:
    """The message is in words, not a regular expression; editors get that from the schema."""
    job = {"benchmark": "sort"} | {key: "root/a b"}
    with pytest.raises(FindingsError) as said:
        mix(tmp_path, f"jobs:\n- {job}\n")
    [found] = said.value.findings
    assert (found.line, found.path) == (4, f"jobs[0].{key}")
    wanted = "expected a name of letters, digits, dots, _ and -, found the text 'root/a b'"
    assert found.message == wanted
    assert '"^[A-Za-z0-9_.-]+$"' in json.dumps(schema())


def test_executors_are_for_spark_jobs(tmp_path: Path) -> None:
    """A Spark job has two, unless the mix says how many; a MapReduce job has none."""
    spark = mix(tmp_path, "jobs:\n- {benchmark: lr}\n- {benchmark: join, executors: 6}\n")
    assert [each.executors for each in arrivals(spark, 1)] == [2, 6]
    with pytest.raises(FindingsError) as said:
        mix(tmp_path, "jobs: [{benchmark: sort, executors: 6}]\n")
    assert said.value.findings[0].path == "jobs[0].executors"
    assert "MapReduce" in said.value.findings[0].message


def test_a_profile_is_the_mixs_or_the_jobs(tmp_path: Path) -> None:
    """Its properties and the tag of the job's reduces reach every MapReduce job, and no Spark
    job.
    """
    jobs = "jobs:\n- {benchmark: sort, size: small}\n- {benchmark: lr}\n"
    sort, lr = arrivals(mix(tmp_path, f"profile: coupling\n{jobs}"), 1)
    assert sort.definitions == PROFILES["coupling"] | {"mapreduce.job.tags": "reduces=2"}
    assert lr.definitions == {}
    own = "jobs: [{benchmark: sort, profile: coupling}, {benchmark: sort}]\n"
    first, second = arrivals(mix(tmp_path, own), 1)
    assert first.definitions["mapreduce.job.tags"] == "reduces=1"
    assert second.definitions == {}


def test_an_unknown_profile_and_a_spark_jobs_are_named(tmp_path: Path) -> None:
    with pytest.raises(FindingsError) as said:
        mix(tmp_path, "profile: cupling\njobs: [{benchmark: lr, profile: coupling}]\n")
    found = {each.path: f"{each.message} {each.hint}" for each in said.value.findings}
    assert "did you mean 'coupling'?" in found["profile"]
    assert "lr is a Spark job" in found["jobs[0].profile"]


def test_mixes_that_ship_can_be_read() -> None:
    """One has the ten of the paper; its mixed workload has 20 jobs, 30 % of them small."""
    for name in shipped():
        assert arrivals(read_mix(find(name)), 1)
    assert len({job.benchmark for job in read_mix(find("ten-tiny")).jobs}) == 10
    jobs = arrivals(read_mix(find("dress-mixed")), 1)
    assert len(jobs) == 20
    assert sum("few" in job.tags for job in jobs) == 6
    coupled = arrivals(read_mix(find("coupling-mapreduce")), 1)
    assert {job.profile for job in coupled} == {"coupling"}
    assert {(job.job.benchmark.name, job.job.size) for job in coupled} == {
        (name, size)
        for name in ("wordcount", "sort", "terasort", "grep")
        for size in ("tiny", "small")
    }


def test_a_mix_of_names() -> None:
    """Each job that the command line names runs once, all at once."""
    found = arrivals(one_each(["sort", "lr"], "small"), 1)
    assert [(each.id, each.job.size, each.at_ms) for each in found] == [
        ("1-sort", "small", 0),
        ("2-lr", "small", 0),
    ]


def test_other_benchmarks_make_a_mix_of_another_name() -> None:
    """The name differs, so that the results of one do not replace those of the other."""
    assert one_each(["sort", "lr"], "small").name == "sort-lr-small"
    assert one_each(["sort", "lr"], "tiny").name == "sort-lr-tiny"
    many = one_each([*BENCHMARKS], "tiny").name
    assert many.startswith("tiny-11-")
    assert many != one_each([*reversed(BENCHMARKS)], "tiny").name


def test_the_schema_knows_every_key() -> None:
    assert set(schema()["properties"]) == set(Mix.model_fields)


def test_the_page_shows_a_mix_that_can_be_read(tmp_path: Path) -> None:
    """A copy of the example in docs/benchmarks/suite.md is a mix."""
    page = (Path(__file__).parents[2] / "docs" / "benchmarks" / "suite.md").read_text()
    [text] = re.findall(r"^```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    file = tmp_path / "copied.yml"
    file.write_text(text)
    assert len(arrivals(read_mix(file), 1)) == 6
