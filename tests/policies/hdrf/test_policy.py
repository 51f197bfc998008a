"""Tests of the policy hdrf on the real object: the paper's examples, and what a cluster adds to
them.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compiled
import scripted  # noqa: F401 - registers the policy that holds back
from hdrf_clusters import churn, grown, held, wants
from loomcard.api.registry import build
from loomcard.api.report import values_of
from loomcard.policies.hdrf.paper import SETTINGS
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r

FIG4 = {"n1": {"n11": {}}, "n2": {"n21": {}, "n22": {}}}
CPU, GPU = (0, 1, 0), (0, 0, 1)


def fig4(policy: str = "hdrf", **options):
    """Return figure 4: 10 CPUs and 10 GPUs; n1,1 wants CPUs, n2,1 CPUs and n2,2 GPUs."""
    made = grown(policy, FIG4, (1000, 10, 10), **options)
    for app, queue, size in ((1, "n1.n11", CPU), (2, "n2.n21", CPU), (3, "n2.n22", GPU)):
        wants(made, app, queue, size)
    made.round()
    return made


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("headroom", [True, False])
def test_figure_4_stays_as_it_is_under_churn(setting, headroom):
    """The leaves have 5, 5 and 10 tasks, from empty and while tasks of all leaves finish in
    turn.
    """
    made = fig4(setting=setting, headroom=headroom)
    assert held(made) == {1: 5, 2: 5, 3: 10}
    churn(made, 12, 1, 2, 3)
    assert held(made) == {1: 5, 2: 5, 3: 10}


@pytest.mark.parametrize("setting", SETTINGS)
def test_section_3_3_is_fair_in_both_resources(setting):
    """Of four organisations of equal weight three get a third of the CPUs each, and the GPUs are
    halved.
    """
    tree = {"n1": {"a": {}}, "n2": {"a": {}}, "n3": {"a": {}, "b": {}}, "n4": {"a": {}}}
    made = grown("hdrf", tree, (1000, 30, 30), setting=setting)
    leaves = [("n1.a", CPU), ("n2.a", CPU), ("n3.a", CPU), ("n3.b", GPU), ("n4.a", GPU)]
    for app, (queue, size) in enumerate(leaves, 1):
        wants(made, app, queue, size)
    made.round()
    churn(made, 8, 1, 2, 3, 4, 5)
    assert all(abs(held(made)[app] - want) <= 1 for app, want in enumerate([10, 10, 10, 15, 15], 1))


@pytest.mark.parametrize("setting", SETTINGS)
def test_figures_8_and_9_within_one_container(setting):
    """With 49 servers and weights 4 and 1, the CPUs are shared .8/.1/.1 and n1,2 gets all GPUs,
    also under churn. When n1,1 is done, n2's leaves get half of its CPUs each; when n2,2 is done
    too, n2,1 gets all.
    """
    tree = {"n1": {"weight": 4, "n11": {}, "n12": {}}, "n2": {"n21": {}, "n22": {}}}
    made = grown("hdrf", tree, *[(16, 4, 4)] * 49, setting=setting)
    both, gpu = (1, 1, 0), (1, 0, 1)
    for app, (queue, size) in enumerate(
        [("n1.n11", both), ("n1.n12", gpu), ("n2.n21", both), ("n2.n22", both)], 1
    ):
        wants(made, app, queue, size)

    def settles(*want: int) -> None:
        made.round()
        churn(made, 40, *held(made))
        assert all(abs(held(made).get(a, 0) - w) <= 1 for a, w in enumerate(want, 1)), held(made)

    settles(157, 196, 20, 20)
    made.end_app(1)
    settles(0, 196, 98, 98)
    made.end_app(4)
    settles(0, 196, 196, 0)


@pytest.mark.slow
def test_static_keeps_the_static_split_where_the_paper_does_not():
    """docs/papers/hdrf.md 2.6: the weights inside two organisations are unequal, and there is
    churn.
    """
    tree = {
        "a": {"cpu": {}, "gpu": {"weight": 2}},
        "b": {"cpu": {"weight": 2}, "gpu": {}},
    }
    want = {"static": (40, 80, 80, 40), "cap": (60, 60, 60, 60), "prose": (60, 60, 60, 60)}
    for setting, shares in want.items():
        made = grown("hdrf", tree, (1000, 120, 120), setting=setting)
        for app, queue in enumerate(["a.cpu", "a.gpu", "b.cpu", "b.gpu"], 1):
            wants(made, app, queue, CPU if queue.endswith("cpu") else GPU)
        made.round()
        churn(made, 150, 1, 2, 3, 4)
        assert all(abs(held(made)[a] - s) <= 2 for a, s in enumerate(shares, 1)), held(made)


def test_a_leaf_that_is_no_leaf_of_the_paper_a_queue_with_fifo_inside():
    """With ``leaf: queue`` two queues share equally, however many applications each has, and inside
    a queue the first application comes first.
    """
    made = grown("hdrf", {"a": {}, "b": {}}, (1000, 10, 10), leaf="queue")
    for app, queue in ((1, "a"), (2, "b"), (3, "b")):
        wants(made, app, queue, CPU)
    made.round()
    assert held(made) == {1: 5, 2: 5}
    by_application = grown("hdrf", {"a": {}, "b": {}}, (1000, 10, 10))
    for app, queue in ((1, "a"), (2, "b"), (3, "b")):
        wants(by_application, app, queue, CPU)
    by_application.round()
    assert sorted(held(by_application).values()) == [2, 3, 5]


def test_headroom_keeps_room_for_the_largest_of_what_a_task_needs():
    """Beside an ask for 4 CPUs, a task of 1 CPU is not placed on a server with less than 4 free,
    and its wait has a reason. A task that needs only GPUs is placed.
    """
    made = grown("hdrf", {"a": {}, "b": {}}, (1000, 6, 6), (1000, 3, 6), headroom=True)
    wants(made, 1, "a", (0, 4, 0))
    wants(made, 2, "b", CPU)
    wants(made, 3, "b", GPU, 1)
    made.round()
    assert held(made) == {1: 1, 2: 3, 3: 1}  # node 2 can never run the large task
    assert made.reasons[1, 20, 0] == "NODE_FULL"
    assert made.reasons[2, 20, 0] == "HEADROOM"
    without = grown("hdrf", {"a": {}, "b": {}}, (1000, 6, 6), headroom=False)
    wants(without, 1, "a", (0, 4, 0))
    wants(without, 2, "b", CPU)
    without.round()
    assert held(without) == {1: 1, 2: 2}


def test_a_task_that_no_server_could_run_holds_nobody_up():
    """Such a task is not demanding, and no headroom is left for it."""
    made = grown("hdrf", {"a": {}, "b": {}}, (1000, 6, 6))
    wants(made, 1, "a", (0, 7, 0))
    wants(made, 2, "b", CPU)
    made.round()
    assert held(made) == {2: 6}
    assert made.reasons[1, 20, 0] == "NODE_FULL"


def test_a_queue_at_its_maximum_does_not_demand():
    """The common parent is charged with what the sibling uses, not with a least share."""
    made = grown("hdrf", {"p": {"x": {"maximum": "20%"}, "y": {}}, "q": {}}, (1000, 20, 20))
    for app, queue in ((1, "p.x"), (2, "p.y"), (3, "q")):
        wants(made, app, queue, CPU)
    made.round()
    assert held(made) == {1: 4, 2: 6, 3: 10}
    assert made.reasons[1, 20, 0] == "QUEUE_MAX"
    churn(made, 10, 1, 2, 3)
    assert held(made) == {1: 4, 2: 6, 3: 10}


def test_of_nested_maxima_the_inner_opens_first():
    """When x's container ends, room becomes free in x and in o at the same time; y's large task
    still does not fit.
    """
    tree = {"o": {"maximum": "20%", "y": {}, "x": {"maximum": "25%"}}, "q": {}}
    made = grown("hdrf", tree, (1000, 20, 20), headroom=False)
    wants(made, 2, "o.y", (0, 3, 0))
    wants(made, 1, "o.x", CPU, 2)
    made.round()
    assert held(made) == {1: 1, 2: 1}
    made.ask(1, 5, CPU)
    made.ask(2, 9_999, (0, 3, 0), request_id=1)
    made.complete(next(g.number for g in made.containers.values() if g.app == 1))
    made.round()
    assert held(made) == {1: 1, 2: 1}


def test_a_user_at_the_user_limit_does_not_demand():
    """A user at the limit does not hold down the share of its leaf queue."""
    made = grown("hdrf", {"p": {"user_limit": "20%"}, "q": {}}, (1000, 20, 20))
    for app, queue in ((1, "p"), (2, "q")):
        wants(made, app, queue, CPU)
    made.round()
    churn(made, 5, 1, 2)
    assert held(made) == {1: 4, 2: 16}


@pytest.mark.parametrize(
    ("p", "options", "want"),
    [
        ({"user_limit": "10%"}, {"leaf": "queue"}, (4, 16, 20)),
        ({"user_limit": "10%", "policy": "fifo"}, {}, (4, 16, 20)),
        ({"user_limit": "10%", "policy": "srtf"}, {}, (4, 16, 20)),
        ({"policy": "dress", "options": {"dmin": 0.5}}, {}, (5, 15, 20)),
        ({"policy": "dress", "options": {"dmin": 0.1}}, {}, (9, 11, 20)),
    ],
)
def test_a_queue_as_a_leaf_that_may_have_no_more_does_not_demand(p, options, want):
    """Its parent is charged with all that its sibling uses, not with what the queue itself uses."""
    made = grown("hdrf", {"o": {"p": p, "s": {}}, "q": {}}, (100_000, 40, 40), **options)
    for app, queue in ((1, "o.p"), (2, "o.s"), (3, "q")):
        wants(made, app, queue, (1000, 1, 0))
    made.round()
    churn(made, 30, 1, 2, 3)
    assert held(made) == dict(enumerate(want, 1))
    assert made.reasons[1, 20, 0] == ("USER_LIMIT" if "user_limit" in p else "RESERVED")
    wants(made, 4, "o.p", (1000, 1, 0))
    made.now += 2000
    made.add_node(2, 100_000, 40, 40)
    made.round()
    assert held(made)[1] + held(made).get(4, 0) > want[0]  # in a larger cluster it may have more


def test_the_am_limit_holds_back_a_queues_next_master():
    """A queue that may start no further master does not demand, so its sibling is not held down."""
    tree = {"o": {"p": {"am_share": "10%"}, "s": {}}, "q": {}}
    made = grown("hdrf", tree, (1000, 20, 20))
    wants(made, 1, "o.s", CPU)
    wants(made, 2, "q", CPU)
    for app in (3, 4, 5):
        made.add_app(app, "root.o.p")
        made.ask(app, 1, CPU, is_am=True)
    made.round()
    churn(made, 20, 1, 2)
    assert [held(made)[app] for app in (1, 2, 3, 4)] == [8, 10, 1, 1]
    assert 5 not in held(made)


def test_a_queue_as_a_leaf_at_its_maximum_does_not_demand():
    """Its parent is charged with its sibling's use."""
    tree = {"o": {"p": {"maximum": "10%"}, "s": {}}, "q": {}}
    made = grown("hdrf", tree, (1000, 20, 20), leaf="queue")
    for app, queue in ((1, "o.p"), (2, "o.s"), (3, "q")):
        wants(made, app, queue, CPU)
    made.round()
    churn(made, 20, 1, 2, 3)
    assert held(made) == {1: 2, 2: 8, 3: 10}


