"""The contract with HiBench, against a stand-in that behaves as its scripts do, failures included.

What the stand-in does is what is known of HiBench 8: each script reads every *.conf of
HIBENCH_CONF_FOLDER in the order of names, later keys win; the report's folder must be there; one
line is appended to hibench.report by run.sh alone.
"""

import json
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import pytest

from loomcard.cli.app import run as command
from loomcard.suite.benchmarks import SuiteError
from loomcard.suite.hibench.configuration import Cluster, RunSettings, file_system, write
from loomcard.suite.hibench.drive import Wanted, drive
from loomcard.suite.hibench.installation import PROGRAMS, Installation, checks
from loomcard.suite.hibench.workloads import WORKLOADS, workload

MANDATORY = (
    "hibench.hadoop.home hibench.hadoop.executable hibench.hadoop.configure.dir hibench.hdfs.master"
    " hibench.hadoop.release hibench.hadoop.examples.jar hibench.hadoop.examples.test.jar"
    " hibench.default.map.parallelism hibench.default.shuffle.parallelism hibench.report.dir"
    " hibench.hdfs.data.dir hibench.masters.hostnames hibench.slaves.hostnames"
    " hibench.scale.profile"
)
SCRIPT = r"""
set -u
declare -A conf
for file in "$HIBENCH_CONF_FOLDER"/*.conf; do
  while read -r key value; do
    case $key in ''|\#*) ;; *) conf[$key]=$value ;; esac
  done < "$file"
done
for key in MANDATORY; do
  [ -n "${conf[$key]:-}" ] || { echo "AssertionError: $key not set"; exit 1; }
done
step=STEP workload=WORKLOAD framework=FRAMEWORK
[ ! -e "$HIBENCH_HOME/fail-$step" ] || { echo "prepare: out of room"; exit 3; }
"${conf[hibench.hadoop.executable]}" --config "${conf[hibench.hadoop.configure.dir]}" \
  jar "${conf[hibench.hadoop.examples.jar]}" $step "${conf[hibench.hdfs.data.dir]}/$workload"
[ $step = prepare ] && exit 0
[ ! -e "$HIBENCH_HOME/silent" ] || exit 0
printf "%-12s %-10s %-8s %-20s %-20s %-20s %-20s\n" "$framework$workload" 2026-11-23 12:00:00 \
  32768 17.5 1872 936 >> "${conf[hibench.report.dir]}/${conf[hibench.report.name]}"
"""
HADOOP = r"""#!/bin/bash
site=$(tr -d '\n' < "$2"/mapred-site.xml)
tag=${site#*job.tags</name><value>}
queue=$(grep -A1 queuename "$2"/mapred-site.xml | tr -d '\n')
echo "$* queue=$queue tag=${tag%%<*}" >> "$HIBENCH_HOME/../calls"
"""
CORE = "<configuration><property><name>fs.defaultFS</name><value>file:///</value></property>"
MAPRED = (
    "<configuration><property><name>mapreduce.job.queuename</name><value>old</value></property>"
    "<property><name>kept</name><value>1</value></property></configuration>"
)


@dataclass
class FakeRest:
    """An application for each call of the stand-in's `hadoop`, in the state that is told; it has
    ended at the second look.
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
    """A stand-in for HIBENCH_HOME, and a Hadoop that writes down how it was called."""
    home, hadoop = tmp_path / "HiBench", tmp_path / "hadoop"
    for each in WORKLOADS.values():
        folder = home / "bin" / "workloads" / each.path
        for framework in each.frameworks:
            for script in ("prepare/prepare.sh", f"{framework}/run.sh"):
                text = SCRIPT.replace("MANDATORY", MANDATORY).replace("WORKLOAD", each.name)
                text = text.replace("STEP", script.partition("/")[0]).replace(
                    "FRAMEWORK", framework
                )
                (folder / script).parent.mkdir(parents=True, exist_ok=True)
                (folder / script).write_text(text)
    (home / "bin" / "functions").mkdir()
    (home / "bin" / "functions" / "load_config.py").touch()
    (home / "conf").mkdir()
    (home / "conf" / "hibench.conf").write_text("hibench.scale.profile huge\nkept.by.user yes\n")
    (hadoop / "bin").mkdir(parents=True)
    (hadoop / "bin" / "hadoop").write_text(HADOOP)
    (hadoop / "bin" / "hadoop").chmod(0o755)
    jars = hadoop / "share" / "hadoop" / "mapreduce"
    jars.mkdir(parents=True)
    for name in ("examples-3.4.2", "client-jobclient-3.4.2-tests"):
        (jars / f"hadoop-mapreduce-{name}.jar").touch()
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "core-site.xml").write_text(CORE + "</configuration>")
    (conf / "mapred-site.xml").write_text(MAPRED)
    return Installation(home, Path(), None, hadoop)


def cluster(there: Installation) -> Cluster:
    return Cluster(there.home.parent / "conf", "localhost", ("n1", "n2"))


def driven(there: Installation, rest: FakeRest, *names: str, queue: str = "") -> list[Any]:
    wanted = [Wanted(workload(name), "hadoop", f"tag-{name}") for name in names]
    rest.calls = there.home.parent / "calls"
    out = there.home.parent / "out"
    return drive(
        wanted, there, cluster(there), rest,
        lambda each: RunSettings(out / each.tag, each.tag, "tiny", queue), at_a_time=len(wanted),
    )  # fmt: skip


def files(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_workloads_run_beside_each_other(there: Installation) -> None:
    """Each has its own report, data and configuration; HiBench's folder is left as it was."""
    before = files(there.home)
    ran = driven(there, FakeRest(), "wordcount", "sort", queue="root.a")
    assert [each.wrong for each in ran] == ["", ""]
    assert [each.reported["duration_s"] for each in ran] == ["17.5", "17.5"]
    steps = [[app["step"] for app in each.applications] for each in ran]
    assert steps == [["prepare", "run"], ["prepare", "run"]]
    assert files(there.home) == before
    calls = (there.home.parent / "calls").read_text().splitlines()
    assert len(calls) == 4
    assert all("<value>root.a</value>" in each for each in calls)
    assert len({each.split(" jar ")[1].split()[2] for each in calls}) == 2
    conf = there.home.parent / "out" / "tag-sort" / "conf"
    assert "kept.by.user yes" in (conf / "hibench.conf").read_text()
    assert sorted(p.name for p in conf.iterdir())[-1] == "zz-loomcard.conf"


