"""Tests of reservations: an ask that is passed over gets room reserved. What is reserved, for which
ask, and when it ends.
"""

from dataclasses import dataclass
from random import Random

import pytest

from compiled import config, flat, queue
from loomcard.api.fill import fill
from loomcard.api.orders import by_priority
from loomcard.api.plan import Plan
from loomcard.api.plan_checks import PlanError
from loomcard.api.registry import register
from loomcard.api.reserve import RESERVE_AFTER_MS, REVIEW_MS
from loomcard.engine.session import replay
from loomcard.simulator import simulate
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r
from loomcard.workload.scenario import Fault, Stage
from scenarios import app, compiled, scenario, stage
from streams import HOLDING, crowded, flow, small


def streaming(policy: str = "fifo", nodes: int = 3, **options) -> Cluster:
    """Return a crowded cluster under a policy with these options."""
    spec = queue("root.default", policy, **({"options": options} if options else {}))
    return crowded(config(queue("root", "drf"), spec), nodes)


@pytest.mark.parametrize("policy", HOLDING)
def test_a_task_of_a_nodes_size_is_served_in_a_stream_of_small_ones(policy):
    """After the wait, room is reserved for the large task; without reservations it is never
    served.
    """
    made = streaming(policy)
    assert 1 in [g.app for g in flow(made, RESERVE_AFTER_MS // 1000 + 15)]
    assert made.reservations == []
    off = streaming(policy, reserve_after_ms=0)
    assert 1 not in [g.app for g in flow(off, 60)]


@pytest.mark.parametrize("policy", [each for each in HOLDING if "strict" not in str(each)])
@pytest.mark.parametrize(("large", "small"), [(20, 20), (20, 10), (10, 20)])
def test_an_applications_own_stream(policy, large, small):
    """Asks of one priority are alike, so the large one gets room reserved. If the application
    itself puts its stream first, the stream is served first; if it puts the large task first, the
    task waits for no other. (Under strict the small tasks fill the application's own share, however
    much room there is.)
    """
    made = Cluster(flat(policy), nodes=[(4096, 4)] * 2)
    made.add_app(1)
    made.ask(1, 9999, priority=small, request_id=1)
    made.round()
    for container in made.containers:
        made.send(r.ContainerStartedRecord(made.now, container))
    made.ask(1, 1, (4096, 4), priority=large, request_id=2)
    served = []
    for _ in range(RESERVE_AFTER_MS // 1000 + 15):
        made.complete(min(made.containers))
        served += [g.size for g in made.round(1000)]
        made.send(r.ContainerStartedRecord(made.now, max(made.containers)))
    first = policy != "tetris" and small < large  # tetris treats all asks of an application alike
    assert ((4096, 4) in served) is not first


def test_the_reasons_name_the_node_and_the_held_room():
    """The reason of the ask with the reservation names the node. An ask for which only reserved
    room is left waits with NODE_RESERVED.
    """
    made = streaming()
    flow(made, 7)
    [(_, node)] = made.reservations
    assert made.reasons[1, 20, 0] == f"RESERVATION n{node}:1"
    victim = next(g.number for g in made.containers.values() if g.node == node)
    made.complete(victim)
    made.round()
    small(made, 9999)
    made.round()
    assert made.reasons[9999, 20, 0] == "NODE_RESERVED"


def test_nothing_is_held_while_the_own_size_is_served():
    """In a full cluster of equal tasks no ask starves, and no decision is about reservations."""
    made = Cluster(flat(), nodes=[(4096, 4)] * 2)
    for number in range(1, 30):
        small(made, number)
    flow(made, 60)
    assert not any('"reserve"' in plan for _, plan in made.history)


@pytest.mark.parametrize("policy", HOLDING)
def test_nothing_is_held_while_others_take_nothing_that_it_lacks(policy):
    """While each GPU has its task, a stream of tasks without a GPU passes nobody over that waits
    for one. Once a GPU is free, the stream has the memory beside it: then room is reserved.
    """
    made = Cluster(
        flat(policy), nodes=[(4096, 4, 1)] * 2, resource_types=("memory_mb", "vcores", "gpu")
    )
    for number in (1, 2):
        made.add_app(number)
        made.ask(number, 1, (1024, 1, 1))
    made.round()
    for number in range(100, 106):
        small(made, number, (1024, 1, 0))
    made.round()
    with_gpu = [number for number, each in made.containers.items() if each.size[2]]
    assert (len(with_gpu), len(made.containers)) == (2, 8)
    for number in made.containers:
        made.send(r.ContainerStartedRecord(made.now, number))
    made.add_app(3, submitted_ms=-1)
    made.ask(3, 1, (4096, 4, 1))
    flow(made, 10, size=(1024, 1, 0))
    assert made.reservations == []
    made.complete(with_gpu[0])
    flow(made, 2, size=(1024, 1, 0))
    assert [attempt for (attempt, *_), _ in made.reservations] == [3]


def test_nothing_is_held_for_what_no_node_could_run():
    """An ask that is larger than every node, or that a limit forbids, waits without a
    reservation.
    """
    made = streaming()
    made.ask(1, 1, (5000, 4))
    flow(made, 30)
    assert not any('"reserve"' in plan for _, plan in made.history)


@dataclass(frozen=True)
class Holder:
    """Reserves as the test says, and otherwise serves first in, first out."""

    def decide(self, view):
        plan = Plan(view)
        for ask in view.asks:
            wish = WANTED.pop(ask.application.number, None)
            if wish is not None:
                plan.reserve(ask, next(n for n in view.nodes if n.number == wish[0]), wish[1])
        return fill(plan, order=by_priority, reserve_after_ms=0)


register("test-holder")(Holder)
WANTED: dict[int, tuple[int, int | None]] = {}


def holding(until_ms: int | None = None, nodes: int = 1) -> Cluster:
    """Return a cluster in which a task of 1 GB runs on every node of 4 GB, and application 1 has
    node 1 reserved.
    """
    made = Cluster(flat("test-holder"), nodes=[(4096, 4)] * nodes)
    for number in range(1, nodes + 1):
        small(made, 99 + number)
        made.ask(99 + number, 1, (4096, 1) if number > 1 else (1024, 1))
    made.round()
    made.add_app(1)
    made.ask(1, 1, (4096, 4))
    WANTED[1] = (1, until_ms)
    made.round()
    assert [node for _, node in made.reservations] == [1]
    small(made, 500)
    assert made.round() == []  # 3 GB are free, but reserved
    return made


def test_the_hold_ends_with_its_container():
    """Room that becomes free on the node is not given to others; when enough is free, the ask is
    served.
    """
    made = holding()
    made.complete(1)
    assert [g.app for g in made.round()] == [1]
    assert made.reservations == []
    made.complete(next(g.number for g in made.containers.values() if g.app == 1))
    assert [g.app for g in made.round()] == [500]


@pytest.mark.parametrize(
    "end",
    [
        lambda made: made.ask(1, 0, (4096, 4)),
        lambda made: made.ask(1, 1, (8192, 4)),
        lambda made: made.end_app(1),
        lambda made: made.send(r.NodeRelabelledRecord(made.now, 2, "")),
    ],
    ids=["ask", "size", "application", "none"],
)
def test_the_hold_ends_with_its_ask(end):
    """If the ask, its size or its application goes, others may use the room in the same round."""
    made = holding(nodes=2)
    end(made)
    served = [g.app for g in made.round()]
    assert served == ([] if made.reservations else [500])
    assert bool(made.reservations) == (
        len(made.applications) == 4
        and (1, 20, 0) in made.asks
        and made.asks[1, 20, 0].size == (4096, 4)
    )


def test_the_hold_ends_with_its_node_and_its_time():
    """A lost node ends the reservation. So does the end of its time, by a timer, although nothing
    else happens.
    """
    made = holding(nodes=2)
    made.lose_node(1)
    made.round()
    assert made.reservations == []
    timed = holding(until_ms=2_000)
    assert min(timed.timers.values()) == 2_000
    assert [g.app for g in timed.round(2_000)] == [500]


def test_a_refused_hold_is_forgotten_and_a_snapshot_brings_the_others_back():
    """The engine's list counts: what it refused is not reserved, and what it reserves is kept when
    the mirror is rebuilt.
    """
    made = holding()
    made.snapshot()
    assert made.round() == []
    assert [reservation.node.number for reservation in made.session.mirror.state.reservations] == [
        1
    ]
    made.complete(1)
    made.refuse = lambda d: "NODE_FULL" if isinstance(d, r.Allocate) else None
    made.round()
    made.refuse = lambda _: None
    assert [g.app for g in made.round()] == [1]
    refused = Cluster(flat("test-holder"), nodes=[(4096, 4)])
    refused.add_app(1)
    refused.ask(1, 1, (4096, 4))
    small(refused, 2)
    refused.refuse = lambda _: "STALE"
    WANTED[1] = (1, None)
    refused.round()
    refused.refuse = lambda _: None
    refused.round()
    assert len(refused.session.mirror.state.reservations) == 0


def test_bounds():
    """At most one reservation per application and per node, and a tenth of a queue's maximum
    together; the first one is always allowed.
    """
    made = Cluster(flat("fifo"), nodes=[(4096, 4)] * 20)
    for number in (1, 2, 3, 4):
        made.add_app(number)
        made.ask(number, 90, (2000, 1))
        made.ask(number, 30, (4096, 4), priority=30)
    made.round()
    view = made.session.tree.instances[0].view
    plan, nodes = Plan(view), view.nodes
    asks = {a.application.number: a for a in view.asks if a.size == (4096, 4)}
    plan.reserve(asks[1], nodes[0])
    assert plan.why_no_reservation(asks[2], nodes[0]) == "NODE_RESERVED"
    other = next(a for a in view.asks if a.application.number == 1 and a is not asks[1])
    assert plan.why_no_reservation(other, nodes[1]) == "RESERVATION_LIMIT"
    plan.reserve(asks[2], nodes[1])
    assert plan.why_no_reservation(asks[3], nodes[2]) == "RESERVATION_LIMIT"  # a tenth is 8 GB
    plan.reserve(asks[1], nodes[3])  # moves
    assert nodes[0].reservation is None
    plan.unreserve(asks[2])
    with pytest.raises(PlanError, match="no reservation"):
        plan.unreserve(asks[2])
    plan.reserve(asks[3], nodes[0])


@pytest.mark.parametrize(("share", "most"), [("0%", 0), ("10%", 1), ("34%", 2), ("100%", 4)])
def test_a_queue_states_how_much_may_be_held(share, most):
    """The share is one of six nodes. The first reservation is allowed whatever its size, unless
    nothing may be reserved.
    """
    text = (
        f"version: 1\npolicy: fifo\noptions: {{reserve_after_ms: 0}}\nreservation_share: {share}\n"
    )
    made = Cluster(compiled(text), nodes=[(4096, 4)] * 6)
    for number in range(1, 5):
        made.add_app(number)
        made.ask(number, 9, (4096, 4))
    made.round()
    view = made.session.tree.instances[0].view
    plan = Plan(view)
    for ask, node in zip(view.asks, view.nodes, strict=False):
        if plan.why_no_reservation(ask, node) is None:
            plan.reserve(ask, node)
    assert len(view.reservations) == most


def test_a_journal_with_holds_replays(tmp_path):
    """From every segment on, reservations and the waiting times of asks are the same as in the
    run.
    """
    made = Cluster(flat("drf"), nodes=[(4096, 4)] * 3, journal=tmp_path, segment_rounds=3)
    for number in range(100, 112):
        small(made, number)
    made.round()
    for number in (1, 2):
        made.add_app(number, submitted_ms=-number)
        made.ask(number, 2, (4096, 4))
    rng = Random(3)  # noqa: S311 - no secret
    for step in range(60):
        made.refuse = lambda _: "STALE" if rng.random() < 0.2 else None
        if step == 30:
            made.snapshot()
        flow(made, 1)
    made.session.journal.close()
    assert any('"reservations"' in batch for batch, _ in made.history)
    assert replay(tmp_path) == []


@pytest.mark.parametrize("policy", HOLDING)
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3))])
def test_holders_on_a_cluster_that_breaks_do_no_harm(policy, seed):
    """With many large asks, small streams, AMs and lost nodes, every application ends, every count
    is right, both sides agree after each round, and the run takes at most a quarter longer than
    without reservations.
    """
    rng = Random(seed)  # noqa: S311 - no secret
    apps = [
        app(
            f"a{number:02d}",
            stage([rng.randint(2_000, 20_000) for _ in range(rng.randint(5, 40))]),
            submit_ms=rng.randint(0, 60_000), user=rng.choice(["alice", "bob"]),
            am=rng.choice([None, (1024, 1)]),
        )
        for number in range(12)
    ]  # fmt: skip
    apps += [
        app(f"b{number}", Stage("b", (4096, 4), 20, 1, [rng.randint(2_000, 20_000)] * 3),
            submit_ms=rng.randint(0, 60_000), user=rng.choice(["alice", "bob"]))
        for number in range(6)
    ]  # fmt: skip
    faults = [Fault(rng.randint(5_000, 90_000), f"n{rng.randint(1, 5)}", 20_000) for _ in "123"]
    load = scenario(*sorted(apps, key=lambda a: a.submit_ms), nodes=5, faults=faults)
    ends = []
    for after_ms in (1, 5_000, 0):
        text = f"version: 1\npolicy: {policy}\noptions: {{reserve_after_ms: {after_ms}}}\n"
        record = simulate(load, compiled(text), policy="test", check=True)
        assert [each.id for each in record.applications if not each.state] == []
        assert "RESERVED" not in record.refusals
        ends.append(max(c.finished_ms for c in record.containers))
    assert max(ends[:2]) <= 1.25 * ends[2]