def test_a_queue_that_holds_back_does_not_demand_until_its_timer():
    """p waits for a server that does not exist. o is not treated as empty because p is."""
    tree = {"o": {"p": {"policy": "test-delay", "options": {"wait_ms": 5000}}, "s": {}}, "q": {}}
    made = grown("hdrf", tree, (1000, 20, 20))
    wants(made, 2, "o.s", CPU)
    wants(made, 3, "q", CPU)
    made.add_app(1, "root.o.p")
    made.ask(1, 5, CPU, hosts={"n9": 5})
    made.round()
    churn(made, 20, 2, 3)
    assert held(made) == {2: 10, 3: 10}
    made.now += 6000
    churn(made, 2, 2, 3)
    assert held(made).get(1, 0) > 0


def test_a_queue_that_asks_again_has_a_turn_in_each_round():
    """p takes nothing in one round and all in a later one, whatever its timer is for: Coupling
    takes at a heartbeat what it left before.
    """
    made = grown("hdrf", {"p": {"policy": "test-serves-late"}, "q": {}}, (1000, 20, 20))
    wants(made, 1, "p", CPU)
    made.round()
    assert held(made) == {}
    made.now = 2000
    made.round()
    assert held(made)[1] == 20


def test_a_blacklisted_server_is_not_used():
    """The blacklisted server is the first with room."""
    made = grown("hdrf", {"a": {}}, (1000, 4, 4), (1000, 4, 4))
    made.add_app(1, "root.a")
    made.blacklist(1, "n1")
    made.ask(1, 3, CPU)
    made.round()
    assert {g.node for g in made.containers.values()} == {2}


