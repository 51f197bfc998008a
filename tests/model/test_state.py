"""The cluster's state in figures, after each kind of change; why asks may not go somewhere; and the
nodes on which they are placed.
"""

from types import SimpleNamespace
from typing import Any

import pytest

from compiled import config, queue
from loomcard.model.objects import Application, Ask, AskKey, Attempt, Container, Node
from loomcard.model.placement import nodes_fitting, place
from loomcard.model.reasons import Reason
from loomcard.model.reservations import fits_reserved, why_never
from loomcard.model.resource import Resource
from loomcard.model.state import ClusterState
from loomcard.model.tallies import take_row
from loomcard.model.topology import Topology

ROOT, A, X, Y, B = range(5)


def state_of(*nodes: tuple[int, int, str, str], **leaf: Any) -> ClusterState:
    """Return a state with the leaves root.a.x, root.a.y and root.b, x with the keys ``leaf``, and
    nodes of these amounts, racks and labels, whose hosts are h1, h2, ...
    """
    state = ClusterState(["memory_mb", "vcores"])
    tree = [queue("root", "fifo"), queue("root.a", "fifo"), queue("root.a.x", "fifo", **leaf)]
    state.configure(config(*tree, queue("root.a.y", "fifo"), queue("root.b", "fifo")))
    for number, (memory_mb, vcores, rack, label) in enumerate(nodes, 1):
        size = Resource((memory_mb, vcores))
        state.add_node(Node(number, f"h{number}:1", rack, size, label))
    return state


def add(state: ClusterState, number: int, leaf: int = X, at_ms: int = 0) -> Attempt:
    """Add an application with one attempt of its number."""
    app = Application(number, f"application_{number}", state.queues[leaf], f"u{number}")
    app.submitted_ms = at_ms
    state.add_application(app)
    attempt = state.attempts[number] = app.attempts[number] = Attempt(number, app, 1, False)
    return attempt


def want(
    state: ClusterState, attempt: Attempt, count: int, size: tuple[int, int] = (100, 1), *,
    priority: int = 1, label: str = "", is_am: bool = False, **keys: Any,
) -> Ask:  # fmt: skip
    """Let an attempt ask; ``keys`` are attributes of the ask."""
    key = AskKey(attempt.number, priority, 0)
    ask = state.set_ask(attempt, key, Resource(size), label, is_am)
    for name, value in keys.items():
        setattr(ask, name, value)
    state.demand(ask, count)
    return ask


def used(state: ClusterState) -> list[list[int]]:
    return [each.used for each in state.queues]


def test_an_allocation_is_charged_everywhere_and_taken_back_everywhere():
    """To the node, the application, its user, its queues; the rows of the ask shrink and grow."""
    state = state_of((1000, 10, "/r", ""), user_limit_ppm=900_000)
    attempt = add(state, 1)
    app, node, x = attempt.application, state.nodes[1], state.queues[X]
    ask = want(state, attempt, 2, hosts={"h1": 1}, racks={"/r": 2}, is_am=True)
    assert [each.pending_count for each in state.queues] == [2, 2, 2, 0, 0]
    assert (app.pending_count, state.pending_total, state.shapes) == (2, 2, {((100, 1), ""): 1})
    container = state.allocate(ask, node, 70)
    assert (container.allocated_ms, container.is_am, container.ask_key) == (70, True, ask.key)
    assert (ask.count, ask.hosts, ask.racks, ask.since_ms) == (1, {}, {"/r": 1}, 70)
    assert (state.shape_waits.taken_ms, ask.shape_wait.served_ms) == ([70, 70], 70)
    assert (node.free, node.used, state.free) == ([900, 9], (100, 1), (900, 9))
    assert used(state) == [[100, 1], [100, 1], [100, 1], [0, 0], [0, 0]]
    assert (app.used, x.user_used, x.am_used) == ([100, 1], {"u1": [100, 1]}, [100, 1])
    assert list(node.containers) == list(app.containers) == [container]
    assert state.undo(container) is ask
    assert (ask.count, ask.hosts, ask.racks) == (2, {"h1": 1}, {"/r": 2})
    assert (node.free, used(state), app.used) == ([1000, 10], [[0, 0]] * 5, [0, 0])
    assert (x.user_used, x.am_used, list(node.containers)) == ({"u1": [0, 0]}, [0, 0], [])
    assert (state.pending_total, app.pending_count) == (2, 2)


