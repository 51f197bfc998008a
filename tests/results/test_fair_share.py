"""Fair shares of queues, worked out by hand, and Jain's index if queues have exactly that."""

from collections.abc import Mapping

import numpy as np
import pytest

from loomcard.config import compile_config
from loomcard.results.container_rows import ContainerRow
from loomcard.results.fair_share import fair_shares, queue_shares
from loomcard.results.metrics import facts
from loomcard.results.record import ApplicationRecord, QueueShare, RunRecord

MINUTE = 60_000


def config(queues: str) -> dict[str, QueueShare]:
    text = f"version: 1\npolicy: drf\nqueues: {queues}\n"
    return queue_shares(compile_config(text, "here.yml"))


def parts(queues: Mapping[str, QueueShare], *leaves: str, memory: int = 100) -> list[float]:
    """Return the shares at one moment at which there is demand in each of these, and nowhere
    else.
    """
    cluster = {"memory_mb": np.array([memory]), "vcores": np.array([10])}
    found = fair_shares(queues, leaves, np.ones((len(leaves), 1), dtype=bool), cluster)
    return [float(value) for value in found[:, 0]]


def full(held: Mapping[str, int], queues: Mapping[str, QueueShare]) -> list[float]:
    """Return Jain's index when one application per queue uses that much of 100 MB for two
    windows.
    """
    rows = [
        ContainerRow(name, "s", 0, 1, "n", False, (size, 0), 0, 0, 2 * MINUTE, "completed")
        for name, size in held.items()
    ]
    record = RunRecord("p", "w", 1, "simulator", ["memory_mb", "vcores"], [(0, (100, 10))])
    record.applications = [
        ApplicationRecord(name, name, 0, [], [(0, 2 * MINUTE)], "SUCCEEDED") for name in held
    ]
    record.containers, record.queues, record.ended_ms = rows, dict(queues), 2 * MINUTE
    windows = facts(record)["jain_windows"]
    assert isinstance(windows, list)
    return windows


def test_what_a_configuration_says_of_shares() -> None:
    """Root has all; a queue that states nothing is guaranteed nothing and may have all. A part is
    of the parent's, amounts are as stated.
    """
    found = config(
        "{a: {guaranteed: 25%, maximum: 50%, weight: 2}, b: {maximum: {memory_mb: 4096}}, c: {}}"
    )
    assert found == {
        "root": QueueShare(1.0, 1.0, 1.0),
        "root.a": QueueShare(2.0, 0.25, 0.5),
        "root.b": QueueShare(1.0, 0.0, {"memory_mb": 4096}),
        "root.c": QueueShare(1.0, 0.0, 1.0),
    }
    bare = {"path": "root", "parent": None, "weight": 3.0}
    leaf = {"path": "root.a", "parent": 0, "weight": 1.0}
    assert queue_shares({"queues": [bare, leaf]}) == {
        "root": QueueShare(3.0, 1.0, 1.0),
        "root.a": QueueShare(1.0, 0.0, 1.0),
    }
    assert queue_shares({}) == {}


def test_queues_that_hold_their_guarantees_are_treated_fairly() -> None:
    """They use 75 and 25 of 100, and that much is guaranteed; for halves it would be 0.8."""
    queues = config("{a: {guaranteed: 75%}, b: {guaranteed: 25%}}")
    assert full({"root.a": 75, "root.b": 25}, queues) == [1.0, 1.0]
    assert full({"root.a": 75, "root.b": 25}, config("{a: {}, b: {}}")) == [0.8, 0.8]


@pytest.mark.parametrize("maximum", ["25%", "{memory_mb: 25, vcores: 2}"])
def test_what_a_maximum_forbids_is_the_others(maximum: str) -> None:
    """One has a quarter at most, in percent or in amounts; the other queue gets three quarters."""
    assert full(
        {"root.a": 75, "root.b": 25}, config(f"{{a: {{}}, b: {{maximum: {maximum}}}}}")
    ) == [
        1.0,
        1.0,
    ]


