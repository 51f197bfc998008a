"""The parts of preemption by themselves: its options, pauses, what limits leave, and owed tasks."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from compiled import config, queue
from loomcard import ClusterView, Plan
from loomcard.api.preempt.limits import Limits, has_room
from loomcard.api.preempt.owed import OwedTask, OwedTasks, word_of
from loomcard.api.preempt.queue_trees import QueueTrees
from loomcard.api.preempt.rules import (
    LONGEST_MS,
    Preemption,
    PreemptionOptions,
    PreemptionRules,
)
from loomcard.model.objects import Ask, AskKey
from loomcard.model.queue import queues_above
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r


def cluster() -> Cluster:
    """Return a cluster with 8 GB without a label and 8 GB of gpu, where p.a uses 2 GB each."""
    made = Cluster(
        config(
            queue("root", "fifo"),
            queue("root.p", "fifo", maximum={"ppm": 500_000}, label_maximum_ppm={"gpu": 750_000}),
            queue("root.p.a", "fifo", maximum={"amounts": {"memory_mb": 5000, "vcores": 9}},
                  label_maximum_ppm={"gpu": 500_000}, user_limit_ppm=900_000),
            queue("root.b", "fifo", labels=[]),
        )
    )  # fmt: skip
    made.add_node(1, 8192, 8)
    made.add_node(2, 8192, 8, label="gpu")
    made.add_app(1, "root.p.a")
    made.ask(1, 2, (1024, 1))
    made.ask(1, 2, (1024, 1), 21, label="gpu")
    made.round()
    assert len(made.containers) == 4
    return made


def asked(made: Cluster, app: int, size: tuple[int, int], **keys: Any) -> Ask:
    made.ask(app, 1, size, 30, **keys)
    return made.state.attempts[app].asks[AskKey(app, 30, 0)]


def tight(limits: Limits, ask: Ask) -> dict[str, list[int]]:
    return {queue.path: left for queue, left in limits.tight(ask).items()}


def test_what_maxima_leave_after_evictions_and_owed_tasks() -> None:
    """From the root down, in each type that the ask needs. What is preempted counts as ended, on a
    label if it is there; what is owed counts as started.
    """
    made = cluster()
    state, here, there = made.state, Limits(made.state, ""), Limits(made.state, "gpu")
    leaf = state.by_path["root.p.a"]
    assert [queue.path for queue in queues_above(leaf)] == ["root.p.a", "root.p", "root"]
    ask = asked(made, 1, (3072, 2))
    assert tight(here, ask) == {"root.p.a": [904, 4]}
    assert tight(here, asked(made, 1, (904, 4))) == {}
    assert tight(here, asked(made, 1, (905, 1))) == {"root.p.a": [904, 4]}
    assert tight(here, asked(made, 1, (0, 6))) == {"root.p": [4096, 4], "root.p.a": [904, 4]}
    large = asked(made, 1, (5000, 5), label="gpu")
    assert tight(there, large) == {"root.p": [4096, 4], "root.p.a": [904, 1]}
    for limits in (here, there):
        limits.free(next(c for c in state.containers.values() if c.node.number == 1))
    assert tight(here, asked(made, 1, (3072, 2))) == {"root.p.a": [1928, 5]}
    assert tight(there, asked(made, 1, (1929, 2), label="gpu"))["root.p.a"] == [1024, 1]
    for limits in (here, there):
        limits.free(next(c for c in state.containers.values() if c.node.number == 2))
    assert tight(here, asked(made, 1, (3072, 2))) == {"root.p.a": [2952, 6]}
    assert tight(there, asked(made, 1, (2049, 2), label="gpu"))["root.p.a"] == [2048, 2]
    assert list(here.owed(leaf)) == [0, 0]
    for limits in (here, there):
        limits.owe(leaf, (1000, 3))
        assert limits.owed(leaf) == [1000, 3]
    assert tight(here, asked(made, 1, (3072, 5))) == {"root.p": [5144, 3], "root.p.a": [1952, 3]}
    assert tight(there, asked(made, 1, (2048, 2), label="gpu"))["root.p.a"] == [1048, -1]


def test_what_evictions_cannot_help() -> None:
    """The user limit with what is owed to the queue, and labels that the queue may not use."""
    made = cluster()
    limits, leaf = Limits(made.state, ""), made.state.by_path["root.p.a"]
    assert list(leaf.user_limit) == [4500, 7]
    made.add_app(2, "root.p.a", "v")
    assert limits.barred(asked(made, 1, (1024, 1)))
    assert not limits.barred(asked(made, 2, (4500, 7)))
    limits.owe(leaf, (1000, 1))
    assert limits.barred(asked(made, 2, (3501, 3)))
    assert not limits.barred(asked(made, 2, (3500, 3)))
    made.add_app(3, "root.b")
    assert limits.barred(asked(made, 3, (1, 1), label="gpu"))
    assert not limits.barred(asked(made, 3, (1, 1)))


def test_a_type_that_is_not_needed_needs_no_room() -> None:
    assert has_room((2, 0), (2, -1))
    assert not has_room((2, 0), (1, 9))
    assert not has_room((2, 1), (2, 0))


@dataclass
class Trees:
    """Stands in for the trees of shares: every member is a leaf that wants what it asks for."""

    made: Cluster
    withheld: set[str] = field(default_factory=set)
    wanted: list[Any] = field(default_factory=list)

    @property
    def partitions(self) -> dict[str, Any]:
        return {"": self, "gpu": self}

    def leaf_of(self, member: Any) -> Any:
        return SimpleNamespace(member=member, wanted=self.wanted)

    def governs(self, _queue: Any) -> bool:
        return True

    def decides_itself(self, member: Any) -> bool:
        return member.policy is not None

    def forbids(self, _ask: Ask, _zero: Any) -> None:
        return None


CALL: list[Any] = []


@dataclass(frozen=True)
class Calls:
    """Calls what the test put into CALL."""

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        while CALL:
            CALL.pop()(plan)
        return plan


def owing(step: Any, *, free: int = 0) -> tuple[Cluster, list[Any]]:
    """Return the cluster after a step, and what was decided: application or queue, and node."""
    made = Cluster(Calls, nodes=[(4096, 4), (4096, 4)])
    for app in (1, 2, 3):
        made.add_app(app)
    made.ask(1, 8, (1024, 1))

    def fill(plan: Plan) -> None:
        for number in (1, 2):
            for _ in range(4 - free if number == 1 else 4):
                plan.allocate(plan.view.asks[0], plan.view.node(number))

    CALL.append(fill)
    made.round(1_000)
    made.ask(1, 0, (1024, 1))
    made.ask(2, 2, (2048, 2))
    made.ask(3, 2, (2048, 2))
    for each in made.session.mirror.state.queues:
        each.reservation_limit = each.guaranteed = made.state.capacity
    CALL.append(lambda plan: step(plan, Trees(made)))
    plan = made.exchange(1_000)
    assert not CALL
    assert plan.faults == []
    return made, [
        (type(each).__name__, each.attempt, getattr(each, "node", None)) for each in plan.decisions
    ]


SHAPE = ((2048, 2), "")


def task(leaf: str, node: int, until_ms: int = 9_000, label: str = "") -> OwedTask:
    return OwedTask(leaf, node, [2048, 2], label, until_ms)


def test_which_tasks_stand_and_who_did_not_use_its_room() -> None:
    """Until its time, on its node with its label, for a leaf that still wants it."""
    found: list[Any] = []

    def step(plan: Plan, trees: Trees) -> None:
        trees.wanted, trees.withheld = [SHAPE], {"application 3"}
        tasks = [
            task("application 2", 1, 2_001), task("application 2", 1, 2_000),
            task("root.default", 2), task("application 2", 9), task("application 9", 1),
            task("root.none", 1), task("application 2", 1, label="gpu"),
            OwedTask("application 3", 1, [1, 1], "", 9_000),
            OwedTask("application 2", 1, [1, 1], "", 9_000),
            task("application 2", 1, label="ssd"),
        ]  # fmt: skip
        owed = OwedTasks(plan, trees, tasks)
        found.append([(each.leaf, each.node, each.until_ms) for each in owed.tasks])
        found.append(owed.unused)
        found.append([owed.of(SimpleNamespace(member=app)) for app in plan.view.applications[1:]])
        found.append(OwedTasks(plan, trees, []).unused)

    owing(step)
    assert found == [
        [("application 2", 1, 2_001), ("root.default", 2, 9_000)],
        ["application 2", "application 3"],
        [[[2048, 2]], []],
        [],
    ]


def test_room_for_an_owed_task_goes_before_reservations_of_the_first_in_line() -> None:
    """Those on its node and those of its application end, all others stay; it starts when there is
    room.
    """

    def step(plan: Plan, trees: Trees) -> None:
        first, second = plan.view.asks[:2]
        trees.wanted = [SHAPE]
        plan.reserve(first, plan.view.node(2))
        plan.reserve(second, plan.view.node(1))
        owed = OwedTasks(plan, trees, [])
        leaf = trees.leaf_of(first.application)
        owed.add(leaf, first, plan.view.node(1), 8_000)
        assert owed.tasks == [task("application 2", 1, 8_000)]
        assert list(owed.serve()) == []

    assert owing(step)[1] == [
        ("Reserve", 2, 2), ("Reserve", 3, 1), ("Unreserve", 2, None), ("Unreserve", 3, None),
        ("Reserve", 2, 1),
    ]  # fmt: skip


def test_an_owed_task_starts_before_all_others_where_its_room_is() -> None:
    """One that has no room yet gets its reservation, unless its node is reserved for another owed
    task.
    """

    def step(plan: Plan, trees: Trees) -> None:
        trees.wanted = [SHAPE]
        tasks = [task("application 2", 1), task("application 3", 2), task("application 2", 2)]
        owed = OwedTasks(plan, trees, tasks)
        assert list(owed.serve()) == [task("application 2", 1)]
        assert owed.tasks == [task("application 3", 2), task("application 2", 2)]
        assert [held.until_ms for held in plan.view.reservations] == [9_000]

    assert owing(step, free=2)[1] == [("Allocate", 2, 1), ("Reserve", 3, 2)]


def test_who_does_not_use_its_room_waits_twice_as_long_each_time() -> None:
    """Up to an hour. An hour after the pause has ended, it is forgotten."""
    kept = Preemption()
    kept.pause(["a"], 100, 10)
    kept.pause(["b", "a"], 200, 10)
    assert kept.pauses == {"a": [20, 220], "b": [10, 210]}
    kept.pause([], 209 + LONGEST_MS, 10)
    assert list(kept.pauses) == ["a", "b"]
    kept.pause(["b"], 210 + LONGEST_MS, 10)
    assert kept.pauses == {"a": [20, 220], "b": [10, 220 + LONGEST_MS]}
    for _ in range(30):
        kept.pause(["b"], 1_000, 10)
    assert kept.pauses["b"] == [LONGEST_MS, 1_000 + LONGEST_MS]


@pytest.mark.parametrize(
    ("name", "wrong", "right", "words"),
    [
        ("preempt_after_ms", -1, 0, "is at least 0"),
        ("preempt_grace_ms", -1, 0, "is at least 0"),
        ("preempt_cooldown_ms", -1, 0, "is at least 0"),
        ("preempt_budget", 0, 1, "is above 0 and at most 1"),
        ("preempt_budget", 1.01, 0.01, "is above 0 and at most 1"),
        ("preempt_queue_budget", 0, 1, "is above 0 and at most 1"),
    ],
)
def test_an_option_out_of_its_bounds_is_named(
    name: str, wrong: float, right: float, words: str
) -> None:
    with pytest.raises(ValueError, match=f"^{name} {words}$"):
        PreemptionOptions(**{name: wrong})
    PreemptionOptions(**{name: right})


def test_the_options_are_the_rules() -> None:
    """Without a wait nothing is ever taken. Room is reserved for one look longer than nothing is
    taken.
    """
    assert PreemptionOptions().preempting is None
    options = PreemptionOptions(
        preempt_after_ms=1, preempt_grace_ms=2, preempt_budget=0.3, preempt_cooldown_ms=4,
        preempt_queue_budget=0.5,
    )  # fmt: skip
    assert options.preempting == PreemptionRules(1, 2, 0.3, 4, 0.5)
    assert options.preempting.until_ms == 1_006


def shares() -> tuple[Cluster, QueueTrees]:
    """Return a cluster whose partition gpu lends two containers' room to p.a, and its trees."""
    made = Cluster(
        config(
            queue("root", "fifo"), queue("root.p", None, label_guaranteed_ppm={"gpu": 500_000}),
            queue("root.p.a", "fifo", labels=["gpu"], label_guaranteed_ppm={"gpu": 500_000}),
            queue("root.p.c", None), queue("root.b", "fifo", labels=[]),
        )
    )  # fmt: skip
    made.add_node(1, 4096, 4)
    made.add_node(2, 4096, 8, label="gpu", shared=True)
    state = made.state
    view: Any = SimpleNamespace(
        queue=state.queues[0], partitions=state.partitions, _state=state,
        cluster_capacity=state.capacity,
    )  # fmt: skip
    return made, QueueTrees(view)