def test_a_step_that_fails_is_named(there: Installation) -> None:
    """Nothing runs after a prepare that failed."""
    (there.home / "fail-prepare").touch()
    [ran] = driven(there, FakeRest(), "terasort")
    assert "prepare/prepare.sh ended with status 3: prepare: out of room" in ran.wrong
    assert not (there.home.parent / "calls").exists()


def test_a_prepared_input_is_taken_again(there: Installation, tmp_path: Path) -> None:
    """HiBench's generators know no seed, so policies are compared on one input."""
    first = Wanted(workload("sort"), "hadoop", "under-drf")
    second = replace(first, tag="under-dress", prepared=True)
    ran = drive(
        [first, second], there, cluster(there), FakeRest(calls=there.home.parent / "calls"),
        lambda each: RunSettings(tmp_path / each.tag, each.tag, "tiny", data="sort"),
    )  # fmt: skip
    assert [each.wrong for each in ran] == ["", ""]
    calls = (there.home.parent / "calls").read_text().splitlines()
    assert [line.split(" jar ")[1].split()[1] for line in calls] == ["prepare", "hadoop", "hadoop"]
    assert all("hibench-sort/" in line for line in calls)


def test_the_error_is_told_not_the_last_line(there: Installation) -> None:
    """After a job that failed, HiBench shows a log that is written on terminals alone."""
    said = "Error: java.lang.NullPointerException: no dictionary"
    tail = "tail: cannot open bench.log"
    script = there.home / "bin/workloads/micro/sort/prepare/prepare.sh"
    script.write_text(
        f"echo -e '\\033[1;31mERROR\\033[0m: job failed'; echo '{said}'; echo {tail}; exit 1"
    )
    [ran] = driven(there, FakeRest(), "sort")
    assert said in ran.wrong


def test_scripts_that_end_well_without_a_report_have_failed(there: Installation) -> None:
    """Mahout's and Hive's scripts do not look at what their program's status was."""
    (there.home / "silent").touch()
    [ran] = driven(there, FakeRest(), "kmeans")
    assert "HiBench reports nothing" in ran.wrong


def test_an_earlier_run_under_the_same_tag_counts_for_nothing(there: Installation) -> None:
    """Neither its line in the report nor its applications."""
    driven(there, FakeRest(), "kmeans")
    (there.home / "silent").touch()
    [ran] = driven(there, FakeRest(), "kmeans")
    assert ran.reported == {}
    assert [app["id"] for app in ran.applications] == ["application_1_0002", "application_1_0003"]


def test_yarn_has_the_last_word(there: Installation) -> None:
    """A job that failed there has failed, and one that was never seen did not run there."""
    [ran] = driven(there, FakeRest(state="KILLED"), "sort")
    assert ran.wrong == "application_1_0000 KILLED"
    [ran] = driven(there, FakeRest(seen=False), "sort")
    assert "did not run on this cluster" in ran.wrong


def test_the_mapreduce_queue_and_tag_are_in_the_runs_own_site_file(
    there: Installation, tmp_path: Path
) -> None:
    """HiBench has no key for them; what else the file says stays."""
    settings = RunSettings(tmp_path / "one", "t1", "small", "root.b", more={"spark.x": "1"})
    variables = write(settings, there, cluster(there))
    text = (tmp_path / "one" / "hadoop-conf" / "mapred-site.xml").read_text()
    for wanted in ("root.b", "t1", "kept"):
        assert wanted in text
    assert "old" not in text
    # Else a generator would not find what the distributed cache has linked beside it.
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
    """A line each, with what to do; what is there is shown with its place."""
    monkeypatch.setenv("PATH", "/nowhere")
    found = {each.what: each for each in checks(there, [(workload("kmeans"), "spark")])}
    missing = {name for name, each in found.items() if each.missing}
    assert missing == {*PROGRAMS, "spark-submit", "autogen", "sparkbench"}
    assert all(found[name].remedy for name in missing)
    assert found["ml.kmeans on spark"].found.endswith("ml/kmeans/spark/run.sh")


def test_the_doctors_exit_status(
    there: Installation, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["hibench", "doctor", "sort", "--framework", "hadoop", "--home", str(there.home)]
    words += ["--hadoop-home", str(there.hadoop_home)]
    programs = there.home.parent / "programs"
    programs.mkdir()
    for name in PROGRAMS:
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    assert command([*words, "--json"]) == 0
    words[2:5] = ["sort:hadoop"]
    capsys.readouterr()
    assert command([*words, "--json"]) == 0
    assert not any(each["missing"] for each in json.loads(capsys.readouterr().out))
    # As a version manager's stand-in does for a version that was not chosen.
    (programs / "python2").write_text("#!/bin/sh\nexit 127\n")
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
        (["run", "sort", "--set", "x"], "python2 is missing"),
    ],
)
def test_bad_input_is_one_line(
    there: Installation,
    words: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
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
    """HiBench calls `hadoop fs`, `jar` and `version`, and `yarn node`; nothing else is silent."""
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
