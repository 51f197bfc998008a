"""A queue never deadlocks: with any AMs, sizes and arrivals, some job gets a task."""

from operator import add

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dressed import SECOND, begin, come, dress, of
from loomcard.model.objects import Ask
from loomcard.model.resource import fits
from loomcard.testing import Clause, check_contract
from loomcard.testing.cluster import Allocated, Cluster

NODE = (8192, 8)
AMS = [(512, 1), (1024, 1), (2048, 2), (4096, 4), (2048, 7), (8192, 8)]
TASKS = [(512, 1), (1024, 1), (2048, 2), (4096, 1), (4096, 4), (7168, 7), (1024, 8), NODE]
"""Sizes up to a whole node; beside an AM some of them fit on no node."""
PATIENCE = 4
"""The number of ticks that may pass before a task is served."""
WINDOW = 12
"""The number of ticks that may pass before an AM is served while others wait without end. A new AM
is given ten ticks to ask.
"""


def masters(cluster: Cluster) -> dict[int, Allocated]:
    """Return the AMs by application."""
    return {each.app: each for each in cluster.containers.values() if each.is_am}


def tasks(cluster: Cluster) -> list[Allocated]:
    """Return all containers of tasks."""
    return [each for each in cluster.containers.values() if not each.is_am]


def waits(cluster: Cluster) -> set[int]:
    """Return the applications whose AM runs and asks for a task."""
    asked = {app for (app, _, _), ask in cluster.asks.items() if ask.count}
    return asked & set(masters(cluster))


def fitting(cluster: Cluster) -> list[Ask]:
    """Return the asks that fit on some node."""
    free = dict(cluster.nodes)
    for each in cluster.containers.values():
        free[each.node] = tuple(f - s for f, s in zip(free[each.node], each.size, strict=True))
    asked = [ask for ask in cluster.asks.values() if ask.count]
    return [ask for ask in asked if any(fits(ask.size, f) for f in free.values())]


def patience(cluster: Cluster) -> int:
    """Return for how many ticks it is allowed that nothing is served; 0 means for ever.

    If a task fits, that is a few ticks. If none fits, it is more, provided that an AM could start
    that leaves half of the queue to tasks.
    """
    could = fitting(cluster)
    ams = masters(cluster)
    if any(not ask.is_am and ask.key.attempt in ams for ask in could):
        return PATIENCE
    sums = [sum(each) for each in zip((0, 0), *(am.size for am in ams.values()), strict=True)]
    whole = [sum(each) for each in zip(*cluster.nodes.values(), strict=True)]
    for ask in could:
        with_it = map(add, sums, ask.size)
        if not ams or all(2 * a <= most for a, most in zip(with_it, whole, strict=True)):
            return WINDOW
    return 0


def is_deadlocked(cluster: Cluster) -> bool:
    """Return whether no task runs although some job could be served, and none is served for several
    ticks.
    """
    for _ in range(0 if tasks(cluster) else patience(cluster)):
        if cluster.round(SECOND):
            return False
    return not tasks(cluster) and patience(cluster) > 0


