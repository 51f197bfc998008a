"""Tests of workload files: what is read, what is drawn, and what is refused in which line."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loomcard.api.stages.dag_hint import read_dag
from loomcard.workload import load
from loomcard.workload.hints import hints
from loomcard.workload.scenario import read_scenario, write_scenario
from loomcard.workload.write_yaml import written

EXAMPLE = Path(__file__).with_name("example.yml")
HEAD = """\
version: 1
cluster: {nodes: [{count: 2, memory_mb: 4096, vcores: 4}]}
applications:
"""
ONE = HEAD + "- {id: a, stages: [{id: s, tasks: 3, memory_mb: 1024, duration_ms: 1000}]}\n"


def application(**keys: Any) -> str:
    """Return a workload of one application with these keys in line 4, as JSON, which is YAML
    too.
    """
    stages = [{"id": "s", "tasks": 3, "memory_mb": 1024, "duration_ms": 1000}]
    return HEAD + "- " + json.dumps({"id": "a", "stages": stages} | keys) + "\n"


def stage(**keys: Any) -> str:
    """Return a workload of one stage with these keys."""
    return application(
        stages=[{"id": "s", "tasks": 3, "memory_mb": 1024, "duration_ms": 1000} | keys]
    )


def test_the_example_is_read_whole() -> None:
    """Every key of the example reaches the scenario."""
    scenario = load(EXAMPLE, seed=1)
    (one,) = scenario.applications
    assert scenario.resource_types == ["memory_mb", "vcores", "gpu"]
    assert [node.name for node in scenario.nodes] == ["n1", "n2", "n3", "n4", "n5"]
    assert {(node.rack, node.capacity) for node in scenario.nodes} == {("/r1", (20480, 20, 4))}
    assert [(f.at_ms, f.node, f.down_ms) for f in scenario.faults] == [(60000, "n3", 30000)]
    assert (one.kind, one.am, one.user, one.queue) == (
        "mapreduce",
        (1024, 1, 0),
        "alice",
        "root.default",
    )
    first, second = one.stages
    assert (first.priority, first.request_id, first.after) == (20, 1, [])
    assert (second.priority, second.request_id, second.after) == (10, 2, [0])
    assert first.nodes == [["n1", "n2"]] * 20
    assert set(first.durations_ms) <= {30000, 90000}
    assert len(second.durations_ms) == len(set(second.durations_ms)) == 4
    assert read_scenario(write_scenario(scenario)) == scenario


def test_hints_name_every_stage() -> None:
    """The hint's stages have the keys of the asks, and the means of the drawn values."""
    (one,) = load(EXAMPLE, seed=1).applications
    dag = read_dag(hints(one))
    assert dag is not None
    assert [(s.id, s.priority, s.request, s.tasks, s.after) for s in dag.stages] == [
        ("map", 20, 1, 20, []),
        ("reduce", 10, 2, 4, [0]),
    ]
    assert dag.stages[1].ms == sum(one.stages[1].durations_ms) / 4


def test_spark_hints_name_executors(loaded: Any) -> None:
    """Only executors are asked for, and they do the work of all stages."""
    text = application(kind="spark", executors={"count": 2, "memory_mb": 2048, "vcores": 2})
    (one,) = loaded(text).applications
    dag = read_dag(hints(one))
    assert dag is not None
    (held,) = dag.stages
    assert (held.priority, held.request, held.tasks, held.size) == (20, 0, 2, (2048, 2))
    assert held.ms == 3 * 1000 / 2 / 2


def test_sizes_are_rounded_up_to_the_minimum(loaded: Any) -> None:
    """Either engine would round them, but the scenario contains rounded sizes already."""
    text = stage(memory_mb=1000, vcores=1).replace(
        "cluster: {", "cluster: {minimum: {memory_mb: 512, vcores: 2}, "
    )
    assert loaded(text).applications[0].stages[0].size == (1024, 2)