def test_a_confirmed_container_has_its_numbers_and_the_last_one_ends_its_ask():
    state = state_of((1000, 10, "/r", ""))
    attempt = add(state, 1)
    ask = want(state, attempt, 2)
    first, second = (state.allocate(ask, state.nodes[1], 5) for _ in range(2))
    assert list(attempt.asks) == [ask.key]  # a refusal would bring it back
    state.confirm(first, 7, 1)
    assert (first.number, first.yarn_number, state.containers) == (7, 1, {7: first})
    assert list(attempt.asks) == []
    state.confirm(second, 8, 2)
    assert list(state.containers) == [7, 8]
    assert state.undo(second) is None
    assert state.pending_total == 0


def test_a_moved_application_takes_all_along():
    """What it uses, its AMs, its demand and its age; its old queues have nothing of it."""
    state = state_of((1000, 10, "/r", ""), user_limit_ppm=900_000)
    attempt = add(state, 1, at_ms=30)
    app = attempt.application
    am = want(state, attempt, 1, is_am=True, priority=0)
    want(state, attempt, 3, priority=2)
    state.allocate(am, state.nodes[1], 5)
    changed: list[dict] = [{} for _ in state.queues]
    for each, watcher in zip(state.queues, changed, strict=True):
        each.watchers.append(watcher)
    x, b = state.queues[X], state.queues[B]
    assert [each.submitted_ms for each in state.queues] == [30, 30, 30, 0, 0]
    state.move_application(app, b)
    assert used(state) == [[100, 1], [0, 0], [0, 0], [0, 0], [100, 1]]
    assert (x.am_used, b.am_used, x.user_used["u1"]) == ([0, 0], [100, 1], [0, 0])
    assert [each.pending_count for each in state.queues] == [3, 0, 0, 0, 3]
    assert [each.submitted_ms for each in state.queues] == [30, 0, 0, 0, 30]
    assert (list(x.applications), list(b.applications), app.queue) == ([], [1], b)
    assert [set(each) for each in changed] == [
        {state.queues[A], b}, {x}, {app}, set(), {app},
    ]  # fmt: skip
    state.move_application(app, b)
    assert used(state)[0] == [100, 1]


def test_another_tree_keeps_use_and_demand_by_the_paths_of_queues():
    state = state_of((1000, 10, "/r", ""))
    attempt = add(state, 1)
    state.allocate(want(state, attempt, 3), state.nodes[1], 5)
    version = state.capacity_version
    tree = [queue("root", "fifo"), queue("root.b", "fifo"), queue("root.a", "fifo"),
            queue("root.a.x", "fifo", maximum={"ppm": 500_000})]  # fmt: skip
    state.configure(config(*tree))
    assert state.capacity_version > version
    assert list(state.by_path) == ["root", "root.b", "root.a", "root.a.x"]
    assert used(state) == [[100, 1], [0, 0], [100, 1], [100, 1]]
    assert [each.pending_count for each in state.queues] == [2, 0, 2, 2]
    assert (attempt.application.queue, state.queues[3].maximum) == (state.queues[3], (500, 5))


def test_nodes_come_change_and_go():
    """Hosts and racks have the numbers of their nodes in order; a smaller node may owe room."""
    state = state_of((1000, 10, "/r", ""), (500, 5, "/r", "gpu"))
    watched: dict = {}
    state.node_watchers.append(watched)
    one, two = state.nodes.values()
    assert (state.capacity, state.racks) == ((1500, 15), {"/r": [1, 2]})
    state.allocate(want(state, add(state, 1), 1, (400, 4)), one, 5)
    assert list(watched) == [one]
    version = state.capacity_version
    state.resize_node(one, Resource((300, 3)))
    assert (one.free, one.capacity, state.capacity) == ([-100, -1], (300, 3), (800, 8))
    assert state.capacity_version == version + 1
    state.relabel_node(two, "ssd", True)
    assert (two.label, two.shared, list(state.partitions)) == ("ssd", True, ["", "ssd"])
    assert state.capacity_version == version + 2
    state.remove_node(two)
    assert (state.capacity, state.racks, state.hosts) == ((300, 3), {"/r": [1]}, {"h1": [1]})
    assert (list(state.nodes), list(watched)) == ([1], [one, two])


