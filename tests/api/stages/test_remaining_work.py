"""Tests of remaining work and critical paths, and of the orders that follow from them."""

from collections import Counter
from collections.abc import Mapping
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiled import flat
from loomcard.api.stages.dag_hint import HINT, Dag, DagStage, write_dag
from loomcard.api.stages.remaining_work import Estimates, critical_path_ms
from loomcard.model.resource import Resource
from loomcard.policies.clairvoyant import left_ms
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r

CAPACITY = (10_000, 100)


def stage(tasks: int, ms: float, size=(1000, 10), after=(), priority: int = 20) -> DagStage:
    """Return a stage with its own priority, by which it differs from other stages."""
    return DagStage(f"p{priority}", priority, tasks, ms, size, list(after))


DIAMOND = Dag(
    [stage(4, 100), stage(2, 300, after=[0], priority=21), stage(1, 50, after=[0], priority=22),
     stage(1, 10, after=[1, 2], priority=23)]
)  # fmt: skip


def estimated(dag: Dag, done: Mapping[int, int]) -> tuple[float, float]:
    """Return the remaining work and the critical path of an application with these stages as its
    hint, after the tasks in ``done`` have finished.
    """
    estimates = Estimates(assumed_ms=1)
    estimates.capacity = Resource(CAPACITY)
    estimates.finished = {"a": {str(stage): [count, 0] for stage, count in done.items()}}
    app = Mock(id="a", hints={HINT: write_dag(dag.stages)})
    return estimates.work(app), estimates.critical_path_ms(app)


def test_remaining_work_adds_resources_and_leaves_out_what_is_done():
    """A task that needs a tenth of the memory and of the vcores counts as 0.2 of the cluster for
    its duration.
    """
    assert estimated(DIAMOND, {})[0] == pytest.approx(0.2 * (400 + 600 + 50 + 10))
    assert estimated(DIAMOND, {0: 4, 1: 1})[0] == pytest.approx(0.2 * (300 + 50 + 10))


def test_the_critical_path_is_the_longest_chain_whatever_the_tasks():
    """The path is 100 + 300 + 10 ms, and 300 + 10 ms after the first stage. An estimate counts the
    whole DAG.
    """
    assert critical_path_ms(DIAMOND) == 410
    assert estimated(DIAMOND, {0: 4})[1] == 410
    assert critical_path_ms(DIAMOND, {0: 4}) == 310


def test_the_clairvoyant_knows_how_long_running_tasks_still_run():
    """Two of four tasks are done and one has run 30 of 100 ms: 100 + 70 ms at a tenth remain, and
    the later stages.
    """
    left = left_ms(DIAMOND, {0: 2}, [[30], [], [], []], CAPACITY)
    assert left == pytest.approx(0.1 * (170 + 600 + 50 + 10))


@given(
    st.lists(st.tuples(st.integers(1, 9), st.floats(0, 1e6)), min_size=1, max_size=6),
    st.dictionaries(st.integers(0, 5), st.integers(0, 12)),
)
def test_work_falls_as_tasks_finish_and_never_below_nothing(rows, done):
    """The work never grows, even if more tasks finish than the hint named."""
    dag = Dag([stage(tasks, ms, priority=i) for i, (tasks, ms) in enumerate(rows)])
    whole = estimated(dag, {})[0]
    assert 0 <= estimated(dag, done)[0] <= whole
    assert critical_path_ms(dag, done) <= critical_path_ms(dag) <= sum(ms for _, ms in rows) + 1e-6


def two(policy: str, first: list[DagStage] | None, second: list[DagStage] | None) -> Cluster:
    """Return a cluster of four slots with two applications that have these hints; each asks for ten
    tasks or as many as its first stage has.
    """
    engine = Cluster(flat(policy))
    engine.add_node(1, 4096, 4)
    for app, stages in ((1, first), (2, second)):
        hints = {} if stages is None else {HINT: write_dag(stages)}
        engine.add_app(app, hints=hints)
        engine.ask(app, stages[0].tasks if stages else 10, (1024, 1))
    return engine


WIDE = [stage(10, 100.0, (1024, 1))]  # much work, short path
DEEP = [stage(4, 150.0, (1024, 1)), stage(1, 150.0, (1024, 1), [0], 21)]  # the reverse


@pytest.mark.parametrize(
    ("policy", "want"),
    [("srtf", {2: 4}), ("clairvoyant", {2: 4}), ("sjf", {1: 4}), ("tetris", {2: 4})],
)
def test_least_work_or_shortest_path_first(policy, want):
    """srtf compares all the work that remains, sjf the longest chain. Only srtf counts the width of
    a stage.
    """
    assert Counter(g.attempt for g in two(policy, WIDE, DEEP).round()) == want


def test_srtf_turns_to_whom_is_nearly_done():
    """Finished tasks no longer count, so the application that began with more work is first in the
    end.
    """
    engine = two("srtf", [stage(12, 100.0, (1024, 1))], [stage(10, 100.0, (1024, 1))])
    engine.ask(2, 0)
    first = engine.round()
    for allocated in first:
        engine.complete(allocated.number)
    engine.ask(2, 10)
    assert {g.attempt for g in engine.round(100)} == {1}


def test_stages_of_one_key_end_in_their_order():
    """If two stages have one priority, finished tasks are subtracted from the first stage, then
    from the second.
    """
    engine = Cluster(flat("srtf"))
    engine.add_node(1, 1024, 1)
    stages = [stage(2, 100.0, (1024, 1)), stage(3, 1.0, (1024, 1), [0])]
    engine.add_app(1, hints={HINT: write_dag(stages)})
    engine.ask(1, 6)
    seen = []
    engine.round()
    for _ in range(5):
        engine.complete(min(engine.containers))
        engine.round()
        rows = engine.memory()[next(iter(engine.state.applications.values())).id]
        seen.append({key: row[0] for key, row in rows.items()})
    assert seen == [{"0": 1}, {"0": 2}, {"0": 2, "1": 1}, {"0": 2, "1": 2}, {"0": 2, "1": 3}]


def test_without_a_hint_finished_siblings_give_the_estimate():
    """Application 2's tasks ran 90 ms and 1's 10 ms. With as many tasks pending, 1 has less work
    left, though it came last.
    """
    engine = Cluster(flat("srtf"))
    engine.add_node(1, 2048, 2)
    for app, ran_ms in ((2, 90), (1, 10)):
        engine.add_app(app)
        engine.ask(app, 2)
        for allocated in engine.round():
            engine.now += ran_ms // 2
            engine.complete(allocated.number)
        engine.round()
    for app in (2, 1):
        engine.ask(app, 9)
    assert [g.attempt for g in engine.round()] == [1, 1]


def test_what_fails_is_still_to_be_done():
    """Only tasks that ended successfully count as done; a lost task and a failed one do not."""
    engine = two("srtf", WIDE, None)
    allocated = [g for g in engine.round() if g.attempt == 1]
    assert len(allocated) == 4
    engine.complete(allocated[0].number, "lost")
    del engine.containers[allocated[1].number]
    engine.send(r.ContainerCompletedRecord(engine.now, allocated[1].number, "completed", 1))
    engine.complete(allocated[2].number)
    engine.round()
    memory = engine.session.tree.instances[1].memory
    assert {k: row[0] for rows in memory.values() for k, row in rows.items()} == {"0": 1}