def test_parents_come_first(loaded: Any) -> None:
    """In the file a stage may precede the one that it follows; in the scenario it comes after
    it.
    """
    size = {"memory_mb": 1, "duration_ms": 1, "tasks": 1}
    stages = [{"id": "z", "after": ["y", "x"]}, {"id": "y", "after": ["x"]}, {"id": "x"}]
    (one,) = loaded(application(kind="dag", stages=[s | size for s in stages])).applications
    assert [(s.id, s.request_id, s.after) for s in one.stages] == [
        ("x", 1, []),
        ("y", 2, [0]),
        ("z", 3, [0, 1]),
    ]


def test_nodes_are_numbered_on(loaded: Any) -> None:
    """If two racks have nodes of one name, their numbers continue. A node without a count has the
    bare name.
    """
    text = ONE.replace(
        "[{count: 2,",
        "[{name: m, memory_mb: 1, vcores: 1}, {count: 1, rack: /a, memory_mb: 1,"
        " vcores: 1}, {count: 2, rack: b,",
    )
    nodes = loaded(text).nodes
    expected = [("m", "/default-rack"), ("n1", "/a"), ("n2", "/b"), ("n3", "/b")]
    assert [(node.name, node.rack) for node in nodes] == expected


def test_failures_and_replicas_are_drawn(loaded: Any) -> None:
    """An attempt fails during its run, at most max_attempts times; replicas differ."""
    (one,) = loaded(stage(tasks=200, failures=0.5, nodes={"replicas": 1})).applications
    (drawn,) = one.stages
    assert 60 < len(drawn.fails_ms) < 140
    assert all(0 <= ms < 1000 for runs in drawn.fails_ms.values() for ms in runs)
    assert max(len(runs) for runs in drawn.fails_ms.values()) == one.max_attempts
    assert sorted({tuple(hosts) for hosts in drawn.nodes}) == [("n1",), ("n2",)]


def test_what_another_draws_changes_nothing(loaded: Any) -> None:
    """Values are drawn for (application, stage, purpose), so neighbours and more tasks do not
    change them.
    """
    random = {"duration_ms": {"exponential": {"mean": 1000}}, "failures": 0.3}
    alone = loaded(stage(**random)).applications[0]
    beside = ONE[ONE.index("- ") :].replace("a,", "b,")
    assert alone in loaded(stage(**random) + beside).applications
    more = loaded(stage(**random | {"tasks": 9, "stragglers": {"share": 0, "factor": 1}}))
    assert more.applications[0].stages[0].durations_ms[:3] == alone.stages[0].durations_ms
    assert loaded(stage(**random), seed=2).applications[0] != alone
    other = loaded(stage(**random).replace('"id": "a"', '"id": "b"')).applications[0]
    assert other.stages[0].durations_ms != alone.stages[0].durations_ms


def test_stages_that_need_not_wait_keep_the_files_order(loaded: Any) -> None:
    """Only a stage that follows a later one is moved behind it."""
    size = {"memory_mb": 1, "duration_ms": 1, "tasks": 1}
    stages = [{"id": "m", "after": ["z"]}, {"id": "b"}, {"id": "a"}, {"id": "z"}]
    (one,) = loaded(application(kind="dag", stages=[s | size for s in stages])).applications
    assert [s.id for s in one.stages] == ["b", "a", "z", "m"]


@pytest.mark.parametrize(
    ("vary", "tasks"),
    [
        ({}, 3),
        ({"many": 5}, 5),
        ({"parameters.many": 6}, 6),
        ({"applications.0.stages.0.tasks": 7}, 7),
    ],
)
def test_parameters_and_vary(loaded: Any, vary: dict[str, Any], tasks: int) -> None:
    """A parameter may replace a value anywhere; vary replaces the parameter, or any place of the
    file.
    """
    text = "parameters: {many: 3}\n" + stage(tasks="$many")
    assert len(loaded(text, vary=vary).applications[0].stages[0].durations_ms) == tasks