def test_the_oldest_that_waits_is_a_queues_age():
    state = state_of((1000, 10, "/r", ""))
    asks = [want(state, add(state, n, leaf, at_ms), 1) for n, leaf, at_ms in
            ((1, X, 50), (2, X, 20), (3, Y, 40))]  # fmt: skip
    ages = lambda: [state.queues[each].submitted_ms for each in (A, X, Y)]  # noqa: E731
    assert ages() == [20, 20, 40]
    state.demand(asks[1], 0)
    assert ages() == [40, 50, 40]
    want(state, state.attempts[2], 1)
    assert ages() == [20, 20, 40]
    state.drop_asks(state.attempts[2])
    assert state.attempts[2].asks == {}
    state.remove_application(state.applications[2])
    assert (ages(), list(state.queues[X].applications)) == ([40, 50, 40], [1])


def test_another_size_or_label_is_another_shape():
    """The outstanding containers stay the same; asks with a label are listed by it."""
    state = state_of((1000, 10, "/r", ""))
    attempt = add(state, 1)
    ask = want(state, attempt, 2)
    want(state, attempt, 2, (200, 1))
    assert (state.shapes, state.pending_total) == ({((200, 1), ""): 1}, 2)
    other = want(state, attempt, 1, (200, 1), priority=2, label="gpu")
    assert state.shapes == {((200, 1), ""): 1, ((200, 1), "gpu"): 1}
    assert {label: list(asks) for label, asks in state.labelled.items()} == {"gpu": [other]}
    assert attempt.ordered == [ask, other]
    want(state, attempt, 1, (200, 1), priority=2, label="gpu", is_am=True)
    assert attempt.ordered == [other, ask]
    state.demand(other, 0)
    assert (state.shapes, list(state.labelled["gpu"])) == ({((200, 1), ""): 1}, [])


def test_why_an_ask_may_not_go_to_a_node_in_the_order_of_the_reasons():
    state = state_of((1000, 10, "/r", ""), (1000, 10, "/s", "gpu"), maximum={"ppm": 600_000})
    node, gpu = state.nodes.values()
    attempt = add(state, 1)
    ask = want(state, attempt, 1, (1000, 10))
    why = lambda where=node: state.why_not(ask, where)  # noqa: E731
    assert why() is None
    other = want(state, add(state, 2), 1, (300, 3))
    state.allocate(other, node, 5)
    assert why() is Reason.NODE_FULL
    want(state, attempt, 1, (700, 7))
    assert why() is None
    want(state, attempt, 1, (100, 7))
    assert why() is None
    blocker = want(state, add(state, 3), 1, (700, 7))
    state.reservations.put(blocker, node, 0, None)
    assert (why(), state.why_not(blocker, node)) == (Reason.NODE_RESERVED, None)
    assert (fits_reserved(blocker, node), fits_reserved(ask, node)) == (True, False)
    ask.relax_locality = False
    assert why() is Reason.LOCALITY
    attempt.blacklist = frozenset(["/r"])
    assert why() is Reason.BLACKLISTED
    attempt.blacklist = frozenset(["h1"])
    assert (why(), why(gpu)) == (Reason.BLACKLISTED, Reason.LABEL)
    ask.count = 0
    assert why() is Reason.ASK_GONE
    del state.attempts[1]
    assert why() is Reason.ATTEMPT_GONE
    assert why(Node(1, "h1:1", "/r", node.capacity, "")) is Reason.NODE_GONE


def test_why_an_ask_could_not_run_on_an_empty_node():
    state = state_of((1000, 10, "/r", ""), (1000, 10, "/s", "gpu"))
    node, gpu = state.nodes.values()
    attempt = add(state, 1)
    ask = want(state, attempt, 1, (1000, 10))
    assert (why_never(ask, node), why_never(ask, gpu)) == (None, Reason.LABEL)
    ask.size = Resource((1001, 1))
    assert why_never(ask, node) is Reason.NODE_FULL
    ask.racks = {"/s": 1}
    assert why_never(ask, node) is Reason.NODE_FULL
    ask.relax_locality = False
    assert why_never(ask, node) is Reason.LOCALITY
    ask.racks = {}
    assert why_never(ask, node) is Reason.LOCALITY
    ask.racks, ask.strict_racks, ask.relax_locality = {"/r": 1}, ["/r"], True
    assert why_never(ask, node) is Reason.LOCALITY  # the rack is named for its hosts alone
    attempt.blacklist = frozenset(["h1", "x"])
    assert why_never(ask, node) is Reason.BLACKLISTED