def runs(made: Cluster, number: int, app: int, node: int, size: tuple[int, int], at_ms: int) -> Any:
    """Let an application have a container on a node, asked for without a label."""
    facts = (number, app, number, node, size, 20, 0, False)
    made.send(r.ContainerAddedRecord(at_ms, *facts, "running", "policy"))
    return made.state.containers[number]


def test_whose_containers_are_taken_first() -> None:
    """Lent room first; then by priority and age, or by use; of each the newest container."""
    made, trees = shares()
    for app, priority, submitted_ms in ((1, 2, 5), (2, 1, 5), (3, 1, 6), (4, 1, 6)):
        made.add_app(app, "root.p.a", priority=priority, submitted_ms=submitted_ms)
    sizes = {1: 300, 2: 500, 3: 100, 4: 100}
    found = [
        runs(made, 10 * app + node, app, node, (sizes[app], 1), node)
        for app in sizes
        for node in (1, 2)
    ]
    found += [runs(made, 49, 4, 1, (100, 1), 1)]
    assert [c.lent for c in found[:2]] == [trees.lent(c) for c in found[:2]] == [False, True]
    order = [c.number for c in sorted(found, key=trees.rank)]
    assert order == [42, 32, 22, 12, 49, 41, 31, 21, 11]
    order = [c.number for c in sorted(found, key=trees.most_first)]
    assert order == [22, 12, 42, 32, 21, 11, 49, 41, 31]
    found[3].preempting_since = 1
    trees.taken(found[3])
    found[1].preempting_since = 1
    order = [c.number for c in sorted(found, key=trees.most_first)]
    assert order == [12, 22, 42, 32, 11, 21, 49, 41, 31]
    assert [trees.may_take_master(found[n]) for n in (0, 4, 1)] == [True, False, False]