def test_vary_makes_what_the_file_leaves_out(loaded: Any) -> None:
    """A value that the file does not state, a default, can be varied as well."""
    assert loaded(ONE, vary={"cluster.minimum.memory_mb": 2048}).minimum == (2048, 0)


@pytest.mark.parametrize("name", ["much", "parameters.much", "clutser.heartbeat_ms"])
def test_vary_of_nothing_is_a_finding(findings_of: Any, name: str) -> None:
    """With a misspelt name the same workload would run many times."""
    (finding,) = findings_of("parameters: {many: 3}\n" + ONE, vary={name: 1})
    assert name in finding.message
    assert "many" in finding.hint


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("", 1, "empty"),
        ("- a", 1, "expected a mapping"),
        ("kind: policy\n" + ONE, 1, "of kind workload"),
        (ONE.replace("version: 1", "version: 2"), 1, "expected version 1"),
        (ONE.replace("tasks: 3", "tasks: 3, afer: [s]"), 4, "unknown key 'afer'"),
        (ONE.replace("vcores: 4", "vcores: 4, gpu: 1"), 2, "unknown key 'gpu'"),
        (ONE.replace("duration_ms: 1000", ""), 4, "duration_ms is missing"),
        (ONE.replace("memory_mb: 4096, ", ""), 2, "memory_mb is missing"),
        ("version: 1\ncluster: {nodes: [{memory_mb: 1, vcores: 1}]}", 1, "no applications"),
        ("version: 1\napplications: []\n" + ONE[ONE.index("- ") :], 3, "not YAML"),
        (ONE.replace("[{count: 2, memory_mb: 4096, vcores: 4}]", "[]"), 2, "no nodes"),
        (ONE.replace("nodes:", "faults: [{at_ms: 0, node: n9}], nodes:"), 2, "no node 'n9'"),
        (ONE + ONE[ONE.index("- ") :], 5, "two applications called 'a'"),
        (stage(nodes=["n1", "x"]), 4, "no node 'x'"),
        (stage(label="gpu"), 4, "no node has the label 'gpu'"),
        (ONE.replace("nodes:", "shared_labels: [gpu], nodes:"), 2, "no node has the label 'gpu'"),
        (stage(nodes=[["n1"], ["x"], []]), 4, "no node 'x'"),
        (stage(nodes=[["n1"]]), 4, "1 lists of nodes for 3 tasks"),
        (stage(nodes={"of": ["x"], "replicas": 1}), 4, "no node 'x'"),
        (stage(nodes={"replicas": 3}), 4, "3 replicas of 2 nodes"),
        (stage(memory_mb=4097), 4, "no node can hold"),
        (stage(memory_mb=0, vcores=0), 4, "needs some of a resource"),
        (stage(memory_mb=-1), 4, "greater than or equal to 0"),
        (stage(duration_ms=-5), 4, "greater than or equal to 0"),
        (stage(duration_ms=[1, 2]), 4, "2 durations for 3 tasks"),
        (stage(duration_ms={"lognormal": {"median": 0, "sigma": 1}}), 4, "median must be above 0"),
        (stage(duration_ms={"uniform": {"low": 5, "high": 1}}), 4, "high must not be below low"),
        (stage(duration_ms={"pareto": {"minimum": 1}}), 4, "shape is missing"),
        (stage(duration_ms={"zipf": {}}), 4, "unknown key 'zipf'"),
        (stage(duration_ms={"constant": 1, "choice": {"values": [1]}}), 4, "exactly one"),
        (stage(duration_ms={"choice": {"values": [1], "weights": [1, 2]}}), 4, "as many weights"),
        (stage(tasks=0), 4, "at least one task"),
        (stage(failures=1.5), 4, "from 0 to 1"),
        (stage(failures={"constant": -1}), 4, "not negative"),
        (stage(fails_ms={"3": [1]}), 4, "numbers of tasks, 0 to 2"),
        (stage(after=["t"]), 4, "no stage 't'"),
        (stage(after=["s"]), 4, "s after s"),
        (stage(tasks="$x"), 4, "no parameter 'x'"),
        (application(submit_ms=-1), 4, "greater than or equal to 0"),
        (application(queue="default"), 4, "match pattern"),
        (application(kind="mapreduce"), 4, "the stages map and"),
        (application(kind="spark"), 4, "needs executors"),
        (application(executors={"count": 1, "memory_mb": 1}), 4, "has no executors"),
        (application(kind="spark", executors={"count": 1, "memory_mb": 9}), 4, "than an executor"),
        (application(kind="hive"), 4, "'mapreduce', 'spark', 'dag' or 'plain'"),
        (application(am={"memory_mb": 9999}), 4, "no node can hold"),
        (application(stages=[]), 4, "at least one"),
    ],
)  # fmt: skip
def test_each_fault_is_a_finding_at_its_line(
    findings_of: Any, text: str, line: int, part: str
) -> None:
    """There is one finding, at the line of the error."""
    (finding,) = findings_of(text)
    assert part in finding.message
    assert finding.line == line
    assert finding.file.endswith("w.yml")


