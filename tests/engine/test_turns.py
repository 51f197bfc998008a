"""What a policy and its turns come to: faults in which words, turns in which figures, memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from compiled import config, queue
from loomcard import ClusterView, Plan, Resource, fill, register
from loomcard.api.view import TurnResult
from loomcard.testing.cluster import Cluster


@register("test-turn-checks")
@dataclass(frozen=True)
class Turns:
    """At the root: gives the turns of ``turns``, and remembers their results."""

    turns: ClassVar[list[tuple[str, int, Resource | None]]] = []
    results: ClassVar[list[TurnResult]] = []

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        turns, Turns.turns = Turns.turns, []
        for path, count, limit in turns:
            child = view.find_queue(path)
            assert child is not None
            Turns.results.append(plan.turn(child, count, limit))
        return plan


@register("test-returns")
@dataclass(frozen=True)
class Returns:
    """In a leaf: returns what ``made`` makes of its plan."""

    made: ClassVar[Callable[[Plan], Any]] = lambda plan: plan

    def decide(self, view: ClusterView) -> Any:
        return Returns.made(fill(Plan(view), order=lambda app: app.number))


def tree(leaf: str = "fifo") -> Cluster:
    """Return a cluster of 4 containers with the leaves a, of the policy ``leaf``, and b."""
    queues = [queue("root", "test-turn-checks"), queue("root.a", leaf), queue("root.b", "fifo")]
    cluster = Cluster(config(*queues), nodes=[(4096, 8)], tolerant=True)
    for app in (1, 2):
        cluster.add_app(app, queue=app)
    return cluster


def turns(cluster: Cluster, *wanted: tuple[str, int, Resource | None]) -> list[TurnResult]:
    Turns.turns, Turns.results = [*wanted], []
    cluster.round()
    return Turns.results


def test_what_turns_took_in_figures():
    """A turn takes no more containers than offered, no more than its amounts, and nothing for a
    queue that asks for nothing or whose asks fit nowhere.
    """
    cluster = tree()
    cluster.ask(1, 9)
    found = turns(
        cluster, ("root.a", 2, None), ("root.b", 2, None), ("root.a", 9, Resource((1024, 1))),
        ("root.a", 0, None), ("root.a", 9, None), ("root.a", 9, None),
    )  # fmt: skip
    took = [(each.count, each.stopped, each.before, each.after) for each in found]
    assert took == [
        (2, None, (0, 0), (2048, 2)),
        (0, "NOTHING", (0, 0), (0, 0)),
        (1, None, (2048, 2), (3072, 3)),
        (0, "NO_FIT", (3072, 3), (3072, 3)),
        (1, None, (3072, 3), (4096, 4)),
        (0, "NO_FIT", (4096, 4), (4096, 4)),
    ]
    assert [each.resource for each in found[:2]] == [(2048, 2), (0, 0)]


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda _: None, "TypeError: decide must return its Plan, and returned None"),
        (lambda _: 7, "TypeError: decide must return its Plan, and returned 7"),
        (lambda _: 1 / 0, "ZeroDivisionError: division by zero"),
    ],
)
def test_a_fault_is_said_with_the_queue_and_how_long_its_policy_rests(made, says):
    """What it allocated is taken back; each time it rests twice as long, and memory is lost."""
    cluster = tree("test-returns")
    Returns.made = made
    for rest_ms in (1000, 2000):
        cluster.ask(1, 9)
        Turns.turns, Turns.results = [("root.a", 3, None), ("root.a", 3, None)], []
        plan = cluster.exchange(5000)
        [(number, message, trace)] = plan.faults
        assert (number, message) == (1, f"root.a:test-returns: {says}")
        assert trace.startswith("Traceback (most recent call last)")
        assert trace.endswith(
            f"\nIts queue is served first in, first out for {rest_ms} ms, then it is tried again."
        )
        assert plan.decisions == []
        assert [(each.count, each.stopped) for each in Turns.results] == [(0, "NOTHING")] * 2
        cluster.commit(plan)
    Returns.made = lambda plan: plan
    cluster.ask(1, 9)
    [served] = turns(cluster, ("root.a", 3, None))
    assert served.count == 3  # first in, first out: the policy still rests


@register("test-remembers")
@dataclass(frozen=True)
class Remembers:
    """Counts its calls from what was saved, and saves the count."""

    started: ClassVar[list[Any]] = []

    def initial(self, _view: ClusterView, saved: Any) -> int:
        self.started.append(saved)
        return saved or 0

    def decide(self, view: ClusterView, memory: int) -> tuple[Plan, int]:
        return Plan(view), memory + 1

    def save(self, memory: int) -> int:
        return memory


def test_memory_begins_with_what_was_saved_and_begins_again_after_a_snapshot():
    """It is saved under the queue's path and the policy's name."""
    Remembers.started.clear()
    queues = config(queue("root", "fifo"), queue("root.a", "test-remembers"))
    cluster = Cluster(queues, nodes=[(1024, 1)], saved={"root.a:test-remembers": 40, "root.b": 7})
    cluster.add_app(1)
    cluster.ask(1, 1)
    cluster.round(1000)
    assert Remembers.started == [40]
    assert cluster.saved == {"root.a:test-remembers": 41, "root.b": 7}
    cluster.snapshot()
    cluster.round(1000)
    assert Remembers.started == [40, 41]
