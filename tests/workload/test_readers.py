"""Tests of recorded demand: small files of each format, and the real traces if they are
available.
"""

import os
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from loomcard.config import compile_config
from loomcard.simulator import simulate
from loomcard.validation.findings import FindingsError
from loomcard.wire import messages as r
from loomcard.workload import load
from loomcard.workload.loading import build
from loomcard.workload.scenario import Scenario

DATA = Path(__file__).parent / "data"
NODES = "cluster: {nodes: [{name: h, count: 2, memory_mb: 8192, vcores: 8}]}\n"


def traced(trace: str, *, cluster: str = NODES, seed: int = 1) -> Scenario:
    """Return the scenario of a workload that consists of this trace."""
    return build(f"version: 1\n{cluster}trace: {trace}\n", "w", DATA, seed=seed)


def tasks(scenario: Scenario) -> int:
    return sum(len(s.durations_ms) for one in scenario.applications for s in one.stages)


def test_swim_follows_its_rule() -> None:
    """Blocks give the maps, the larger of shuffle and output gives the reduces, and bytes give the
    times.
    """
    first, second, third = traced("{format: swim, file: swim.tsv, noise: 0}").applications
    assert [one.submit_ms for one in (first, second, third)] == [0, 60_000, 3_590_000]
    assert (first.id, third.id, first.kind) == ("job0", "job0-2", "mapreduce")
    assert [len(s.durations_ms) for s in first.stages + second.stages + third.stages] == [
        1,
        10,
        2,
        3,
    ]
    maps, reduces = second.stages
    assert maps.durations_ms == [2000 + 1000 * 128 // 4] * 10
    assert reduces.durations_ms == [2000 + round(1000 * (1024 + 512) / 16)] * 2
    assert (maps.size, reduces.size, reduces.after) == ((1024, 1), (2048, 1), [0])
    assert [one.tags for one in (first, second, third)] == [["small"]] * 3


def test_swim_takes_sizes_and_speeds() -> None:
    """Blocks of twice the size give half the maps, half the reduce's size gives twice the reduces,
    and the times follow.
    """
    options = "block_mb: 256, map_mb_s: 8, reduce_mb: 512, reduce_mb_s: 32, overhead_ms: 100"
    sizes = "memory_mb: 512, reduce_memory_mb: 768"
    text = f"{{format: swim, file: swim.tsv, noise: 0, {options}, {sizes}}}"
    maps, reduces = traced(text).applications[1].stages
    assert maps.durations_ms == [100 + 1000 * 256 // 8] * 5
    assert reduces.durations_ms == [100 + round(1000 * (512 + 256) / 32)] * 4
    assert (maps.size, reduces.size) == ((512, 1), (768, 1))


def test_swim_cuts_and_seeds() -> None:
    """max_tasks limits a job; each task has its own random values."""
    cut = traced("{format: swim, file: swim.tsv, max_tasks: 4}").applications[1]
    whole = traced("{format: swim, file: swim.tsv}").applications[1]
    assert cut.stages[0].durations_ms == whole.stages[0].durations_ms[:4]
    other = traced("{format: swim, file: swim.tsv}", seed=2).applications[1]
    assert other.stages[0].durations_ms != whole.stages[0].durations_ms


def test_swim_writes_with_enough_reduces(tmp_path: Path) -> None:
    """A job that shuffles little and writes much does not write all of it in one reduce."""
    (tmp_path / "a.tsv").write_text(f"j\t0\t0\t1\t1\t{5 * 2**30}\n")
    text = f"version: 1\n{NODES}trace: {{format: swim, file: a.tsv}}\n"
    (one,) = build(text, "w", tmp_path, seed=1).applications
    assert len(one.stages[1].durations_ms) == 5


def test_every_trace_can_be_shaped() -> None:
    """The options queue, stretch, first and replicas apply to any format."""
    options = "queue: root.a, stretch: 0.5, first: 2, replicas: 2"
    first, second = traced(f"{{format: swim, file: swim.tsv, {options}}}").applications
    assert (first.queue, second.submit_ms) == ("root.a", 30_000)
    assert second.stages[0].nodes == [["h1", "h2"]] * 10
    assert second.stages[1].nodes == []


def test_sls_jobs_are_read() -> None:
    """The file has one object after another. Hosts become nodes and wishes, and a job may be
    repeated.
    """
    scenario = traced("{format: sls, file: sls.json}", cluster="")
    assert [(n.name, n.rack, n.capacity) for n in scenario.nodes] == [
        ("h1", "/r1", (10240, 10)),
        ("h2", "/r2", (10240, 10)),
    ]
    one, two, etl = scenario.applications
    assert [a.id for a in (one, two, etl)] == ["graph-1", "graph-2", "etl"]
    assert (one.kind, one.am, [s.id for s in one.stages]) == (
        "dag",
        (2048, 1),
        ["join-6", "scan-5"],
    )
    assert (etl.kind, etl.queue, etl.user, etl.slowstart) == ("mapreduce", "root.day", "ann", 1.0)
    maps, reduces = etl.stages
    assert (maps.durations_ms, maps.nodes) == ([10000, 12000], [["h1"], ["h2"]])
    assert (maps.size, reduces.durations_ms, reduces.after) == ((2048, 2), [30000, 30000], [0])


def test_the_cluster_of_the_file_goes_before_the_traces() -> None:
    """Wishes for hosts that the cluster does not have are dropped."""
    etl = traced("{format: sls, file: sls.json}").applications[-1]
    assert etl.stages[0].nodes == [["h1"], ["h2"]]
    cluster = NODES.replace("name: h,", "")
    assert (
        traced("{format: sls, file: sls.json}", cluster=cluster).applications[-1].stages[0].nodes
        == []
    )


def test_synth_draws_as_the_producer_does() -> None:
    """Both forms of job classes are read, with the means that they state."""
    scenario = traced("{format: synth, file: synth.json}", cluster="")
    assert [(n.rack, n.capacity) for n in scenario.nodes][1:3] == [
        ("/rack1", (10240, 10)),
        ("/rack2", (10240, 10)),
    ]
    old = [one for one in scenario.applications if one.tags == ["old"]]
    new = [one for one in scenario.applications if one.tags == ["new"]]
    assert len(old) + len(new) == 200
    assert 120 < len(old) < 180
    assert 0 <= scenario.applications[-1].submit_ms < 100_000
    assert mean(len(one.stages[0].durations_ms) for one in old) == pytest.approx(10, rel=0.1)
    assert mean(ms for one in old for ms in one.stages[0].durations_ms) == pytest.approx(
        20000, rel=0.05
    )
    assert {s.size for one in old for s in one.stages} == {(1024, 1), (2048, 2)}
    assert {len(one.stages[0].durations_ms) for one in new} == {1, 3}
    assert {(one.kind, one.stages[0].priority) for one in new} == {("dag", 7)}


def test_tpch_queries_are_read() -> None:
    """Stages are in an order with the places of their parents, and times are near the mean. A round
    has each query once.
    """
    options = "queries: [1, 2], count: 4, arrivals: 1000"
    scenario = traced(f"{{format: tpch, file: tpch, {options}}}")
    assert sorted(one.tags[0] for one in scenario.applications[:2]) == ["q1", "q2"]
    assert [one.submit_ms for one in scenario.applications] == [0, 1000, 2000, 3000]
    q1 = next(one for one in scenario.applications if one.tags == ["q1"])
    q2 = next(one for one in scenario.applications if one.tags == ["q2"])
    assert mean(q1.stages[0].durations_ms) == pytest.approx(1000, rel=0.05)
    assert len(set(q1.stages[0].durations_ms)) > 100
    assert [(s.id, s.after) for s in q2.stages] == [("s0", []), ("s1", []), ("s2", [0, 1])]


def test_tpch_weights_and_executors() -> None:
    """A weight of 0 is never drawn; with executors the kind is Spark."""
    options = "queries: [1, 2], weights: [0, 1], count: 3, executors: 2"
    scenario = traced(f"{{format: tpch, file: tpch, {options}}}")
    assert {(one.kind, one.tags[0]) for one in scenario.applications} == {("spark", "q2")}
    held = scenario.applications[0].executors
    assert held is not None
    assert (held.count, held.size) == (2, (8192, 4))


WORKLOAD = """\
version: 1
cluster:
  heartbeat_ms: 0
  am_heartbeat_ms: 0
  nodes: [{count: 3, memory_mb: 4096, vcores: 4}]
applications:
- {id: a, kind: mapreduce, user: ann, tags: [x], am: {memory_mb: 512}, stages: [
   {id: map, tasks: 8, memory_mb: 1024, nodes: [n1], duration_ms: {exponential: {mean: 1000}}},
   {id: reduce, tasks: 2, memory_mb: 2048, duration_ms: 3000}]}
- {id: b, kind: dag, submit_ms: 1500, stages: [
   {id: s, tasks: 5, memory_mb: 512, duration_ms: 1000, fails_ms: {"1": [300]}},
   {id: t, tasks: 3, memory_mb: 512, duration_ms: [5, 6, 7], after: [s]}]}
"""


def test_a_journal_becomes_the_workload_that_ran(tmp_path: Path) -> None:
    """The journal of a simulation gives back its workload: which applications and tasks ran when,
    how long and where.
    """
    (tmp_path / "w.yml").write_text(WORKLOAD)
    ran = load(tmp_path / "w.yml", seed=3)
    config = compile_config("version: 1\npolicy: fifo\n", "fifo.yml")
    simulate(ran, config, policy="fifo", journal=tmp_path / "journal")
    (tmp_path / "again.yml").write_text("version: 1\ntrace: {format: journal, file: journal}\n")
    again = load(tmp_path / "again.yml", seed=1)
    assert again.resource_types == ran.resource_types
    assert {(n.name, n.rack, n.capacity) for n in again.nodes} == {
        (n.name, n.rack, n.capacity) for n in ran.nodes
    }
    assert len(again.applications) == 2
    for old, new in zip(ran.applications, again.applications, strict=True):
        assert (new.submit_ms, new.queue, new.user, new.am) == (
            old.submit_ms,
            old.queue,
            old.user,
            old.am,
        )
        for was, now in zip(old.stages, new.stages, strict=True):
            assert (now.id, now.size, now.priority, now.after) == (
                was.id,
                was.size,
                was.priority,
                was.after,
            )
            assert sorted(now.durations_ms) == sorted(was.durations_ms)
    assert again.applications[0].stages[0].nodes == [["n1"]] * 8
    assert [list(runs) for runs in again.applications[1].stages[0].fails_ms.values()] == [[300]]


def test_a_journal_keeps_labels(tmp_path: Path) -> None:
    """The journal has the label of each node, whether it lends, and the stages that asked for
    it.
    """
    text = (
        "version: 1\ncluster:\n  nodes:\n    - {name: n1, memory_mb: 4096, vcores: 4}\n"
        "    - {name: n2, memory_mb: 4096, vcores: 4, label: gpu}\n  shared_labels: [gpu]\n"
        "applications:\n  - id: a\n    kind: dag\n    stages:\n"
        "      - {id: s, tasks: 9, memory_mb: 1024, duration_ms: 700, label: gpu}\n"
    )
    ran = build(text, "w", tmp_path, seed=1)
    config = compile_config("version: 1\nkind: policy\npolicy: fifo\n", "fifo.yml")
    simulate(ran, config, policy="fifo", journal=tmp_path / "journal")
    past = f"version: 1\ntrace: {{format: journal, file: '{tmp_path / 'journal'}'}}\n"
    again = build(past, "again", tmp_path, seed=1)
    assert [(n.name, n.label, n.shared) for n in again.nodes] == [
        ("n1", "", False),
        ("n2", "gpu", True),
    ]
    assert again.applications[0].stages[0].label == "gpu"


def test_a_clusters_journal_by_hand(tmp_path: Path) -> None:
    """A refusal uses no container number. A container that was preempted, never ran or still runs
    is no task. After a restart numbers are counted anew.
    """
    config = {"queues": [{"path": "root"}, {"path": "root.default"}]}
    opening = [
        r.SnapshotRecord(0, "first"),
        r.ConfigRecord(0, 1, config),
        r.NodeAddedRecord(0, 3, "h1:45454", "/r", (4096, 4)),
        r.ApplicationAddedRecord(
            100, 7, "application_1_0001", 1, "ann", "n", "TEZ", ["t"], 0, 100, {}
        ),
        r.AttemptAddedRecord(100, 5, 7, 1, unmanaged=True),
        r.AskChangedRecord(200, 5, 4, 0, False, (512, 1), 5, {"h1": 2, "h2": 2}, {}, True, ""),
    ]
    allocation = r.PlanReply(1, [r.Allocate(5, 4, 0, 3, 5, 0)])
    later = [
        r.OutcomesRecord(300, 1, 10, [2, 3, 4, 5], [(0, 1, "NODE_FULL")]),
        *[r.ContainerStartedRecord(400, number) for number in (10, 11, 12)],
        r.ContainerCompletedRecord(450, 11, "preempted", -102),
        r.ContainerCompletedRecord(500, 12, "completed", 1),
        r.ContainerCompletedRecord(1400, 10, "completed", 0),
        r.ContainerCompletedRecord(1500, 13, "released", -100),
        r.ContainerAddedRecord(1500, 14, 5, 6, 3, (512, 1), 8, 0, False, "allocated", "fallback"),
        r.ContainerStartedRecord(1600, 14),
        r.ContainerCompletedRecord(1900, 14, "killed", 143),
        r.ContainerAddedRecord(1900, 15, 5, 7, 3, (512, 1), 4, 0, False, "running", "fallback"),
    ]
    after = [
        *opening[:3],
        r.ApplicationAddedRecord(50, 9, "application_2_0001", 1, "ann", "n", "TEZ", [], 0, 50, {}),
        r.AttemptAddedRecord(50, 5, 9, 1, unmanaged=True),
        r.ContainerAddedRecord(60, 10, 5, 1, 3, (256, 1), 6, 0, False, "allocated", "fallback"),
        r.ContainerStartedRecord(60, 10),
        r.ContainerCompletedRecord(90, 10, "completed", 0),
    ]
    for epoch, batches in (
        (1000, [(opening, allocation), (later, r.PlanReply(2))]),
        (6000, [(after, r.PlanReply(1))]),
    ):
        hello = r.Hello(1, epoch, "", "", ["memory_mb", "vcores"], [], {})
        lines = [r.write(["segment", {"hello": hello}])]  # type: ignore[list-item]
        for number, (records, plan) in enumerate(batches, 1):
            batch = r.Batch(number, 1, 0, r.Check(0, 0, 0, 0), records)
            lines += [r.write(batch), r.write(plan)]
        (tmp_path / f"{epoch}-0000000001.jsonl").write_text("\n".join(lines) + "\n")
    text = f"version: 1\ntrace: {{format: journal, file: '{tmp_path}'}}\n"
    first, second = build(text, "w", Path("/"), seed=1).applications
    other, stage = first.stages
    assert (other.id, other.durations_ms, other.after) == ("p8-0", [300], [])
    assert (stage.id, stage.size, stage.durations_ms) == ("p4-0", (512, 1), [1000])
    assert (stage.fails_ms, stage.nodes) == ({0: [100]}, [["h1"]])
    assert (first.user, first.tags, first.kind, first.am) == ("ann", ["t"], "dag", None)
    assert (second.submit_ms, second.stages[0].durations_ms) == (4950, [30])


def test_a_journal_keeps_tasks_that_are_shorter_than_a_heartbeat(tmp_path: Path) -> None:
    """Tasks of 700 ms on nodes that report once a second come back with 700 ms. The heartbeats
    alone would give 0 or 1000 ms, or no task.
    """
    text = (
        f"version: 1\n{NODES}applications:\n  - id: a\n    kind: dag\n    stages:\n"
        "      - {id: s, tasks: 40, memory_mb: 1024, vcores: 1, duration_ms: 700}\n"
    ).replace("cluster: {", "cluster: {heartbeat_ms: 1000, am_heartbeat_ms: 1000, ")
    scenario = build(text, "w", tmp_path, seed=1)
    config = compile_config("version: 1\nkind: policy\npolicy: fifo\n", "fifo.yml")
    simulate(scenario, config, policy="fifo", journal=tmp_path / "journal")
    past = f"version: 1\ntrace: {{format: journal, file: '{tmp_path / 'journal'}'}}\n"
    (again,) = build(past, "w", Path("/"), seed=1).applications
    (stage,) = again.stages
    assert stage.durations_ms == [700] * 40


@pytest.mark.parametrize(
    ("name", "text", "trace", "line", "part"),
    [
        ("a.tsv", "job0\t1\t1\t1\t1\t1\njob1\tx\t1\t1\t1\t1\n", "format: swim", 2, "five whole"),
        ("a.tsv", "job0\t1\t1\t1\t1\n", "format: swim", 1, "five whole"),
        ("a.tsv", "job0\t1\t1\t-1\t1\t1\n", "format: swim", 1, "negative"),
        ("a.json", '{"job.start.ms": 1,\n"job.tasks": [}', "format: sls", 2, "not JSON"),
        ("a.json", '{}\n{"job.start.ms": 1}', "format: sls", 1, "not a job"),
        ("a.json", "{", "format: synth", 1, "not JSON"),
        ("a.json", '{"num_jobs": 1}', "format: synth", 1, "not a SYNTH trace"),
        ("1-1.jsonl", "{}\n", "format: journal", 1, "segment"),
    ],
)
def test_malformed_lines_are_named(
    tmp_path: Path, name: str, text: str, trace: str, line: int, part: str
) -> None:
    """The finding has file and line of the trace, not of the workload that names it."""
    (tmp_path / name).write_text(text)
    with pytest.raises(FindingsError) as error:
        build(f"version: 1\n{NODES}trace: {{{trace}, file: {name}}}\n", "w", tmp_path, seed=1)
    finding = error.value.findings[0]
    assert (finding.line, finding.file) == (line, str(tmp_path / name))
    assert part in finding.message


def test_a_trace_that_is_not_there_is_one_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an unset variable nor a missing file is a traceback."""
    monkeypatch.delenv("LOOMCARD_TRACES", raising=False)
    for file, part in (
        ("$LOOMCARD_TRACES/x", "LOOMCARD_TRACES is not set"),
        ("x", "cannot be read"),
    ):
        with pytest.raises(FindingsError, match=part) as error:
            traced(f"{{format: swim, file: {file}}}")
        assert error.value.findings[0].line == 3


def test_many_malformed_lines_end_in_twenty(tmp_path: Path) -> None:
    """A wrong file is reported once, not for each line to its end."""
    (tmp_path / "a.tsv").write_text("x\n" * 1000)
    with pytest.raises(FindingsError) as error:
        build(f"version: 1\n{NODES}trace: {{format: swim, file: a.tsv}}\n", "w", tmp_path, seed=1)
    assert len(error.value.findings) == 20


REAL: Any = pytest.mark.skipif(
    "LOOMCARD_TRACES" not in os.environ,
    reason="LOOMCARD_TRACES is not set; docs/simulate/workload.md says where traces come from",
)


@REAL
@pytest.mark.parametrize(
    ("name", "applications", "order"),
    [("facebook-2009", 5894, 1e5), ("tpch", 100, 1e4)],
)
def test_shipped_traces_load(name: str, applications: int, order: float) -> None:
    """The shipped workloads load the real files completely."""
    scenario = load(Path(name), seed=1)
    assert len(scenario.applications) == applications
    assert order <= tasks(scenario) < 10 * order
