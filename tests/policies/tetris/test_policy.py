"""Tests of Tetris: alignment, remaining work, the fairness knob, remote tasks."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiled import config, flat, queue
from loomcard.api.stages.dag_hint import HINT, DagStage, write_dag
from loomcard.api.stages.remaining_work import part_of_cluster
from loomcard.model.resource import fits
from loomcard.policies.tetris.paper import alignment, competing, work_price
from loomcard.policies.tetris.policy import Tetris
from loomcard.testing.cluster import Cluster


def tetris(**options: object) -> Cluster:
    """Return one queue under tetris."""
    return Cluster(flat("tetris", **options))


def hint(tasks: int) -> dict[str, str]:
    """Return the hint of one stage with this many tasks of a second."""
    return {HINT: write_dag([DagStage("s", 20, tasks, 1000.0, (1024, 1))])}


def test_alignment_is_the_dot_product_in_parts_of_the_cluster():
    """A task needs half of the memory and a fifth of the cores, on a node that has just as much
    free.
    """
    assert alignment((5, 2), (5, 2), (10, 10)) == pytest.approx(0.5 * 0.5 + 0.2 * 0.2)


def test_a_task_goes_to_the_node_that_its_shape_aligns_with():
    """A task that needs much memory goes to the node with much memory, one that needs many cores to
    the other.
    """
    engine = tetris()
    engine.add_node(1, 2048, 20)
    engine.add_node(2, 20480, 4)
    for app, size in ((1, (2048, 1)), (2, (512, 4))):
        engine.add_app(app)
        engine.ask(app, 1, size)
    assert {g.attempt: g.node for g in engine.round()} == {1: 2, 2: 1}


def test_by_alignment_alone_the_large_task_is_packed_first():
    """With work_weight 0 the task that uses most of the free room is first, in any order of
    asks.
    """
    engine = tetris(work_weight=0.0)
    engine.add_node(1, 8192, 8)
    for app, size in ((1, (1024, 1)), (2, (6144, 6))):
        engine.add_app(app)
        engine.ask(app, 5, size)
    assert [g.attempt for g in engine.round()] == [2, 1, 1]


def test_equal_tasks_go_to_whom_is_nearly_done():
    """If the alignment is equal, remaining work decides."""
    engine = tetris()
    engine.add_node(1, 2048, 2)
    for app, tasks in ((1, 50), (2, 5)):
        engine.add_app(app, hints=hint(tasks))
        engine.ask(app, 5)
    assert {g.attempt for g in engine.round()} == {2}


def test_a_little_less_alignment_is_paid_by_much_less_work():
    """A smaller task of an application that is nearly done goes before a larger one of a long
    application; a work_weight of 0 reverses that.
    """
    for weight, want in ((1.0, 2), (0.0, 1)):
        engine = tetris(work_weight=weight)
        engine.add_node(1, 2048, 8)
        for app, tasks, size in ((1, 50, (2048, 1)), (2, 1, (1024, 1))):
            engine.add_app(app, hints=hint(tasks))
            engine.ask(app, 1, size)
        assert [g.attempt for g in engine.round()] == [want]


def test_a_remote_task_gives_way_to_a_local_one():
    """On node 1 the first task is remote, so its alignment is a tenth less than the second's."""
    engine = tetris(work_weight=0.0)
    engine.add_node(1, 1024, 1)
    engine.add_node(2, 512, 1)
    for app, hosts in ((1, {"n2": 1}), (2, {"n1": 1})):
        engine.add_app(app)
        engine.ask(app, 1, hosts=hosts)
    assert [(g.attempt, g.node) for g in engine.round()] == [(2, 1)]


def test_a_task_prefers_its_node_unless_another_aligns_much_better():
    """With a penalty of 10 % a slightly freer node does not attract the task, but a much freer one
    does.
    """
    for elsewhere, want in ((4300, 1), (20480, 2)):
        engine = tetris()
        engine.add_node(1, 4096, 4)
        engine.add_node(2, elsewhere, 4)
        engine.add_app(1)
        engine.ask(1, 1, hosts={"n1": 1})
        assert [g.node for g in engine.round()] == [want]


def test_the_knob_lets_only_the_most_deprived_compete():
    """With f near 1 shares stay equal, although alignment alone would serve only the large
    tasks.
    """
    counts = {}
    for fairness in (0.0, 0.99):
        engine = tetris(fairness=fairness, work_weight=0.0)
        engine.add_node(1, 8192, 8)
        for app, size in ((1, (1024, 1)), (2, (2048, 2))):
            engine.add_app(app)
            engine.ask(app, 8, size)
        counts[fairness] = Counter(g.attempt for g in engine.round())
    assert counts == {0.0: {2: 4}, 0.99: {1: 4, 2: 2}}


def limited(**limit: int) -> Cluster:
    """Return a cluster of 8 slots with a queue of one limit, and a knob that lets one of four
    applications compete.
    """
    leaf = queue("root.a", "tetris", options={"fairness": 0.75}, **limit)
    engine = Cluster(config(queue("root", "fifo"), leaf))
    engine.add_node(1, 8192, 8)
    return engine


