"""What shares in a configuration come to on a cluster, in figures."""

from typing import Any

import pytest

from compiled import config, queue
from loomcard.model.limits import build_tree, own_limit, resolve
from loomcard.model.queue import Queue
from loomcard.model.reasons import Reason
from loomcard.model.resource import UNLIMITED, Resource

TYPES = ["memory_mb", "vcores"]
CLUSTER = Resource((10_001, 40))


def resolved(
    *leaves: dict[str, Any], above: dict[str, Any] | None = None, capacity: Resource = CLUSTER
) -> list[Queue]:
    """Return the queues of a tree: root, root.a with the keys ``above``, and root.a.1, ..."""
    below = [queue(f"root.a.{number}", "fifo", **keys) for number, keys in enumerate(leaves, 1)]
    tree = config(queue("root", "drf"), queue("root.a", "drf", **(above or {})), *below)
    queues = build_tree(tree, len(TYPES))
    resolve(queues, capacity, TYPES)
    return queues


def test_a_guarantee_is_a_part_of_the_parents_guarantee_rounded_down():
    """Root is guaranteed the cluster; a queue that states nothing is guaranteed nothing."""
    root, a, half, stated, nothing = resolved(
        {"guaranteed": {"ppm": 500_000}},
        {"guaranteed": {"amounts": {"memory_mb": 3000}}},
        {},
        above={"guaranteed": {"ppm": 300_000}},
    )
    assert root.guaranteed == CLUSTER
    assert a.guaranteed == (3000, 12)
    assert half.guaranteed == (1500, 6)
    assert stated.guaranteed == (3000, 0)
    assert nothing.guaranteed == (0, 0)


def test_a_maximum_is_a_part_of_the_parents_and_never_more():
    """A type that is not stated has no limit of its own. Without a maximum it is None, though the
    limits above hold: ``capped`` lists those that have one, from the root down.
    """
    root, a, half, stated, free = resolved(
        {"maximum": {"ppm": 500_000}},
        {"maximum": {"amounts": {"memory_mb": 9000}}},
        {},
        above={"maximum": {"ppm": 600_000}},
    )
    assert (root.maximum, root.capped) == (None, [])
    assert (a.maximum, a.capped) == ((6000, 24), [a])
    assert (half.maximum, half.capped) == ((3000, 12), [a, half])
    assert (stated.maximum, stated.capped) == ((6000, 24), [a, stated])
    assert (free.maximum, free.capped) == (None, [a])
    assert UNLIMITED > 10**15


def test_limits_inside_a_queue_are_parts_of_what_it_may_use():
    """Those of users and AMs; 100 % is no limit. A tenth may be reserved, unless it states more."""
    *_, one, plain = resolved(
        {"user_limit_ppm": 250_000, "am_share_ppm": 100_000, "reservation_share_ppm": 500_000},
        {},
        above={"maximum": {"ppm": 600_000}},
    )
    assert (one.user_limit, one.am_limit, one.reservation_limit) == (
        (1500, 6),
        (600, 2),
        (3000, 12),
    )
    assert (plain.user_limit, plain.am_limit, plain.reservation_limit) == (None, None, (600, 2))
    assert (one.reservation_nodes, plain.reservation_nodes) == (1, 1)


def test_limits_follow_the_capacity():
    """They are computed anew when the cluster grows; what was there before is gone."""
    queues = resolved({"maximum": {"ppm": 500_000}}, above={"maximum": {"ppm": 600_000}})
    resolve(queues, Resource((100, 10)), TYPES)
    assert [q.maximum for q in queues] == [None, (60, 6), (30, 3)]
    assert queues[2].capped == queues[1:]
    assert [q.children for q in queues] == [[queues[1]], [queues[2]], []]


@pytest.mark.parametrize(
    ("user_used", "am_used", "size", "is_am", "want"),
    [
        ([500, 5], [0, 0], (500, 1), False, None),
        ([500, 5], [0, 0], (501, 1), False, Reason.USER_LIMIT),
        ([500, 9], [0, 0], (0, 2), False, Reason.USER_LIMIT),
        (None, [0, 0], (1000, 1), False, None),
        (None, [0, 0], (1001, 1), False, Reason.USER_LIMIT),
        ([0, 0], [0, 0], (900, 1), True, None),  # the first AM, though over the AM share
        ([0, 0], [0, 1], (100, 1), True, None),
        ([0, 0], [100, 0], (100, 1), True, None),
        ([0, 0], [100, 0], (101, 1), True, Reason.AM_LIMIT),
        ([0, 0], [200, 0], (1, 1), False, None),
    ],
)
def test_a_user_and_the_masters_may_use_their_limit_and_no_more(
    user_used, am_used, size, is_am, want
):
    """A limit may be met exactly. Of a user who uses nothing yet, nothing is counted."""
    leaf = resolved({"user_limit_ppm": 100_000, "am_share_ppm": 20_000},
                    capacity=Resource((10_000, 100)))[2]  # fmt: skip
    assert (leaf.user_limit, leaf.am_limit) == ((1000, 10), (200, 2))
    leaf.am_used = am_used
    if user_used is not None:
        leaf.user_used["u"] = user_used
    assert own_limit(leaf, "u", Resource(size), is_am) is want