class Queue(RuleBasedStateMachine):
    """Jobs with AMs arrive, find out what they need, run in several waves of different sizes, and
    leave.
    """

    @initialize(
        nodes=st.integers(1, 4),
        reading=st.sampled_from(["printed", "share"]),
        order=st.sampled_from(["submission", "demand"]),
        flags=st.tuples(st.booleans(), st.booleans()),
        waiting=st.sampled_from([0.05, 0.3, 0.5]),
    )
    def begin(self, nodes, reading, order, flags, waiting):
        """Begin with any options."""
        self.cluster = dress(
            [NODE] * nodes, reading=reading, order=order, waiting_ams=waiting,
            **dict(zip(("defer_releases", "eager"), flags, strict=True)),
        )  # fmt: skip
        self.apps = 0

    @rule(am=st.sampled_from(AMS), count=st.integers(1, 12))
    def come(self, am, count):
        """Add a line of jobs that ask for their AMs."""
        for _ in range(count):
            self.apps += 1
            self.cluster.now += 1
            self.cluster.add_app(self.apps)
            self.cluster.ask(self.apps, 1, am, priority=0, is_am=True)

    @rule(size=st.sampled_from(TASKS), count=st.integers(1, 40), every=st.booleans())
    def want(self, size, count, every):
        """Let AMs ask for tasks: all AMs that run, or the first that has no task."""
        held = {each.app for each in tasks(self.cluster)}
        idle = [app for app in masters(self.cluster) if every or app not in held]
        for app in idle if every else idle[:1]:
            self.cluster.ask(app, count, size)

    @rule(few=st.integers(1, 30))
    def finish(self, few):
        """End some tasks."""
        for each in tasks(self.cluster)[:few]:
            self.cluster.complete(each.number)

    @rule(ms=st.sampled_from([1, 300, SECOND, 20 * SECOND]))
    def go_on(self, ms):
        """Let time pass."""
        self.cluster.round(ms)

    @rule()
    def leave(self):
        """End the jobs that have nothing to do."""
        busy = {each.app for each in tasks(self.cluster)} | waits(self.cluster)
        for app in set(masters(self.cluster)) - busy:
            self.cluster.end_app(app)

    @rule()
    def all_tasks_end(self):
        """End all tasks; only AMs are left, and those that wait must be served."""
        for each in tasks(self.cluster):
            self.cluster.complete(each.number)

    @invariant()
    def somebody_is_served(self):
        """The queue is not deadlocked, whatever happened."""
        assert not is_deadlocked(self.cluster)


Queue.TestCase.settings = settings(max_examples=100, stateful_step_count=20, deadline=None)
TestAQueueNeverDeadlocks = Queue.TestCase


@pytest.mark.parametrize("slots", [2, 3, 10, pytest.param(100, marks=pytest.mark.slow)])
def test_a_line_of_large_jobs_is_worked_off(slots):
    """Of sixty jobs, each with an AM and more tasks than fit, the AMs do not fill the cluster."""
    cluster = dress([(slots * 1024, slots)])
    for app in range(1, 61):
        cluster.add_app(app)
        cluster.ask(app, 1, priority=0, is_am=True)
    left, most = dict.fromkeys(range(1, 61), 2 * slots), 0
    for _ in range(60 * 8):
        for each in cluster.round(SECOND):
            if each.is_am:
                cluster.ask(each.app, left[each.app])
        most = max(most, len(masters(cluster)))
        for each in tasks(cluster):
            left[each.app] -= 1
            cluster.complete(each.number)
        for app in [app for app, count in left.items() if not count]:
            cluster.end_app(app)
            del left[app]
    assert not left
    assert most <= max(1, 0.05 * slots) + 2


def test_sessions_that_ask_for_nothing_do_not_keep_others_from_starting():
    """The AMs of five interactive sessions use a container each and have no task. After a window
    they no longer count as waiting; AMs that ask and wait do.
    """
    cluster = dress()
    for app in range(1, 12):
        cluster.add_app(app)
        cluster.ask(app, 1, priority=0, is_am=True)
    cluster.round()
    assert set(masters(cluster)) == {1, 2, 3, 4, 5}
    assert cluster.reasons[6, 0, 0] == "AMS_WAIT"
    cluster.add_app(20)
    for _ in range(10):
        cluster.round(SECOND)
    assert len(masters(cluster)) == 10


def test_idle_sessions_do_not_keep_the_third_am_from_starting_at_ticks_alone():
    """The machine found this case: with ``eager: false`` the border shrank below what two AMs
    used.
    """
    cluster = dress([NODE], eager=False, defer_releases=False)
    begin_line(cluster, (512, 1), 3)
    for _ in range(3 * WINDOW):
        cluster.round(SECOND)
    assert sorted(masters(cluster)) == [1, 2, 3]


def test_a_job_whose_task_fits_beside_no_am_does_not_keep_others_from_starting():
    """The machine found this case: an AM runs on the only node, and its job asks for the whole
    node. The next AM starts, and its job is served. While that job runs no third AM starts, as
    usual.
    """
    cluster = dress([NODE])
    begin_line(cluster, (2048, 2), 1)
    cluster.round(SECOND)
    cluster.ask(1, 1, NODE)
    begin_line(cluster, (1024, 1), 20, first=10)
    cluster.round(SECOND)
    assert sorted(masters(cluster)) == [1, 10]
    cluster.ask(10, 3)
    for _ in range(PATIENCE):
        cluster.round(SECOND)
    assert [each.app for each in tasks(cluster)] == [10] * 3
    assert sorted(masters(cluster)) == [1, 10]


