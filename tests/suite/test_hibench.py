"""The contract with HiBench, against the stand-in of tests/support/fake_hibench.py."""

import json
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import pytest

from fake_hibench import installed, programs
from loomcard.cli.app import run as command
from loomcard.suite.benchmarks import SuiteError
from loomcard.suite.hibench.configuration import Cluster, RunSettings, file_system, write
from loomcard.suite.hibench.drive import Ran, Step, Wanted, drive
from loomcard.suite.hibench.installation import PROGRAMS, Installation, checks
from loomcard.suite.hibench.workloads import workload


@dataclass
class FakeRest:
    """Return an application for each call of the stand-in's `hadoop`, in the given state; it has
    ended when it is looked at the second time.
    """

    state: str = "SUCCEEDED"
    seen: bool = True
    calls: Path = Path()
    looks: int = 0

    def applications(self) -> list[dict[str, Any]]:
        self.looks += 1
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        tags = [line.partition("tag=")[2] for line in lines]
        state = "FINISHED" if self.looks % 2 else "RUNNING"
        return [
            {
                "id": f"application_1_{number:04}",
                "name": "word count",
                "queue": "root.a",
                "state": state,
                "applicationTags": f"x,{tag}" if self.seen else "others",
                "finalStatus": self.state if state == "FINISHED" else "UNDEFINED",
                "startedTime": 1000 * number,
                "launchTime": 1000 * number + 500,
                "finishedTime": 9000,
            }
            for number, tag in enumerate(tags)
        ]


@pytest.fixture
def there(tmp_path: Path) -> Installation:
    return installed(tmp_path)


def cluster(there: Installation) -> Cluster:
    return Cluster(there.home.parent / "conf", "localhost", ("n1", "n2"))


def driven(
    there: Installation, rest: FakeRest, *names: str, queue: str = "", step: Step = "run"
) -> list[Ran]:
    wanted = [Wanted(workload(name), "hadoop", f"tag-{name}", step) for name in names]
    rest.calls = there.home.parent / "calls"
    out = there.home.parent / "out"
    return drive(
        wanted, there, cluster(there), rest,
        lambda each: RunSettings(out / each.tag, each.tag, "tiny", queue), at_a_time=len(wanted),
    )  # fmt: skip