def test_a_wrong_word_is_refused():
    """This holds even if no configuration is read."""
    for option in ("setting", "leaf"):
        with pytest.raises(ValueError, match=f"{option} is one of"):
            build("hdrf", {option: "statik"})


def test_guarantees_are_a_first_pass():
    """A queue below its guarantee is served before all others, whatever the weights."""
    tree = {"a": {"guaranteed": "60%"}, "b": {"weight": 9}}
    made = grown("hdrf", tree, (1000, 10, 10))
    for app, queue in ((1, "a"), (2, "b")):
        wants(made, app, queue, (100, 1, 1))
    made.round()
    assert held(made) == {1: 6, 2: 4}


def test_guarantees_count_though_servers_come_after_the_first_call():
    """A real cluster also decides before its first server exists."""
    made = grown("hdrf", {"a": {"guaranteed": "60%"}, "b": {"weight": 9}})
    wants(made, 1, "a", (100, 1, 1))
    made.round()
    made.add_node(1, 1000, 10, 10)
    wants(made, 2, "b", (100, 1, 1))
    made.round()
    assert held(made) == {1: 6, 2: 4}


def test_partitions_are_trees_of_their_own():
    """Shares are counted for each node label's partition: a queue that uses one partition may still
    use the other.
    """
    made = grown("hdrf", {"a": {}, "b": {}}, (1000, 10, 10))
    made.add_node(2, 1000, 10, 0, label="x")
    wants(made, 1, "a", CPU)
    made.round()
    wants(made, 2, "b", CPU)
    for app in (1, 2):
        made.ask(app, 100, CPU, request_id=1, label="x")
    made.round()
    on_x = [g.app for g in made.containers.values() if g.node == 2]
    assert (on_x.count(1), on_x.count(2)) == (5, 5)
    assert held(made) == {1: 15, 2: 5}


