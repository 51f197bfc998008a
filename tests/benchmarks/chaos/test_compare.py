"""Each check of `make chaos` on states that are right, and on states with one thing wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.chaos.compare import (
    allowed_wait_ms,
    capsules,
    differences,
    growth,
    leftovers,
    net_wait_ms,
)

State = dict[str, Any]
NODE = "10.0.0.1:8041"
APP = "application_1_0001"


def states() -> State:
    """Return a cluster of one node on which one application has one container and waits for two."""
    held = {"application": APP, "number": 5, "node": NODE, "size": [1024, 1]}
    node = {"capacity": [8192, 8], "free": [7168, 7], "label": "", "shared": False}
    queue = {"used": [1024, 1], "used_by_masters": [0, 0], "containers": 1}
    queues = {path: {**queue, "users": {"u0": [1024, 1]}} for path in ("root", "root.a")}
    empty = {"used": [0, 0], "used_by_masters": [0, 0], "containers": 0, "users": {"u0": [0, 0]}}
    return {
        name: copy.deepcopy(state)
        for name, state in {
            "rm": {
                "nodes": {NODE: {**node, "containers": ["c5"]}},
                "applications": {APP: {"queue": "root.a", "user": "u0", "pending": 2}},
                "containers": {"c5": held},
                "queues": {**queues, "root.b": empty},
            },
            "load": {
                "containers": {"c5": {"node": NODE, "size": [1024, 1]}},
                "outstanding": {APP: 2},
            },
            "mirror": {"nodes": {NODE: node}, "containers": [held], "pending": {APP: 2}},
        }.items()
    }


def compared(found: State) -> list[str]:
    return differences(found["rm"], found["load"], found["mirror"])


def test_equal_states_agree() -> None:
    """Nothing is reported if nothing is wrong."""
    assert compared(states()) == []


def _negative(s: State) -> None:
    s["rm"]["queues"]["root.a"]["used"] = [-1024, -1]


WRONG: dict[str, Callable[[State], Any]] = {
    "usage of nodes": lambda s: s["rm"]["nodes"][NODE].update(free=[6144, 7]),
    "usage of queues": lambda s: s["rm"]["queues"]["root"].update(used=[2048, 2]),
    "negative usage": _negative,
    "containers of the nodes": lambda s: s["load"]["containers"].clear(),
    "containers of the mirror": lambda s: s["mirror"]["containers"][0].update(size=[1025, 1]),
    "capacity of the mirror's nodes": lambda s: s["mirror"]["nodes"][NODE].update(capacity=[1, 1]),
    "free of the mirror's nodes": lambda s: s["mirror"]["nodes"][NODE].update(free=[1, 1]),
    "label of the mirror's nodes": lambda s: s["mirror"]["nodes"][NODE].update(label="x"),
    "pending of the mirror": lambda s: s["mirror"]["pending"].update({APP: 3}),
    "asks": lambda s: s["load"]["outstanding"].update({APP: 3}),
}


@pytest.mark.parametrize("invariant", WRONG)
def test_one_thing_wrong_is_reported_by_its_name(invariant: str) -> None:
    """Each comparison finds the error that it exists for."""
    found = states()
    WRONG[invariant](found)
    assert invariant in {text.split(":")[0] for text in compared(found)}


def test_a_container_on_a_node_only_is_reported() -> None:
    """A container that the ResourceManager forgot and that still runs is found."""
    found = states()
    found["load"]["containers"]["c6"] = {"node": NODE, "size": [1024, 1]}
    assert compared(found) == ["containers of the nodes: c6 is on a node only"]


def test_usage_of_a_user_counts_by_itself() -> None:
    """A queue may be right in its sum and wrong by user."""
    found = states()
    found["rm"]["queues"]["root.a"]["users"]["u0"] = [512, 1]
    assert compared(found) == ["usage of queues: root.a counts [512, 1] for u0"]


def test_what_is_left_at_the_end_is_reported() -> None:
    """After the last application everything is zero."""
    found = states()
    texts = leftovers(found["rm"], found["load"], found["mirror"])
    assert [text.split(":")[0] for text in texts] == [
        "containers left", "asks left", "usage left in queues", "usage left on nodes",
        "containers left in the mirror",
    ]  # fmt: skip


def test_growth_is_bounded() -> None:
    """Heap, threads, files and children beyond their bounds are named; some growth is allowed."""
    first = {"heap_mb": 100, "threads": 50, "files": 200}
    assert growth(first, {"heap_mb": 150, "threads": 60, "files": 210}, 1) == []
    texts = growth(first, {"heap_mb": 300, "threads": 150, "files": 400}, 3)
    assert [text.split(":")[0] for text in texts] == [
        "growth of heap_mb", "growth of threads", "growth of files", "growth of children",
    ]  # fmt: skip


def test_a_wait_is_the_clusters_but_for_pauses_and_restarts() -> None:
    """The machine's pauses count once, however many threads saw them; a restart does not count."""
    assert net_wait_ms(1000, 5000, [], []) == 4000
    assert net_wait_ms(1000, 5000, [], [[2000, 1000], [2500, 1000], [9000, 500]]) == 2500
    assert net_wait_ms(1000, 5000, [(0, 4000)], [[2000, 1000]]) == 1000
    assert net_wait_ms(1000, 5000, [(4000, 6000)], []) == 0


def test_beside_a_silent_policy_the_watchdog_has_its_deadline() -> None:
    """A stated rule is believed for some more time; other faults allow no more time."""
    assert allowed_wait_ms(["rm.kill", "policy.slow"], 2, 30, 500) == 2
    assert allowed_wait_ms(["rm.kill", "silent.user"], 2, 30, 500) == 32
    assert allowed_wait_ms(["silent.lies-for-ever", "silent.always"], 2, 30, 500) == 532


def test_capsules_are_ten_and_private() -> None:
    """A mode that lets others read, and an eleventh file, are named."""
    ten = {f"capsule-{i}.zip": 0o600 for i in range(10)}
    assert capsules(ten) == []
    assert capsules(ten | {"capsule-3.zip": 0o640}) == ["capsules: capsule-3.zip has mode 640"]
    assert capsules(ten | {"x.draft": 0o600}) == ["capsules: 11 are kept, not 10"]
