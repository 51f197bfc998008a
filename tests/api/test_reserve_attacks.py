"""Tests of reservations under attack: whatever the policy and whatever happens to nodes, little
room is reserved.
"""

from random import Random

import pytest

from compiled import config, flat, queue
from loomcard.testing.cluster import Allocated, Cluster
from loomcard.wire import messages as r
from streams import HOLDING

NODE = (4096, 4)
SMALL = (1024, 1)


class Attack:
    """A full cluster, small tasks that arrive as fast as others end, and large asks among them."""

    def __init__(self, made: Cluster, seed: int = 1) -> None:
        self.made = made
        self.rng = Random(seed)  # noqa: S311 - no secret
        self.number = 10_000
        self.allocated: list[Allocated] = []
        for _ in range(4 * len(made.nodes)):
            self.small()
        self.settle()

    def small(self, **facts) -> None:
        """Add an application with one task of one slot."""
        self.number += 1
        self.made.add_app(self.number, **facts)
        self.made.ask(self.number, 1, SMALL)

    def large(self, number: int, label: str = "", **facts) -> None:
        """Add an ask for a whole node, of an application that came before all small ones."""
        self.made.add_app(number, submitted_ms=number - 1_000, **facts)
        self.made.ask(number, 1, NODE, label=label)

    def settle(self, step_ms: int = 1_000) -> None:
        """Run a round, and the next one if it is due at once: it offers the room that a reservation
        gave back.
        """
        self.allocated += self.made.round(step_ms)
        if min(self.made.timers.values(), default=step_ms + self.made.now) <= self.made.now + 1:
            self.allocated += self.made.round(1)
        for number in list(self.made.containers):
            self.made.send(r.ContainerStartedRecord(self.made.now, number))

    def flow(self, part: float = 0.1) -> None:
        """End a part of the containers, and add as many small tasks."""
        numbers = sorted(self.made.containers)
        for number in self.rng.sample(numbers, max(1, int(part * len(numbers)))):
            self.made.complete(number)
            self.small()
        self.settle()

    @property
    def reserved(self) -> list[int]:
        """The nodes with a reservation."""
        return [node for _, node in self.made.reservations]

    def held_for(self, number: int) -> list[int]:
        """Return the nodes that are reserved for an application."""
        return [node for (attempt, *_), node in self.made.reservations if attempt == number]

    def idle(self) -> dict[int, tuple[int, ...]]:
        """Return the free room of nodes without a reservation on which a waiting small task would
        fit.
        """
        waits = any(d.size == SMALL and not d.label for d in self.made.asks.values())
        used = {number: [0, 0] for number in self.made.nodes}
        for allocated in self.made.containers.values():
            used[allocated.node] = [a + b for a, b in zip(used[allocated.node], allocated.size)]  # noqa: B905
        free = {
            number: tuple(whole - taken for whole, taken in zip(amounts, used[number], strict=True))
            for number, amounts in self.made.nodes.items()
            if number not in self.reserved and not self.made.place(number)[2]
        }
        return {n: f for n, f in free.items() if waits and f[0] >= SMALL[0] and f[1] >= SMALL[1]}


@pytest.mark.parametrize("policy", HOLDING)
def test_nobody_holds_more_than_a_tenth_however_many_ask(policy):
    """A user's two hundred applications each ask for a whole node, and nodes with reservations are
    lost. At most two of twenty nodes are reserved, and the other nodes have no room for a small
    task that waits.
    """
    attack = Attack(Cluster(flat(policy), nodes=[NODE] * 20))
    for number in range(1, 201):
        attack.large(number, user="greedy")
    most = 0
    for step in range(40):
        attack.flow()
        most = max(most, len(attack.reserved))
        assert len(attack.reserved) <= 2
        assert attack.idle() == {}
        if step % 8 == 7 and attack.reserved:
            attack.made.lose_node(attack.reserved[0])
            attack.made.add_node(100 + step, *NODE)
    assert most == 2
    assert any(allocated.size == NODE for allocated in attack.allocated)


@pytest.mark.parametrize("change", ["shrinks", "label"])
def test_a_node_that_can_no_longer_run_it_is_given_back(change):
    """The reservation moves to another node, and the waiting small tasks get the free room."""
    attack = Attack(Cluster(flat(), nodes=[NODE] * 3))
    attack.large(1)
    while not attack.held_for(1):
        attack.flow()
    [node] = attack.held_for(1)
    if change == "label":
        attack.made.relabel_node(node, "gpu")
    else:
        attack.made.send(r.NodeResizedRecord(attack.made.now, node, (3072, 3)))
    attack.flow()
    assert node not in attack.held_for(1)
    while not any(allocated.app == 1 for allocated in attack.allocated):
        attack.flow()
    assert attack.idle() == {}


def test_room_is_held_within_a_label():
    """The only node with the label is reserved for the ask with that label, and no other node
    is.
    """
    made = Cluster(flat(), nodes=[NODE] * 2)
    attack = Attack(made)
    made.add_node(9, *NODE, label="gpu")
    for number in range(500, 520):
        made.add_app(number)
        made.ask(number, 1, SMALL, label="gpu")
    attack.settle()
    attack.large(1, label="gpu")
    for _ in range(30):
        on_gpu = [n for n, g in made.containers.items() if g.node == 9]
        made.complete(attack.rng.choice(on_gpu))
        attack.small()
        attack.settle()
        assert set(attack.reserved) <= {9}
        if any(allocated.app == 1 for allocated in attack.allocated):
            return
    pytest.fail("the large task with a label is starved")


def test_a_queue_at_its_maximum_holds_nothing():
    """Room cannot help an ask that its queue's maximum forbids, so a queue at its maximum gives up
    its reservation.
    """
    tree = config(
        queue("root", "drf"), queue("root.a", "fifo", maximum={"ppm": 500_000}),
        queue("root.b", "fifo"),
    )  # fmt: skip
    made = Cluster(tree, nodes=[NODE] * 4)
    attack = Attack(made)
    assert sum(g.size[1] for g in made.containers.values()) == 8  # all in a
    for number in range(500, 508):
        made.add_app(number, "root.b")
        made.ask(number, 1, SMALL)
    attack.large(1)
    attack.settle()
    for _ in range(20):
        first = min(n for n, g in made.containers.items() if g.app >= 10_000)
        made.complete(first)
        attack.small()
        attack.settle()
        assert attack.reserved == []