@pytest.mark.parametrize("inner", ["dress", "srtf"])
def test_a_queue_with_a_policy_of_its_own_is_one_leaf(inner):
    """H-DRF decides how much the queue gets, and the inner policy which application gets it."""
    pytest.importorskip("loomcard.policies.dress.policy" if inner == "dress" else "loomcard")
    made = grown("hdrf", {"a": {"policy": inner}, "b": {}}, (100_000, 40, 40))
    for app, queue in ((1, "a"), (2, "a"), (3, "b"), (4, "b")):
        wants(made, app, queue, (1000, 1, 0), 30)
    for _ in range(12):
        made.round(1000)
    both = held(made)
    assert abs(both.get(1, 0) + both.get(2, 0) - 20) <= 1
    instances = {g.instance for g in made.containers.values() if g.app < 3}
    assert instances == {1}


def test_each_queue_reports_its_shares_its_guarantee_and_why_it_is_blocked():
    """In the full cluster of figure 4, n2 has all GPUs, counts with a half and a task, and is
    guaranteed a half.
    """
    made = fig4()
    made.now += 2000
    reports = {path: values_of(each) for path, each in made.exchange().reports.items()}
    n2 = reports["root.n2"]
    assert (n2["share"], n2["attributed"], n2["guarantee"]) == (1.0, 0.6, 0.5)
    assert reports["root.n2.n22"]["guarantee"] == 0.25
    assert reports["root.n2.n22"]["blocked"].startswith("no server has room")


@pytest.mark.parametrize("policy", ["hdrf", "per_level_drf"])
def test_a_queue_that_asks_for_nothing_counts_with_what_it_has(policy):
    """It has ten containers; the descent does not compare it, and its report still has a share."""
    made = grown(policy, {"a": {}, "b": {}}, (100_000, 40, 40))
    wants(made, 1, "a", (1000, 1, 0), 10)
    wants(made, 2, "b", (1000, 1, 0), 90)
    made.round(1000)
    made.now += 2000
    reports = {path: values_of(each) for path, each in made.exchange().reports.items()}
    assert [reports[path]["share"] for path in ("root.a", "root.b")] == [0.25, 0.75]
    assert [reports[path]["attributed"] for path in ("root.a", "root.b")] == [0.25, 0.75]


def test_a_leaf_that_fits_nowhere_is_blocked():
    """x waits for a server that is taken. It does not keep its queue at the least share, or its
    sibling would take all room that becomes free.
    """
    made = grown("hdrf", {"p": {"x": {}, "y": {}}, "q": {}}, (1000, 10, 10), (1000, 1, 0))
    wants(made, 2, "p.y", CPU)
    wants(made, 3, "q", CPU)
    made.round()
    wants(made, 1, "p.x", CPU)
    made.ask(1, 5, CPU, hosts={"n2": 5}, racks={"/r": 5}, strict_racks=["/r"], relax=False)
    for _ in range(40):
        churn(made, 1, 3, 2)
        made.now += 100
    assert abs(held(made)[2] - 5) <= 1, held(made)


