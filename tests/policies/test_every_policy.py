"""Tests of what is true of every built-in policy, under every policy that shares: limits, order,
replay.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from compiled import config, flat, queue
from loomcard.api.registry import built_in, find
from loomcard.api.stages.dag_hint import HINT, DagStage, write_dag
from loomcard.engine.session import replay
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r

EVERY = sorted(built_in())
# hdrf's baselines share its descent; tests/policies/hdrf checks the same of them.
LEAVES = [name for name in EVERY if "hdrf.baselines" not in built_in()[name]]
SHARING = [name for name in LEAVES if not getattr(find(name), "leaf_only", False)]
PAIRS = [
    pytest.param(sharing, leaf, marks=[] if number == place % len(SHARING) else pytest.mark.slow)
    for place, leaf in enumerate(LEAVES)
    for number, sharing in enumerate(SHARING)
]
"""Every leaf policy under every policy that shares; for a quick run, each leaf in turn under one of
these.
"""
HOLDS_BACK = {"dress", "hdrf", "strict", "slots"}  # they leave room free on purpose
OPTIONS: dict[str, dict] = {
    "capacity": {"user_limit_factor": -1},  # its default keeps a single user small
    "slots": {"slots_per_node": 2},
}
HALF = {"ppm": 500_000}
SIZES = [(1024, 1), (2048, 1), (512, 3)]


def engine(sharing: str, leaf: str, journal: Path | None = None) -> Cluster:
    """Return a cluster with ``sharing`` at the root. root.a is under ``leaf`` and may use half; in
    root.b a user may use half.
    """
    compiled = config(
        queue("root", sharing, options=OPTIONS.get(sharing, {})),
        queue("root.a", leaf, options=OPTIONS.get(leaf, {}), maximum=HALF, guaranteed=HALF),
        queue("root.b", "fifo", user_limit_ppm=500_000, guaranteed=HALF),
    )
    made = Cluster(compiled, journal=journal, segment_rounds=3)
    for node in (1, 2, 3):
        made.add_node(node, 6 * 1024, 6, rack=f"/r{node % 2}")
    return made


def hint(tasks: int, ms: float, size: tuple[int, int]) -> dict[str, str]:
    """Return the hint of maps with one reduce after them."""
    return {
        HINT: write_dag([DagStage("m", 20, tasks, ms, size), DagStage("r", 10, 1, ms, size, [0])])
    }


ASK = st.tuples(
    st.integers(1, 6), st.sampled_from([1, 2]), st.integers(1, 5), st.sampled_from(SIZES),
    st.sampled_from([{}, {"n1": 1}, {"n2": 2, "n9": 1}]), st.sampled_from(["u", "v"]),
)  # fmt: skip
STEP = st.one_of(ASK, st.lists(st.integers(0, 20), min_size=1, max_size=4), st.just("node"))


def play(made: Cluster, step: object) -> None:
    """Add or change an application, end containers, or let a node join."""
    if step == "node":
        made.add_node(len(made.nodes) + 1, 3 * 1024, 3)
    elif isinstance(step, list):
        for pick in step:
            if made.containers:
                made.complete(list(made.containers)[pick % len(made.containers)])
    else:
        app, leaf, count, size, hosts, user = step
        if app not in made.applications:
            hints = hint(count, 1000.0 * app, size) if app % 2 else {}
            made.add_app(app, queue=leaf, user=user, hints=hints)
        made.ask(app, count, size, priority=20 if app % 2 else count, hosts=dict(hosts))


def check_limits(made: Cluster) -> None:
    """Check that no queue is above its maximum and no user above the limit."""
    state = made.session.mirror.state
    for q in state.queues:
        assert q.maximum is None or all(u <= m for u, m in zip(q.used, q.maximum, strict=True))
        for used in q.user_used.values():
            assert all(u <= m for u, m in zip(used, q.user_limit, strict=True))


def unserved(made: Cluster, *paths: str) -> list[object]:
    """Return the asks of these queues that a node could take and no limit forbids."""
    state = made.session.mirror.state
    asks = [
        ask for path in paths for app in state.by_path[path].applications.values()
        for ask in app.asks
    ]  # fmt: skip
    return [a for a in asks if any(state.why_not(a, n) is None for n in state.nodes.values())]


@pytest.mark.parametrize(("sharing", "leaf"), PAIRS)
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEP, min_size=1, max_size=14))
def test_any_leaf_policy_works_under_any_sharing_policy(sharing, leaf, steps):
    """There is no fault and no over-commit, no limit is exceeded, and nothing that fits is left
    unless the policy states a rule. Every segment of the journal replays to the same plans.
    """
    with TemporaryDirectory() as folder:
        made = engine(sharing, leaf, Path(folder))
        for step in steps:
            play(made, step)
            plan = made.exchange()
            assert plan.faults == []
            made.commit(plan)
            check_limits(made)
            if sharing not in HOLDS_BACK:
                below = ["root.b"] if leaf in HOLDS_BACK else ["root.a", "root.b"]
                assert unserved(made, *below) == []
        if made.session.journal is not None:
            made.session.journal.close()
        assert replay(Path(folder)) == []


AGAIN = st.tuples(
    st.integers(1, 3), st.integers(0, 2), st.sampled_from([1, 20]), st.sampled_from([0, 1]),
    st.sampled_from([0, 0, 1000]),
)  # fmt: skip


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(AGAIN, min_size=2, max_size=14))
@example([(1, 2, 1, 0, 0), (2, 2, 20, 0, 1000), (2, 0, 20, 0, 0), (2, 2, 20, 0, 1000)])
def test_what_ties_in_every_figure_is_not_compared_itself(name, steps):
    """An ask is withdrawn and asked again under the same key, in the same ms and round or later,
    while others equal it in submission, size and work. No policy compares the objects themselves.
    """
    made = Cluster(flat(name, **OPTIONS.get(name, {})), nodes=[(2048, 2)])
    for app in (1, 2, 3):
        made.add_app(app, submitted_ms=1)
    for app, count, priority, request_id, later_ms in steps:
        made.ask(app, count, priority=priority, request_id=request_id)
        if later_ms or request_id:
            made.round(later_ms)
    for number in list(made.containers):
        made.complete(number)
    made.round(1000)
    made.round(1000)
    if name not in HOLDS_BACK:
        assert unserved(made, "root.default") == []


@pytest.mark.parametrize(("sharing", "leaf"), PAIRS)
def test_everything_is_served_in_the_end(sharing, leaf):
    """As containers end in either queue, the other asks are served. No ask waits for ever because
    it depends on a change in another queue.
    """
    made = engine(sharing, leaf)
    for app, count in ((2, 30), (1, 9), (3, 2), (4, 9)):
        made.add_app(app, leaf=1 + app % 2)
        made.ask(app, count, SIZES[app % 3])
    for _ in range(80):
        made.round()
        for number in list(made.containers)[:3]:
            made.complete(number)
    assert made.asks == {}


@pytest.mark.parametrize("name", EVERY)
def test_no_node_means_no_plan_and_a_refusal_is_survived(name):
    """Nothing is allocated on an empty cluster, and what the engine refused is allocated in the
    next round.
    """
    made = Cluster(config(queue("root", "fifo"), queue("root.a", name)))
    made.add_app(1)
    made.ask(1, 2)
    assert made.round() == []
    made.add_node(1, 4096, 4)
    made.refuse = lambda _: "NODE_FULL"
    assert made.round() == []
    made.refuse = lambda _: None
    assert len(made.round()) == 2


@pytest.mark.parametrize("name", EVERY)
def test_names_decide_only_ties(name):
    """Applications that differ in demand and age get the same, whatever their numbers are."""
    found = []
    for numbers in ((1, 2, 3), (3, 1, 2)):
        made = Cluster(config(queue("root", "fifo"), queue("root.a", name)))
        made.add_node(1, 8192, 9)
        for rank, app in enumerate(numbers):
            made.now += 1
            size = SIZES[rank]
            made.add_app(app, hints=hint(rank + 3, 1000.0 * (rank + 1), size))
            made.ask(app, rank + 3, size)
        made.round()
        found.append([sum(g.attempt == app for g in made.containers.values()) for app in numbers])
    assert found[0] == found[1]


def test_a_removed_application_is_forgotten_by_every_policy():
    """After its end nothing is left of it in the memory of a policy that compares work."""
    made = Cluster(config(queue("root", "fifo"), queue("root.a", "srtf")))
    made.add_node(1, 4096, 4)
    made.add_app(1, hints=hint(2, 500.0, (1024, 1)))
    made.ask(1, 2)
    for allocated in made.round():
        made.complete(allocated.number)
    made.round()
    memory = made.session.tree.instances[1].memory
    assert memory == {
        "application_1700000000000_0001": {
            "0": [2, memory["application_1700000000000_0001"]["0"][1]]
        }
    }
    made.send(r.AttemptRemovedRecord(made.now, 1, "FINISHED"))
    made.send(r.ApplicationRemovedRecord(made.now, 1, "FINISHED"))
    made.applications.discard(1)
    made.round()
    assert made.session.tree.instances[1].memory == {}