def test_what_queues_are_promised_and_use_on_a_label() -> None:
    """What is lent counts nowhere. Where nobody is promised a part of the label, the part of the
    cluster counts.
    """
    made, trees = shares()
    made.add_app(1, "root.p.a")
    for number, node in ((1, 1), (2, 1), (3, 2)):
        runs(made, number, 1, node, (512, 1), 1)
    by_path = made.state.by_path
    root, p, leaf, other = (by_path[f"root{rest}"] for rest in ("", ".p", ".p.a", ".b"))
    assert [list(trees.used(each, "")) for each in (root, leaf, other)] == [
        [1024, 2], [1024, 2], [0, 0],
    ]  # fmt: skip
    assert list(trees.used(root, "gpu")) == [0, 0]
    made.lose_node(2)
    assert trees.used(leaf, "") == leaf.used == [1024, 2]
    made.add_node(2, 4096, 8, label="gpu")
    queues = (root, p, leaf, other)
    assert [trees.promised(each, "gpu", (0, 6)) for each in queues] == [1.0, 0.5, 0.25, 0.0]
    assert [trees.promised(each, "", (0, 6)) for each in queues] == [0.5] * 4
    assert trees.part((2048, 1), made.state.capacity) == 0.25
    assert [trees.decides_itself(each) for each in queues] == [False, False, True, True]
    assert [trees.governs(each) for each in (p, by_path["root.p.c"], leaf, root)] == [
        True, True, False, True,
    ]  # fmt: skip


def test_a_leafs_word_is_its_path_or_its_number() -> None:
    made, _ = shares()
    made.add_app(7, "root.b")
    app = made.state.applications[7]
    words = [word_of(SimpleNamespace(member=each)) for each in (app, app.queue)]
    assert words == ["application 7", "root.b"]