def test_masters_that_the_am_limit_holds_back_take_no_place_of_the_knob():
    """Two of four AMs may run. The waiting ones use least, but the tasks of the two are served."""
    engine = limited(am_share_ppm=250_000)
    for app in (1, 2, 3, 4):
        engine.add_app(app)
        engine.ask(app, 1, priority=0, is_am=True)
    assert [g.attempt for g in engine.round()] == [1, 2]
    engine.ask(1, 5)
    assert [g.attempt for g in engine.round()] == [1] * 5


def test_whom_the_user_limit_forbids_takes_no_place_of_the_knob():
    """The user of 1 and 2 has its two containers. Application 2 has none, but 3 is served."""
    engine = limited(user_limit_ppm=250_000)
    for app, user in ((1, "u"), (3, "v")):
        engine.add_app(app, user=user)
        engine.ask(app, 2 if app == 1 else 1)
    engine.round()
    engine.add_app(2, user="u")
    for app in (2, 3):
        engine.ask(app, 1)
    assert [g.attempt for g in engine.round()] == [3]


def test_whom_no_node_suits_takes_no_place_of_the_knob():
    """The first application has no container, but accepts only n1, which is full."""
    engine = tetris(fairness=1.0)
    engine.add_node(1, 1024, 1)
    engine.add_app(1)
    engine.ask(1, 1)
    engine.round()
    engine.add_node(2, 1024, 1)
    rows = {"hosts": {"n1": 1}, "racks": {"/r": 1}, "strict_racks": ["/r"]}
    for app, keys in ((2, {**rows, "relax": False}), (3, {})):
        engine.add_app(app)
        engine.ask(app, 1, **keys)
    assert [(g.attempt, g.node) for g in engine.round()] == [(3, 2)]


def test_an_ask_that_no_node_suits_does_not_hold_up_the_next():
    """All asks of an application compete, including those of one size."""
    engine = tetris()
    engine.add_node(1, 1024, 1)
    engine.add_app(1)
    engine.ask(1, 1, priority=10, hosts={"n9": 1}, relax=False)
    engine.ask(1, 1, priority=20)
    assert [g.ask[1] for g in engine.round()] == [20]


@given(st.floats(0, 1), st.integers(1, 1000))
def test_someone_always_competes_and_never_more_than_there_are(fairness, count):
    """max(1, ceil((1 - f) n)) compete: all at f = 0, one at f = 1."""
    assert 1 <= competing(fairness, count) <= count
    assert competing(0.0, count) == count
    assert competing(1.0, count) == 1


def test_the_price_makes_both_terms_weigh_alike():
    """The mean alignment of two candidates is 0.2 and their mean work 100, so a unit costs 0.002.
    Without work there is no price.
    """
    assert work_price([(0.1, 1), (0.3, 1)], 200) == pytest.approx(0.002)
    assert work_price([(0.1, 1)], 0) == 0.0


@pytest.mark.parametrize("options", [{"fairness": 1.5}, {"remote_penalty": -0.1}])
def test_options_out_of_range_are_refused(options):
    """The error names the option."""
    with pytest.raises(ValueError, match=next(iter(options))):
        Tetris(**options)


ASKS = st.lists(
    st.tuples(
        st.integers(1, 4), st.sampled_from([(1024, 1), (2048, 1), (512, 3)]), st.integers(1, 9),
    ),
    min_size=1, max_size=5,
)  # fmt: skip
NODES = st.lists(st.tuples(st.integers(1, 8), st.integers(1, 8)), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None)
@given(ASKS, NODES, st.sampled_from([0.0, 0.5, 1.0]))
def test_each_choice_has_the_highest_score_of_all(asks, nodes, weight):
    """Each choice is compared with the definition, pair by pair: alignment - m * eps * remaining
    work.
    """
    engine = tetris(work_weight=weight)
    for number, (gb, vcores) in enumerate(nodes, 1):
        engine.add_node(number, gb * 1024, vcores)
    work, left = {}, {}
    capacity = [sum(n[i] for n in engine.nodes.values()) for i in (0, 1)]
    for app, (count, size, tasks) in enumerate(asks, 1):
        engine.add_app(app, hints=hint(tasks))
        engine.ask(app, count, size)
        work[app] = tasks * 1000.0 * part_of_cluster((1024, 1), capacity)
        left[app] = count
    free = {number: list(whole) for number, whole in engine.nodes.items()}

    def aligned(app: int) -> dict[int, float]:
        size = asks[app - 1][1]
        rooms = [(n, f) for n, f in free.items() if fits(size, f)]
        return {n: alignment(size, f, capacity) for n, f in rooms}

    fitting = [app for app in left if aligned(app)]
    total = sum(work[app] for app in fitting)
    price = weight * sum(max(aligned(app).values()) for app in fitting) / total if total else 0.0
    for allocated in engine.round():
        app, node = allocated.attempt, allocated.node
        scores = [a - price * work[k] for k in left if left[k] for a in aligned(k).values()]
        assert aligned(app)[node] - price * work[app] == pytest.approx(max(scores), abs=1e-9)
        left[app] -= 1
        free[node] = [f - s for f, s in zip(free[node], allocated.size, strict=True)]