def begin_line(cluster: Cluster, am: tuple[int, int], count: int, first: int = 1) -> None:
    """Add this many jobs that ask for their AMs."""
    for app in range(first, first + count):
        cluster.now += 1
        cluster.add_app(app)
        cluster.ask(app, 1, am, priority=0, is_am=True)


def test_all_ams_leave_half_of_the_queue_to_tasks():
    """Sessions that had a task and ask for nothing more do not wait. However many there are, their
    AMs use at most half of the queue, and a session that then wants a task gets it.
    """
    cluster = dress([(10 * 1024, 10)])
    for app in range(1, 11):
        cluster.add_app(app)
        cluster.ask(app, 1, priority=0, is_am=True)
    for _ in range(20):
        for each in cluster.round(SECOND):
            if each.is_am:
                cluster.ask(each.app, 1)
            else:
                cluster.complete(each.number)
    assert sorted(masters(cluster)) == [1, 2, 3, 4, 5]
    cluster.ask(1, 5)
    assert len(cluster.round(SECOND)) == 5


@pytest.mark.parametrize("nodes", [[(4096, 4)] * 8, [(4096, 4)] + [(2048, 2)] * 8])
def test_a_large_jobs_task_of_a_nodes_size_is_not_starved_by_large_jobs_behind_it(nodes):
    """Large jobs use all that the border leaves them, and small ones wait for the rest. Room that
    becomes free goes to the task that came first, once it was passed over for a while. This holds
    although the task is a fifth of the queue, and that much room never becomes free at once.
    """
    cluster = dress(nodes, dmin=0.2, dmax=0.2)
    come(cluster, a1=500, a2=500)
    for app in range(10, 40):
        come(cluster, **{f"a{app}": 2})
    cluster.round()
    cluster.add_app(50, submitted_ms=0)
    cluster.ask(50, 2, (4096, 4))
    begin(cluster, list(cluster.containers.values()))
    for _ in range(60):
        for number in sorted(cluster.containers)[:1]:
            cluster.complete(number)
        allocated = cluster.round(SECOND)
        begin(cluster, allocated)
        if of(allocated, 50):
            break
    assert of(allocated, 50)


def test_a_replay_sees_an_am_that_was_allocated_in_mid_round():
    """When the policy was called again in the round that allocated an AM, it once treated the AM's
    ask, of which nothing is left, as one that waits. A journal's segment that begins then has no
    such ask.
    """
    check_contract("dress", seeds=[4], skip={Clause.IDLE, Clause.STRESS})


def test_an_am_that_waited_for_a_limit_of_yarn_then_waits_by_a_rule_and_says_so():
    """Otherwise the engine takes it for stalled, and serves the queue first in, first out."""
    cluster = Cluster(
        "version: 1\npolicy: fifo\nqueues:\n  default: {policy: dress, am_share: 30%}\n",
        nodes=[(1536, 8)] * 3,
    )

    def start(app: int) -> None:
        cluster.add_app(app)
        cluster.ask(app, 1, (384, 1), priority=0, is_am=True)
        for _ in range(3):
            cluster.round(SECOND)

    for app, tasks, memory_mb in ((1, 1, 256), (2, 3, 900), (3, 1, 1400)):
        start(app)
        cluster.ask(app, tasks, (memory_mb, 1))
        for _ in range(12):
            cluster.round(SECOND)
    start(4)
    assert cluster.reasons[4, 0, 0] == "AM_LIMIT"  # three AMs use 25 of 30 %
    cluster.end_app(1)
    for _ in range(3):
        cluster.round(SECOND)
    assert cluster.reasons[4, 0, 0] == "AMS_WAIT"  # the third still waits for its first task
    rules = cluster.session.mirror.state.rule_waits
    assert rules.until_ms(cluster.session.mirror.state.attempts[4].ordered[0]) > cluster.now