def test_a_hold_moves_from_a_node_where_services_run():
    """Another node is chosen after a while, so services that never end do not keep a task
    waiting.
    """
    made = streaming(nodes=2)
    services = [g.number for g in made.containers.values() if g.node == 1][:2]
    smalls = [n for n in made.containers if n not in services]
    for step in range(RESERVE_AFTER_MS // 1000 + 4 * REVIEW_MS // 1000):
        made.complete(min(n for n in made.containers if n not in services))
        small(made, 2000 + step)
        allocated = made.round(1000)
        for g in allocated:
            made.send(r.ContainerStartedRecord(made.now, g.number))
        if any(g.app == 1 for g in allocated):
            break
    assert any(g.app == 1 and g.node == 2 for g in made.containers.values()), smalls


@pytest.mark.parametrize("policy", HOLDING)
def test_who_asks_for_what_no_node_has_keeps_no_hold_from_the_next(policy):
    """Such an ask is first in line for ever, but must not block the line."""
    made = streaming(policy)
    made.add_app(2, submitted_ms=-2)
    made.ask(2, 1, (8192, 4))
    assert 1 in [g.app for g in flow(made, RESERVE_AFTER_MS // 1000 + 15)]


def test_who_waits_behind_masters_keeps_no_hold_from_another_queue():
    """The oldest ask could run on one node only, where an AM runs for ever. The reservation of the
    other ask is not delayed by it.
    """
    made = Cluster(config(queue("root", "drf"), queue("root.a", "fifo"), queue("root.b", "fifo")))
    made.add_node(1, 8192, 8)
    made.add_node(2, 4096, 4)
    made.add_app(1, "root.a")
    made.ask(1, 1, is_am=True, priority=0)
    made.round()
    made.add_app(2, "root.a")
    made.ask(2, 1, (8192, 8))
    for number in range(100, 111):
        small(made, number)
    made.round()
    made.add_app(3, "root.b")
    made.ask(3, 1, (4096, 4))
    assert 3 in [g.app for g in flow(made, RESERVE_AFTER_MS // 1000 + 20)]


@pytest.mark.parametrize("parent", ["fair", "capacity", "hdrf"])
def test_a_queue_that_is_not_first_uses_the_room_reserved_for_it(parent):
    """Another queue is first and finds no room, because reserved room is for one ask alone."""
    made = Cluster(
        parent, nodes=[(4096, 4)] * 4, queues={"a": {"policy": "fifo"}, "b": {"policy": "fifo"}}
    )

    def on(node: int, attempt: int) -> list[int]:
        found = made.containers.values()
        return [g.number for g in found if g.node == node and g.attempt == attempt]

    made.add_app(2, "root.b")
    made.ask(2, 12, (1024, 1), hosts={"n1": 4, "n2": 4, "n4": 4}, racks={"/r": 12})
    made.round()
    made.round(2000)
    made.add_app(1, "root.a")
    made.ask(1, 4, (1024, 1), hosts={"n3": 4}, racks={"/r": 4})
    made.round()
    made.ask(2, 100_000, (1024, 1))
    made.round()
    made.add_app(3, "root.a")
    made.ask(3, 1, (3072, 1))
    made.round()
    while not made.reservations and made.now < 30_000:
        made.complete(on(2, 2)[0])
        made.round(500)
    ((_, reserved),) = made.reservations
    made.add_app(4, "root.a")  # its queue grows beyond the other one
    made.ask(4, 6, (1024, 1))
    elsewhere = [node for node in (1, 2, 4) if node != reserved]
    while sum(g.attempt == 4 for g in made.containers.values()) < 4:
        made.complete(next(c for node in elsewhere for c in on(node, 2)))
        made.round(500)
    for number in on(reserved, 2)[:3]:
        made.complete(number)
    assert [(g.attempt, g.node) for g in made.round(1000)] == [(3, reserved)]