def test_limits_are_asked_in_their_order():
    """The maximum of the queue and of those above it, then the user's, then that of AMs."""
    state = state_of((1000, 10, "/r", ""), maximum={"ppm": 500_000}, user_limit_ppm=600_000,
                     am_share_ppm=200_000)  # fmt: skip
    node, attempt = state.nodes[1], add(state, 1)
    am = want(state, attempt, 3, (100, 1), is_am=True)
    assert state.limited(am) is None
    state.allocate(am, node, 0)
    assert state.limited(am) is Reason.AM_LIMIT
    task = want(state, attempt, 9, (100, 1), priority=2)
    for _ in range(2):
        assert state.limited(task) is None
        state.allocate(task, node, 0)
    assert state.limited(task) is Reason.USER_LIMIT
    task = want(state, add(state, 2), 9, (100, 1))
    for _ in range(2):
        assert state.limited(task) is None
        state.allocate(task, node, 0)
    assert state.limited(task) is Reason.QUEUE_MAX
    assert state.limited(want(state, add(state, 3, Y), 1)) is None


def test_nodes_in_the_order_in_which_they_are_tried():
    """Named hosts, then their racks, then the others, each by number and once."""
    state = state_of(*[(1000, 10, f"/r{n % 2}", "") for n in range(6)], (1000, 10, "/r0", "gpu"))
    attempt = add(state, 1)
    ask = want(state, attempt, 1, hosts={"h6": 1, "h2": 1, "none": 3}, racks={"/r1": 1})
    numbers = lambda: [node.number for node in nodes_fitting(state, ask)]  # noqa: E731
    assert numbers() == [2, 6, 4, 1, 3, 5]
    assert place(state, ask) is state.nodes[2]
    attempt.blacklist = frozenset(["h2"])
    assert numbers() == [6, 4, 1, 3, 5]
    ask.relax_locality = False
    assert numbers() == [6, 4]
    ask.strict_racks = ["/r1"]
    assert numbers() == [6]
    for number in (2, 6):
        state.allocate(want(state, add(state, number), 1, (1000, 10)), state.nodes[number], 0)
    assert (numbers(), place(state, ask)) == ([], None)
    ask.hosts, ask.racks, ask.relax_locality, ask.strict_racks = {}, {}, True, []
    assert (numbers(), place(state, ask)) == ([1, 3, 4, 5], state.nodes[1])
    attempt.blacklist = frozenset(["/r0"])
    assert (numbers(), place(state, ask)) == ([4], state.nodes[4])
    attempt.blacklist = frozenset()
    state.reservations.put(ask, state.nodes[5], 0, None)
    assert place(state, ask) is state.nodes[5]