def files(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_workloads_run_beside_each_other(there: Installation) -> None:
    """Each has its own report, data and configuration; HiBench's folder is not changed."""
    before = files(there.home)
    ran = driven(there, FakeRest(), "wordcount", "sort", queue="root.a")
    assert [each.wrong for each in ran] == ["", ""]
    assert [each.reported["duration_s"] for each in ran] == ["17.5", "17.5"]
    assert [len(each.applications) for each in ran] == [1, 1]
    assert files(there.home) == before
    calls = (there.home.parent / "calls").read_text().splitlines()
    assert len(calls) == 2
    assert all("<value>root.a</value>" in each for each in calls)
    assert len({each.split(" jar ")[1].split()[2] for each in calls}) == 2
    conf = there.home.parent / "out" / "tag-sort" / "conf"
    assert "kept.by.user yes" in (conf / "hibench.conf").read_text()
    assert sorted(p.name for p in conf.iterdir())[-1] == "zz-loomcard.conf"


def test_scripts_start_at_their_times(there: Installation, tmp_path: Path) -> None:
    """The one that is named first starts last here; each asks for as much as is stated."""
    rest = FakeRest(calls=tmp_path / "calls")
    wanted = [
        Wanted(workload("sort"), "hadoop", "late", parallelism=1, after_s=2.0),
        Wanted(workload("wordcount"), "hadoop", "early", parallelism=3),
    ]
    ran = drive(
        wanted, there, cluster(there), rest,
        lambda each: RunSettings(tmp_path / each.tag, each.tag, "tiny", "", each.parallelism),
        at_a_time=2,
    )  # fmt: skip
    lines = rest.calls.read_text().splitlines()
    assert [line.rpartition("tag=")[2] for line in lines] == ["early", "late"]
    documents = [each.document() for each in ran]
    assert [(each["parallelism"], each["after_s"]) for each in documents] == [(1, 2.0), (3, 0.0)]
    ours = (tmp_path / "late" / "conf" / "zz-loomcard.conf").read_text()
    assert "hibench.default.map.parallelism 1\n" in ours


def test_a_step_that_fails_is_named(there: Installation) -> None:
    (there.home / "fail-prepare").touch()
    [ran] = driven(there, FakeRest(), "terasort", step="prepare")
    assert "prepare/prepare.sh ended with status 3: prepare: out of room" in ran.wrong
    assert not (there.home.parent / "calls").exists()


def test_the_error_is_shown_not_the_last_line(there: Installation) -> None:
    """After a failed job, HiBench shows a log that is written only on terminals."""
    said = "Error: java.lang.NullPointerException: no dictionary"
    tail = "tail: cannot open bench.log"
    script = there.home / "bin/workloads/micro/sort/prepare/prepare.sh"
    script.write_text(
        f"echo -e '\\033[1;31mERROR\\033[0m: job failed'; echo '{said}'; echo {tail}; exit 1"
    )
    [ran] = driven(there, FakeRest(), "sort", step="prepare")
    assert said in ran.wrong


def test_scripts_that_end_well_without_a_report_have_failed(there: Installation) -> None:
    """Mahout's and Hive's scripts do not check the status of their program."""
    (there.home / "silent").touch()
    [ran] = driven(there, FakeRest(), "kmeans")
    assert "HiBench reports nothing" in ran.wrong


def test_an_earlier_run_under_the_same_tag_counts_for_nothing(there: Installation) -> None:
    """Neither its line in the report nor its applications count."""
    driven(there, FakeRest(), "kmeans")
    (there.home / "silent").touch()
    [ran] = driven(there, FakeRest(), "kmeans")
    assert ran.reported == {}
    assert [app["id"] for app in ran.applications] == ["application_1_0001"]


def test_yarn_has_the_last_word(there: Installation) -> None:
    """A job that failed on YARN has failed, and one that YARN never saw did not run there."""
    [ran] = driven(there, FakeRest(state="KILLED"), "sort")
    assert ran.wrong == "application_1_0000 KILLED"
    [ran] = driven(there, FakeRest(seen=False), "sort")
    assert "did not run on this cluster" in ran.wrong


@pytest.mark.parametrize("there_too", [False, True])
def test_the_copy_of_core_site_names_no_file_that_only_nodes_have(
    there: Installation, tmp_path: Path, there_too: bool
) -> None:
    """A client would try to run the script of racks, and to unpack jars in the temporary folder."""
    names = ("net.topology.script.file.name", "net.topology.table.file.name", "hadoop.tmp.dir")
    files = {name: tmp_path / "nodes" / name for name in names}
    more = "".join(
        f"<property><name>{name}</name><value>{file}</value></property>"
        for name, file in files.items()
    )
    core = tmp_path / "conf" / "core-site.xml"
    before = core.read_text().replace("</configuration>", f"{more}</configuration>")
    core.write_text(before)
    for file in files.values() if there_too else ():
        file.mkdir(parents=True)
    write(RunSettings(tmp_path / "one", "t1", "tiny"), there, cluster(there))
    root = ET.parse(tmp_path / "one" / "hadoop-conf" / "core-site.xml").getroot()  # noqa: S314
    found = {each.findtext("name"): each.findtext("value") for each in root.iter("property")}
    own = {"hadoop.tmp.dir": str(tmp_path / "one" / "tmp")}
    wanted = {name: str(file) for name, file in files.items()} if there_too else own
    assert found == {"fs.defaultFS": "file:///", **wanted}
    assert Path(str(found["hadoop.tmp.dir"])).is_dir()
    assert core.read_text() == before


def test_the_mapreduce_queue_and_tag_are_in_the_runs_own_site_file(
    there: Installation, tmp_path: Path
) -> None:
    """HiBench has no key for them; the other content of the file stays."""
    settings = RunSettings(tmp_path / "one", "t1", "small", "root.b", more={"spark.x": "1"})
    variables = write(settings, there, cluster(there))
    text = (tmp_path / "one" / "hadoop-conf" / "mapred-site.xml").read_text()
    for wanted in ("root.b", "t1", "kept"):
        assert wanted in text
    assert "old" not in text
    # Otherwise a generator would not find what the distributed cache links beside it.
    assert "<name>mapreduce.job.working.dir</name><value>.</value>" in text
    ours = (Path(variables["HIBENCH_CONF_FOLDER"]) / "zz-loomcard.conf").read_text()
    assert "hibench.scale.profile small\n" in ours
    assert ours.endswith("spark.x 1\n")
    assert "spark.home" not in ours


def test_a_spark_run_is_told_queue_and_tag(there: Installation, tmp_path: Path) -> None:
    spark = Installation(there.home, Path(), Path("/spark"), there.hadoop_home)
    variables = write(RunSettings(tmp_path / "one", "t1", "tiny", "root.b"), spark, cluster(there))
    ours = (Path(variables["HIBENCH_CONF_FOLDER"]) / "zz-loomcard.conf").read_text()
    for wanted in ("spark.yarn.queue root.b", "spark.yarn.tags t1", "hibench.spark.home /spark"):
        assert f"{wanted}\n" in ours


def test_the_doctor_names_what_is_missing(
    there: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is a line for each, with what to do; a part that exists is shown with its place."""
    monkeypatch.setenv("PATH", "/nowhere")
    found = {each.what: each for each in checks(there, [(workload("kmeans"), "spark")])}
    missing = {name for name, each in found.items() if each.missing}
    assert missing == {*PROGRAMS, "spark-submit", "autogen", "sparkbench"}
    assert all(found[name].remedy for name in missing)
    assert found["ml.kmeans on spark"].found.endswith("ml/kmeans/spark/run.sh")


def test_where_no_hibench_is_its_parts_are_not_missed(tmp_path: Path) -> None:
    """The folder that was named is shown; the other parts that are needed come below it."""
    found = checks(Installation(tmp_path, Path()), [(workload("sort"), "spark")])
    assert found[0].missing
    assert f"{tmp_path} is not HiBench" in found[0].remedy
    assert [each.what for each in found[1:]][-1] == "spark-submit"


def test_the_doctors_exit_status(
    there: Installation, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["hibench", "doctor", "sort", "--framework", "hadoop", "--home", str(there.home)]
    words += ["--hadoop-home", str(there.hadoop_home)]
    path = programs(there.home.parent / "programs")
    monkeypatch.setenv("PATH", str(path))
    assert command([*words, "--json"]) == 0
    words[2:5] = ["sort:hadoop"]
    capsys.readouterr()
    assert command([*words, "--json"]) == 0
    assert not any(each["missing"] for each in json.loads(capsys.readouterr().out))
    spark = there.home.parent / "spark" / "bin"
    spark.mkdir(parents=True)
    (spark / "spark-submit").touch()
    words[2:3] = ["sort:spark", "--spark-home", str(spark.parent)]
    command([*words, "--json"])
    found = {each["what"]: each for each in json.loads(capsys.readouterr().out)}
    assert not found["spark-submit"]["missing"]
    words[2:5] = ["sort:hadoop"]
    # Like a version manager's stand-in for a version that is not selected.
    (path / "python2").write_text("#!/bin/sh\nexit 127\n")
    assert command(words) == 1
    assert "missing  python2: none runs, and HiBench's scripts" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["doctor", "grep"], "no workload 'grep' of HiBench (there are micro.wordcount, "),
        (["doctor", "lr", "--framework", "hadoop"], "ml.lr does not run on hadoop"),
        (["doctor", "sort", "--framework", "storm"], "no framework 'storm'"),
        (["doctor", "sort:storm"], "no framework 'storm'"),
        (["doctor", "sort", "lr:hadoop"], "ml.lr does not run on hadoop"),
        (["run", "sort", "--set", "x"], "--set x: no key of HiBench's"),
        (["run", "sort", "--scale", "enormous"], "--scale enormous: no such scale (there are tiny"),
        (["run", "sort", "--policy", "drff"], "policy 'drff': "),
        (["run", "sort", "--policy", "stock:fair"], "stock:fair cannot be brought into a cluster"),
        (["run", "sort", "--out", __file__], f"{__file__}: no folder (name another with --out"),
        (["run", "sort", "--out", str(Path(__file__).parent)], f"{Path(__file__).parent}: holds"),
        (["run", "sort"], "python2 is missing"),
        (["run", "sort", "--scale", "mine"], "python2 is missing"),
    ],
)
def test_bad_input_is_one_line(
    there: Installation,
    words: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Errors in options come first, then what is missing; a scale of the user's own is allowed."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(there.home.parent)  # results of the reader's own runs may be in run/hibench
    (there.home / "conf" / "workloads").mkdir()
    (there.home / "conf" / "workloads" / "sort.conf").write_text("hibench.sort.mine.datasize 1\n")
    hadoop = ["--hadoop-home", str(there.hadoop_home)]
    assert command(["hibench", *words, "--home", str(there.home), *hadoop]) == 2
    assert capsys.readouterr().err.startswith(f"error: {said}")


def test_a_folder_without_configuration_is_named(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="that can be read"):
        file_system(tmp_path)


@pytest.mark.parametrize("name", ["hadoop", "yarn"])
def test_the_launchers_refuse_what_they_cannot(
    there: Installation, tmp_path: Path, name: str
) -> None:
    """HiBench calls `hadoop fs`, `jar` and `version`, and `yarn node`; any other call is
    refused.
    """
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "hadoop-common-3.4.2.jar").touch()
    ours = Installation(there.home, tmp_path / "jars")
    write(RunSettings(tmp_path / "one", "t", "tiny"), ours, cluster(there))
    launcher = tmp_path / "one" / "hadoop" / "bin" / name
    done = subprocess.run([launcher, "strange"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{name}: no command strange here" in done.stderr


def test_spark_on_other_machines_is_found_where_they_have_it(
    there: Installation, tmp_path: Path
) -> None:
    """Executors take Spark's jars from their own machine; the driver runs on this one."""
    spark = Installation(there.home, Path(), Path("/spark"), there.hadoop_home)
    nodes = replace(
        cluster(there),
        spark={"spark.driver.host": "10.0.0.1"},
        spark_home=PurePath("/opt/spark"),
        variables={"HADOOP_USER_NAME": "hadoop"},
    )
    variables = write(RunSettings(tmp_path / "one", "t1", "tiny"), spark, nodes)
    ours = (Path(variables["HIBENCH_CONF_FOLDER"]) / "zz-loomcard.conf").read_text()
    for wanted in (
        "hibench.spark.home /spark",
        "spark.yarn.jars local:/opt/spark/jars/*",
        "spark.driver.host 10.0.0.1",
    ):
        assert f"{wanted}\n" in ours
    assert variables["HADOOP_USER_NAME"] == "hadoop"