@pytest.mark.parametrize("options", [{}, {"headroom": True}, {"leaf": "queue"}])
@settings(deadline=None)
@given(steps=st.lists(st.tuples(st.integers(1, 8), st.integers(0, 30)), max_size=25))
def test_nothing_that_fits_is_left_undone(options, steps):
    """Work conservation: without headroom no ask is left that a server could take. With headroom
    none is left whose headroom a server has in each resource that it needs.
    """
    sizes = [(64, 1, 0), (64, 0, 1), (128, 2, 1), (512, 1, 0), (64, 3, 0)]
    made = grown("hdrf", FIG4, (1024, 8, 4), (512, 4, 0), (2048, 2, 8), **options)
    leaves = ["n1.n11", "n2.n21", "n2.n22"]
    for app, count in steps:
        if app not in made.applications:
            wants(made, app, leaves[app % 3], sizes[app % 5], count)
        elif count % 2 and made.containers:
            made.complete(list(made.containers)[count % len(made.containers)])
        else:
            made.ask(app, max(1, count), sizes[app % 5])
        made.round()
        state = made.session.mirror.state
        asked = list(state.shapes)
        for node in state.nodes.values():
            can = [s for s, _ in asked if s.fits_in(node.capacity)]
            most = [max((s[r] for s in can), default=0) for r in range(3)]
            for size in can:
                need = [max(s, q) if s and options.get("headroom", False) else s
                        for s, q in zip(size, most, strict=True)]  # fmt: skip
                assert any(n > f for n, f in zip(need, node.free, strict=True)), (node, size)


def test_headroom_is_known_in_each_partition_after_the_capacity_changes():
    """A queue with its own policy has asks in both partitions; it is served in the first before the
    second is looked at.
    """
    made = grown("hdrf", {"a": {"policy": "fifo"}}, (8, 8, 0), headroom=True)
    made.add_node(2, 4, 4, 0, label="x")
    wants(made, 1, "a", (1, 1, 0), 0)
    made.ask(1, 2, (3, 3, 0), label="x")
    made.round()
    assert held(made) == {1: 1}
    made.add_node(3, 4, 4, 0, label="y")
    wants(made, 2, "a", (1, 1, 0), 0)
    made.ask(2, 1, (1, 1, 0), hosts={"gone": 1}, relax=False)
    made.round()
    assert held(made) == {1: 1}


@pytest.mark.parametrize("leaf", ["application", "queue"])
def test_an_application_that_moves_away_frees_its_users_limit(leaf):
    """The other applications of its user demand again in the queue that it left."""
    made = Cluster(
        compiled.config(
            compiled.queue("root", "hdrf", options={"leaf": leaf}),
            compiled.queue("root.a", None, user_limit_ppm=500_000),
            compiled.queue("root.b", None),
        ),
        nodes=[(8192, 8)] * 2,
    )
    made.add_app(1, "root.a")
    made.ask(1, 8, (1024, 1))
    made.round()
    made.add_app(2, "root.a")
    made.ask(2, 4, (1024, 1))
    assert made.round() == []
    target = next(q.number for q in made.state.queues if q.path == "root.b")
    made.send(r.ApplicationChangedRecord(made.now, 1, target, 0))
    assert [g.attempt for g in made.round(1000)] == [2] * 4


@given(st.lists(st.integers(0, 5), max_size=40), st.randoms(use_true_random=False))
def test_what_is_used_by_label_is_what_containers_use(events, random):
    """It is counted on with each container, and anew after any other change."""
    made = Cluster(compiled.flat("hdrf"), nodes=[(8192, 8)])
    made.add_node(2, 8192, 8, label="gpu")
    made.add_app(1)
    made.round()
    for number, kind in enumerate(events):
        if kind < 4 or not made.containers:
            made.ask(1, 1, (512 * (1 + kind), 1), request_id=number, label=["", "gpu"][kind % 2])
        else:
            made.complete(random.choice(sorted(made.containers)))
        made.round()
        (trees,) = (
            trees for each in made.session.tree.instances.values()
            if (trees := each.view.cached("forest")) is not None
        )  # fmt: skip
        app = made.state.applications[1]
        for label in ("", "gpu"):
            own = [c.size for c in app.containers if c.node.label == label]
            assert list(trees.used(app, label)) == [sum(each) for each in zip((0, 0), *own)]  # noqa: B905