def test_one_run_finds_everything(findings_of: Any) -> None:
    """Unknown keys hide neither each other nor the other errors."""
    text = """\
        version: 1
        clock: 1
        cluster:
          nodes: [{count: 1, memory_mb: 100, vcores: 1, rak: r1}]
        applications:
        - id: a
          stages: [{id: s, tasks: 1, memory_mb: 101, duration_ms: 1, nodes: [n2]}]
        """
    assert [finding.line for finding in findings_of(text)] == [2, 4, 7, 7]


def test_a_file_that_is_not_there_names_what_is() -> None:
    """The bare name of a shipped workload is a file too; any other name is one finding."""
    from loomcard.validation.findings import FindingsError

    with pytest.raises(FindingsError, match="no such file"):
        load(Path("no-such-workload"), seed=1)


@pytest.mark.parametrize("hash_seed", ["0", "1", "77"])
def test_equal_seeds_give_equal_bytes_in_any_process(hash_seed: str) -> None:
    """Neither the process nor its hash seed has an influence."""
    script = (
        "import sys; from pathlib import Path; from loomcard.workload import load;"
        "from loomcard.workload.scenario import write_scenario;"
        "sys.stdout.buffer.write(write_scenario(load(Path(sys.argv[1]), seed=5)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(EXAMPLE)],
        env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
    )
    assert done.stdout == write_scenario(load(EXAMPLE, seed=5))


def test_an_application_may_have_its_own_am_start(loaded: Any) -> None:
    """The value is kept when the workload is written. Without one the cluster's value counts."""
    scenario = loaded(application(kind="dag", am_start_ms=8000))
    assert scenario.applications[0].am_start_ms == 8000
    assert loaded(written(scenario)).applications == scenario.applications
    assert loaded(ONE).applications[0].am_start_ms is None


def test_asks_may_be_altruistic_of_kinds_that_ask_for_all_at_once(
    loaded: Any, findings_of: Any
) -> None:
    """An application of kind dag keeps the key when it is written; other AMs mark nothing."""
    scenario = loaded(application(kind="dag", asks="altruistic"))
    assert scenario.applications[0].asks == "altruistic"
    assert loaded(written(scenario)).applications == scenario.applications
    assert loaded(ONE).applications[0].asks == "unmarked"
    only_maps = [{"id": "map", "tasks": 3, "memory_mb": 1024, "duration_ms": 1000}]
    text = application(kind="mapreduce", asks="altruistic", stages=only_maps)
    (finding,) = findings_of(text)
    assert (finding.line, finding.path) == (4, "applications[0].asks")
    assert "the AM of kind mapreduce marks no asks" in finding.message
    assert findings_of(application(asks="default"))[0].path == "applications[0].asks"
