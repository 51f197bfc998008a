"""The owner of a label gets back the room that the label has lent."""

import pytest

from compiled import config, queue
from loomcard.testing.cluster import Cluster
from preempting import evictions

OPTIONS = {
    "preempt_after_ms": 1000, "preempt_grace_ms": 500, "preempt_budget": 0.5,
    "preempt_cooldown_ms": 1000,
}  # fmt: skip


def lending(policy: str, *, b: dict | None = None, **options: object) -> Cluster:
    """Return a cluster with four containers' room without a label and four of gpu, which lends;
    root.a asks for 12 without a label.
    """
    if policy == "capacity":
        options["user_limit_factor"] = -1
    made = Cluster(
        config(
            queue("root", policy, options=options), queue("root.a", None),
            queue("root.b", None, **(b or {})),
        )
    )  # fmt: skip
    made.add_node(1, 4096, 4)
    made.add_node(2, 4096, 4, label="gpu", shared=True)
    made.add_app(1, "root.a")
    made.ask(1, 12)
    for _ in range(3):
        made.round()
    return made


def on(made: Cluster, node: int) -> list[int]:
    """Return the applications of a node's containers."""
    return sorted(c.app for c in made.containers.values() if c.node == node)


OWNED = {"label_guaranteed_ppm": {"gpu": 500_000}}


@pytest.mark.parametrize("policy", ["capacity", "fair"])
def test_the_owner_of_a_label_gets_its_room_back(policy: str) -> None:
    """b is guaranteed half of gpu, which a was lent. It has that half soon after it asks (under
    `fair` all, as the only one with a claim), and no more is taken, also none of a's containers on
    the node without a label.
    """
    made = lending(policy, b=OWNED, **OPTIONS)
    assert on(made, 2) == [1, 1, 1, 1]
    made.add_app(2, "root.b")
    made.ask(2, 4, label="gpu")
    taken = evictions(made, 10)
    assert on(made, 2) == ([1, 1, 2, 2] if policy == "capacity" else [2, 2, 2, 2])
    assert on(made, 1) == [1, 1, 1, 1]
    assert "was lent what is idle there" in taken[0].reason
    assert len(taken) == on(made, 2).count(2)
    assert evictions(made, 100) == []


def test_without_the_option_the_owner_waits() -> None:
    """The room returns when what was lent ends."""
    made = lending("capacity", b=OWNED)
    made.add_app(2, "root.b")
    made.ask(2, 4, label="gpu")
    assert evictions(made, 60) == []
    assert on(made, 2) == [1, 1, 1, 1]
    for number in [n for n, c in made.containers.items() if c.node == 2][:2]:
        made.complete(number)
    made.round()
    assert on(made, 2) == [1, 1, 2, 2]


def test_a_label_for_which_nothing_is_guaranteed_belongs_to_those_who_ask_for_it() -> None:
    """The queues' guarantees hold on it: b is guaranteed a quarter of each partition."""
    made = lending("capacity", b={"guaranteed": {"ppm": 250_000}}, **OPTIONS)
    made.add_app(2, "root.b")
    made.ask(2, 4, label="gpu")
    evictions(made, 20)
    assert on(made, 2) == [1, 1, 1, 2]


def test_what_is_lent_is_known_after_a_snapshot() -> None:
    """A restarted policy process takes it back too."""
    made = lending("capacity", b=OWNED, **OPTIONS)
    made.snapshot()
    made.add_app(2, "root.b")
    made.ask(2, 4, label="gpu")
    evictions(made, 20)
    assert on(made, 2) == [1, 1, 2, 2]


@pytest.mark.parametrize("policy", ["capacity", "fair"])
def test_the_owner_does_not_lose_its_own_am_on_lent_room(policy: str) -> None:
    """b's AM names no label and runs on room that gpu lent; b asks for a task as large as the node.
    If its AM were taken for the task, it would come back on the same room, for ever.
    """
    made = lending(policy, b={"label_guaranteed_ppm": {"gpu": 1_000_000}}, **OPTIONS)
    made.complete(next(n for n, c in made.containers.items() if c.node == 2))
    made.add_app(2, "root.b")
    made.ask(2, 1, is_am=True)
    made.ask(1, 0)
    made.round()
    (am,) = [n for n, c in made.containers.items() if c.app == 2]
    assert made.containers[am].node == 2
    made.ask(2, 1, (4096, 4), label="gpu")
    evictions(made, 60)
    assert am in made.containers