def test_without_guarantees_and_maxima_weights_decide() -> None:
    """The split is 3 to 1; c, where there is no demand, has nothing."""
    queues = config("{a: {weight: 3}, b: {}, c: {weight: 9}}")
    assert parts(queues, "root.a", "root.b") == [0.75, 0.25]
    assert parts({}, "root.a", "root.b", "root.c.d", "root.c.e") == pytest.approx(
        [1 / 3, 1 / 3, 1 / 6, 1 / 6]
    )


def test_what_is_promised_to_nobody_is_divided_by_weight() -> None:
    """40 and 20 are promised; the other 40 are divided 1 to 3, in addition."""
    queues = config("{a: {guaranteed: 40%}, b: {guaranteed: 20%, weight: 3}, c: {guaranteed: 30%}}")
    assert parts(queues, "root.a", "root.b") == pytest.approx([0.5, 0.5])


def test_three_levels() -> None:
    """a is promised 60 % and b 40 %. Below a, x is promised half of that and y nothing: 30 to x,
    15 more to each. Below b, p may have a tenth of the cluster, so that q has the other 30.
    Without q, b can use a tenth only and a has 90: x 30 + 30, y 30.
    """
    queues = config(
        "{a: {guaranteed: 60%, queues: {x: {guaranteed: 50%}, y: {}}},"
        " b: {guaranteed: 40%, queues: {p: {maximum: 10%}, q: {}}}}"
    )
    leaves = ["root.a.x", "root.a.y", "root.b.p", "root.b.q"]
    assert parts(queues, *leaves) == pytest.approx([0.45, 0.15, 0.1, 0.3])
    assert parts(queues, *leaves[:3]) == pytest.approx([0.6, 0.3, 0.1])


def test_amounts_are_parts_of_the_cluster_of_the_moment() -> None:
    """20 MB are a fifth of 100 and half of 40; promises of 50 MB in 40 are reduced in
    proportion.
    """
    queues = config("{a: {guaranteed: {memory_mb: 20}}, b: {maximum: {memory_mb: 20}}}")
    assert parts(queues, "root.a", "root.b", memory=100) == pytest.approx([0.8, 0.2])
    assert parts(queues, "root.a", "root.b", memory=40) == pytest.approx([0.75, 0.25])
    queues = config("{a: {guaranteed: {memory_mb: 40}}, b: {guaranteed: {memory_mb: 10}}}")
    assert parts(queues, "root.a", "root.b", memory=40) == pytest.approx([0.8, 0.2])


def test_who_has_no_fair_share_does_not_count() -> None:
    """All is promised to a, b and d, so that c has no claim; 70, 20 and 10 % have no exact binary
    form.
    """
    queues = config("{a: {guaranteed: 70%}, b: {guaranteed: 20%}, d: {guaranteed: 10%}, c: {}}")
    assert parts(queues, "root.a", "root.b", "root.c", "root.d")[2] == 0
    held = {"root.a": 70, "root.b": 19, "root.c": 1, "root.d": 10}
    x = [1, 0.95, 1]
    want = sum(x) ** 2 / (3 * sum(each**2 for each in x))
    assert full(held, queues) == pytest.approx([want, want])


def test_moments_are_distinguished_by_who_demands_and_by_capacity() -> None:
    """The moments are one leaf, the other, both, and both in a larger cluster."""
    queues = config("{a: {guaranteed: {memory_mb: 60}}, b: {}}")
    demanding = np.array([[1, 0, 1, 1, 0], [0, 1, 1, 1, 0]], dtype=bool)
    cluster = {"memory_mb": np.array([100, 100, 100, 200, 100])}
    found = fair_shares(queues, ["root.a", "root.b"], demanding, cluster)
    assert found.tolist() == pytest.approx(
        np.array([[1.0, 0.0, 0.8, 0.65, 0.0], [0.0, 1.0, 0.2, 0.35, 0.0]])
    )
