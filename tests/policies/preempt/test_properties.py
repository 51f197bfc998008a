"""Preemption under `capacity` and `fair` keeps its promises on random trees, and ends."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hdrf_clusters import grown
from loomcard.model.resource import share
from loomcard.testing import Cluster
from loomcard.wire import messages as r
from preempting import evictions

QUEUES = ["p.x", "p.y", "q", "s"]
BUDGET = 0.3
SIZES = [(1024, 1), (2048, 1), (1024, 3), (4096, 4)]
COMES = st.tuples(
    st.sampled_from(QUEUES), st.sampled_from(SIZES), st.integers(1, 24), st.integers(0, 2),
    st.sampled_from(["ann", "bob"]),
)  # fmt: skip
PARTS = st.sampled_from([(50, 50), (70, 30), (90, 10), (100, 0)])
OPTIONS: dict[str, Any] = {
    "preempt_after_ms": 1000, "preempt_grace_ms": 500, "preempt_budget": BUDGET,
    "preempt_cooldown_ms": 1000,
}  # fmt: skip


def cluster(policy: str, top: tuple[int, int], below: tuple[int, int], **options: Any) -> Cluster:
    """Return two nodes with 8 and one with 4 containers' room; p, q and s share the cluster."""
    tree = {
        "p": {
            "guaranteed": f"{top[0]}%",
            "x": {"guaranteed": f"{below[0]}%"}, "y": {"guaranteed": f"{below[1]}%"},
        },
        "q": {"guaranteed": f"{top[1]}%", "maximum": "80%"},
        "s": {},
    }  # fmt: skip
    if policy == "capacity":
        options["user_limit_factor"] = -1
    sizes = [(8192, 8), (8192, 8), (4096, 4)]
    return grown(policy, tree, *sizes, types=("memory_mb", "vcores"), **{**OPTIONS, **options})


def kept(made: Cluster, path: str) -> float:
    """Return the share of a queue's containers that are not being preempted; those count too that
    the same plan starts.
    """
    state = made.session.mirror.state
    live = [
        c.size
        for app in state.applications.values()
        for c in app.containers
        if c.preempting_since is None and f"{app.queue.path}.".startswith(f"{path}.")
    ]
    return share([sum(amounts) for amounts in zip(*live, strict=True)] or [0, 0], state.capacity)


def one_round(made: Cluster, *, guarantees: bool) -> int:
    """Run a round and check what it takes; return how many containers that is."""
    plan = made.exchange(500)
    assert plan.faults == []
    state = made.session.mirror.state
    taken = [
        state.containers[each.container] for each in plan.decisions if isinstance(each, r.Preempt)
    ]
    _bounded(taken, state)
    for container in taken:
        app = container.application
        others = [c for c in app.containers if c.preempting_since is None and c is not container]
        assert not (container.is_am and others), "an AM before the rest of its application"
        queue, size = app.queue, share(container.size, state.capacity)
        due = share(queue.guaranteed, state.capacity)
        if guarantees and size <= due:
            assert kept(made, queue.path) >= due - 1e-9
    made.commit(plan)
    return len(taken)


def _bounded(taken: list[Any], state: Any) -> None:
    """What is taken at once is within the budget, or for one task of a node."""
    total = sum(share(c.size, state.capacity) for c in taken)
    nodes = {c.node for c in taken}
    assert total <= BUDGET + 1e-9 or len(nodes) == 1


@settings(deadline=None, max_examples=12)
@given(
    policy=st.sampled_from(["capacity", "fair"]), top=PARTS, below=PARTS,
    steps=st.lists(COMES, min_size=2, max_size=7),
    within=st.sampled_from(["nothing", "priority", "user_limit"]),
    part=st.sampled_from([0.2, 1.0]),
)  # fmt: skip
def test_nobody_falls_below_its_guarantee_and_it_comes_to_an_end(
    policy, top, below, steps, within, part
):
    """Applications come in any order, with tasks that no node can free room for at once, and no
    task ends. A victim keeps its guarantee, AMs are taken last, each round stays within the budget,
    and at last nothing is taken any more.
    """
    inside = {} if policy == "fair" else {"preempt_within": within}
    made = cluster(policy, top, below, preempt_queue_budget=part, **inside)
    guarantees = policy == "capacity" and within == "nothing"
    for number, (queue, size, count, priority, user) in enumerate(steps, 1):
        made.add_app(number, f"root.{queue}", priority=priority, user=user)
        made.ask(number, 1, (1024, 1), priority=0, is_am=True)
        one_round(made, guarantees=guarantees)
        made.ask(number, count, size)
        for _ in range(15):
            one_round(made, guarantees=guarantees)
    for _ in range(150):
        one_round(made, guarantees=guarantees)
    assert evictions(made, 60) == []


@pytest.mark.slow
@settings(deadline=None, max_examples=8)
@given(
    policy=st.sampled_from(["capacity", "fair"]), top=PARTS, below=PARTS, seed=st.integers(0, 99)
)  # fmt: skip
def test_no_endless_eviction_while_tasks_end_and_come_again(policy, top, below, seed):
    """In 1,000 rounds tasks end at random and every application asks again for what it lost. What
    is taken stays a small part of what is started.
    """
    random, made = Random(seed), cluster(policy, top, below)  # noqa: S311 - no secret
    for number, queue in enumerate(QUEUES, 1):
        made.add_app(number, f"root.{queue}")
        made.ask(number, 10_000, SIZES[(number + int(top[0] > 50)) % 4])
        one_round(made, guarantees=policy == "capacity")
    taken = started = 0
    for _ in range(1000):
        if made.containers and random.random() < 0.5:
            made.complete(random.choice(sorted(made.containers)))
            started += 1
        taken += one_round(made, guarantees=policy == "capacity")
    assert taken <= started / 2 + 20