def test_reservations_are_bounded_per_application_and_queue_and_the_oldest_goes():
    """The first one of a queue is always allowed; room counts as given back when one moves."""
    state = state_of(*[(1000, 10, "/r", "")] * 4, reservation_nodes=2)
    for each in state.queues:
        each.reservation_limit = Resource((1200, 12))
    kept, nodes = state.reservations, state.nodes
    ask = want(state, add(state, 1), 3, (600, 1))
    assert (bool(kept), len(kept), kept.of(ask.application)) == (False, 0, None)
    for number, now_ms in ((2, 10), (1, 20)):
        assert kept.why_not(ask, nodes[number]) is None
        kept.put(ask, nodes[number], now_ms, 500 + number)
    assert (bool(kept), len(kept), kept.of(ask.application), kept.ended) == (True, 2, ask, 0)
    assert kept.rows() == [(1, 1, 0, 2, 502, 10, 10), (1, 1, 0, 1, 501, 10, 20)]
    assert (nodes[1].room, nodes[1].free) == ([400, 9], [1000, 10])
    assert kept.reserved(state.queues[A]) == (1200, 2)
    second = want(state, state.attempts[1], 1, (10, 1), priority=2)
    assert kept.why_not(second, nodes[3]) is Reason.RESERVATION_LIMIT
    assert kept.why_not(ask, nodes[3]) is None  # the oldest would end
    kept.put(ask, nodes[3], 30, None)
    assert ([row[3] for row in kept.rows()], kept.ended, nodes[2].reservation) == ([1, 3], 1, None)
    other = want(state, add(state, 2), 1, (10, 1))
    assert kept.why_not(other, nodes[3]) is Reason.NODE_RESERVED
    assert kept.why_not(other, nodes[4]) is Reason.RESERVATION_LIMIT  # 1210 of 1200
    kept.expire(500)
    assert len(kept) == 2
    kept.expire(501)
    assert [row[3] for row in kept.rows()] == [3]
    assert kept.why_not(other, nodes[4]) is None
    rows = kept.rows()
    kept.put(other, nodes[4], 40, None)
    kept.restore(rows)
    assert (kept.rows(), nodes[4].reservation) == (rows, None)
    kept.end_all(ask)
    assert (len(kept), nodes[3].room) == (0, [1000, 10])
    kept.allowed = False
    assert kept.why_not(other, nodes[4]) is Reason.RESERVATION_LIMIT


def test_hops_are_as_stated_else_those_of_a_tree():
    topology = Topology({"/r1": {"/r2": 6}, "a": {"b": 1}})
    hop = lambda u, v: topology.hop(tuple(u.split()), tuple(v.split()))  # noqa: E731
    assert [hop("a /r1", "a /r1"), hop("a /r1", "b /r1"), hop("b /r1", "a /r2")] == [0, 1, 1]
    assert [hop("a /r1", "c /r1"), hop("a /r1", "c /r2"), hop("c /r2", "d /r1")] == [2, 6, 6]
    assert hop("a /r1", "c /r3") == 4


def test_a_row_loses_one_container_at_a_time():
    rows = {"a": 2, "b": 1}
    assert [take_row(rows, "a"), take_row(rows, "b"), take_row(rows, "b"), take_row(rows, "c")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert rows == {"a": 1}


@pytest.mark.parametrize(
    ("epoch", "shown"),
    [(0, "container_1700_0001_02_000007"), (3, "container_e03_1700_0001_02_000007")],
)
def test_a_container_has_the_id_that_yarn_prints(epoch, shown):
    """Its number has the restarts of the ResourceManager above the lowest 40 bits."""
    app = SimpleNamespace(id="application_1700_0001")
    attempt: Any = SimpleNamespace(application=app, ordinal=2)
    state = state_of((1000, 10, "/r", ""))
    container = Container(attempt, state.nodes[1], Resource((1, 1)), AskKey(1, 1, 0))
    container.yarn_number = (epoch << 40) + 7
    assert container.id == shown


def test_objects_show_what_they_are():
    """In a traceback or a log, in one line."""
    state = state_of((1000, 10, "/r", ""))
    attempt = add(state, 1)
    ask = want(state, attempt, 2)
    container = Container(attempt, state.nodes[1], ask.size, ask.key)
    assert repr(state.nodes[1]) == "Node(h1:1, free=[1000, 10])"
    assert repr(ask) == "Ask((1, 1, 0), 2 x (100, 1))"
    assert repr(attempt) == "Attempt(application_1 #1)"
    assert repr(state.queues[X]) == "Queue(root.a.x, used=[0, 0])"
    assert "application_1" in repr(attempt.application)
    assert "h1" in repr(container)
    assert (ask.suits_all, ask.priority) == (True, 1)


@pytest.mark.parametrize(
    ("used_now", "guaranteed", "want_below"),
    [
        ([0, 0], (5, 5), True), ([5, 0], (5, 5), False), ([0, 9], (5, 0), True),
        ([0, 0], (0, 0), False),
    ],
)  # fmt: skip
def test_a_queue_is_below_its_guarantee_in_every_guaranteed_type(used_now, guaranteed, want_below):
    each = state_of().queues[X]
    each.used, each.guaranteed = used_now, Resource(guaranteed)
    assert each.below_guaranteed is want_below
