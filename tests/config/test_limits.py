"""Tests of guarantees and maxima: their compiled form, and whether all of them can be kept."""

from collections.abc import Callable
from typing import Any

import pytest

from loomcard.config import Finding

Queues = Callable[..., dict[str, dict[str, Any]]]
FindingsOf = Callable[..., list[Finding]]
HEAD = "version: 1\npolicy: drf\n"


def test_defaults(queues: Queues) -> None:
    """Root has the cluster; a queue is guaranteed nothing and limited only by its parent."""
    found = queues(HEAD + "queues: {a: {}}")
    assert found["root"]["guaranteed"] == found["root"]["maximum"] == {"ppm": 1_000_000}
    assert found["root.a"]["guaranteed"] == {"ppm": 0}
    assert found["root.a"]["maximum"] == {"ppm": 1_000_000}
    assert found["root.a"]["user_limit_ppm"] == found["root.a"]["am_share_ppm"] == 1_000_000
    assert found["root.a"]["weight"] == 1.0


def test_percentages_become_millionths_rounded_down(queues: Queues) -> None:
    """A third is 333333 ppm, because rounding up could promise more than the cluster has."""
    text = "queues: {a: {guaranteed: 33.33339%, maximum: 50%, user_limit: 12.5%, am_share: 1%}}"
    queue = queues(HEAD + text)["root.a"]
    assert queue["guaranteed"] == {"ppm": 333_333}
    assert queue["maximum"] == {"ppm": 500_000}
    assert (queue["user_limit_ppm"], queue["am_share_ppm"]) == (125_000, 10_000)


def test_what_may_be_held_is_stated_where_it_is_not_a_tenth(queues: Queues) -> None:
    """With 0 % nothing may be reserved. A file without queues states the share for root and
    root.default.
    """
    found = queues(
        HEAD
        + "reservation_share: 10%\n"
        + "queues: {a: {reservation_share: 0%}, b: {reservation_share: 12.5%}}"
    )
    assert [found[path].get("reservation_share_ppm") for path in ("root", "root.a", "root.b")] == [
        None, 0, 125_000,
    ]  # fmt: skip
    alone = queues(HEAD + "reservation_share: 100%")
    assert (
        alone["root"]["reservation_share_ppm"]
        == alone["root.default"]["reservation_share_ppm"]
        == 1_000_000
    )


def test_how_many_nodes_may_be_held_is_inherited(queues: Queues) -> None:
    """A queue has its parent's number unless it states one; a file without queues states it for
    all.
    """
    found = queues(
        HEAD + "reservation_nodes: 3\nqueues: {a: {reservation_nodes: 1, queues: {x: {}}}, b: {}}"
    )
    said = {path: queue.get("reservation_nodes", 1) for path, queue in found.items()}
    assert said == {"root": 3, "root.a": 1, "root.a.x": 1, "root.b": 3}
    assert queues(HEAD + "reservation_nodes: 2")["root.default"]["reservation_nodes"] == 2


def test_amounts_stay_amounts(queues: Queues) -> None:
    """Amounts name their resources, which may include further types."""
    text = "queues: {a: {maximum: {vcores: 4, yarn.io/gpu: 1, memory_mb: 1024}}}"
    amounts = {"memory_mb": 1024, "vcores": 4, "yarn.io/gpu": 1}
    assert queues(HEAD + text)["root.a"]["maximum"] == {"amounts": amounts}


NOTHING = (
    "the parent guarantees nothing, so nothing of it can be guaranteed here"
    " (give the parent a guarantee too, or use weight)"
)


@pytest.mark.parametrize(
    ("tree", "path", "text"),
    [
        (
            "a: {guaranteed: 60%}\n  b: {guaranteed: 50%}",
            "queues.b.guaranteed",
            "with this the siblings' guarantees add up to 110%; at most 100% (lower some of them)",
        ),
        (
            "a: {guaranteed: 60%, maximum: 50%}",
            "queues.a.guaranteed",
            "the queue is guaranteed 60% of the cluster, its maximum 50%"
            " (lower the guarantee or raise the maximum)",
        ),
        # 60 % of the parent's 50 %, and at most 50 % of the parent's maximum
        (
            "a: {guaranteed: 50%, maximum: 50%, queues: {x: {guaranteed: 60%, maximum: 50%}}}",
            "queues.a.queues.x.guaranteed",
            "the queue is guaranteed 30% of the cluster, its maximum 25%"
            " (lower the guarantee or raise the maximum)",
        ),
        (
            "a: {guaranteed: {vcores: 3}, maximum: {vcores: 2}}",
            "queues.a.guaranteed",
            "the queue is guaranteed 3 vcores, its maximum 2"
            " (lower the guarantee or raise the maximum)",
        ),
        ("a: {queues: {x: {guaranteed: 10%}}}", "queues.a.queues.x.guaranteed", NOTHING),
        ("a: {queues: {x: {guaranteed: 0.0001%}}}", "queues.a.queues.x.guaranteed", NOTHING),
        ("a: {queues: {x: {guaranteed: {vcores: 1}}}}", "queues.a.queues.x.guaranteed", NOTHING),
        (
            "a: {guaranteed: {vcores: 4}, queues: {x: {guaranteed: {vcores: 5}}}}",
            "queues.a.queues.x.guaranteed",
            "with this the siblings are guaranteed 5 vcores, the parent only 4"
            " (lower some of them)",
        ),
        (
            "a: {guaranteed: {vcores: 4}, queues: {x: {guaranteed: {vcores: 3}},"
            " y: {guaranteed: 50%}}}",
            "queues.a.queues.y.guaranteed",
            "with this the siblings are guaranteed 5 vcores, the parent only 4"
            " (lower some of them)",
        ),
        (
            "a: {guaranteed: {vcores: 4}, queues: {x: {guaranteed: {memory_mb: 1}}}}",
            "queues.a.queues.x.guaranteed",
            "with this the siblings are guaranteed 1 memory_mb, the parent only 0"
            " (lower some of them)",
        ),
        (
            "a: {queues: {x: {}, y: {guaranteed: 10%}}}",
            "queues.a.queues.y.guaranteed",
            NOTHING,
        ),
        (
            "a: {guaranteed: {vcores: 0}, queues: {x: {guaranteed: 10%}}}",
            "queues.a.queues.x.guaranteed",
            NOTHING,
        ),
        (
            "a: {guaranteed: {vcores: 4}, queues: {x: {guaranteed: {vcores: 1}},"
            " y: {guaranteed: 100%}}}",
            "queues.a.queues.y.guaranteed",
            "with this the siblings are guaranteed 5 vcores, the parent only 4"
            " (lower some of them)",
        ),
        (
            "a: {guaranteed: {vcores: 4, memory_mb: 4}, queues: {x: {guaranteed: {vcores: 3}},"
            " y: {guaranteed: {memory_mb: 5, vcores: 2}}}}",
            "queues.a.queues.y.guaranteed",
            "with this the siblings are guaranteed 5 memory_mb, the parent only 4"
            " (lower some of them)",
        ),
        (
            "a: {label_guaranteed: {gpu: 60%}}\n  b: {label_guaranteed: {gpu: 50%}}",
            "queues.b.label_guaranteed.gpu",
            "with this the siblings' guarantees on gpu add up to 110%; at most 100%"
            " (lower some of them)",
        ),
        (
            "a: {queues: {x: {label_guaranteed: {gpu: 50%}}}}",
            "queues.a.queues.x.label_guaranteed.gpu",
            "the parent is guaranteed nothing on the nodes with the label gpu"
            " (give the parent label_guaranteed there too)",
        ),
        (
            "a: {label_maximum: {gpu: 40%}, label_guaranteed: {gpu: 50%}}",
            "queues.a.label_guaranteed.gpu",
            "the queue is guaranteed 50% of the nodes with the label gpu, its maximum there 40%"
            " (lower the guarantee or raise label_maximum)",
        ),
        (
            "a: {guaranteed: 50%, auto_create: {maximum_queues: 5, template: {guaranteed: 25%}}}",
            "queues.a.auto_create.template.guaranteed",
            "with this (5 queues) the siblings' guarantees add up to 125%; at most 100%"
            " (lower it, or maximum_queues)",
        ),
        (
            "a: {guaranteed: {vcores: 4},"
            " auto_create: {maximum_queues: 3, template: {guaranteed: {vcores: 2}}}}",
            "queues.a.auto_create.template.guaranteed",
            "with this (3 queues) the siblings are guaranteed 6 vcores, the parent only 4"
            " (lower it, or maximum_queues)",
        ),
    ],
)
def test_guarantees_that_cannot_be_kept(
    findings_of: FindingsOf, tree: str, path: str, text: str
) -> None:
    """A guarantee of more than exists, of more than the maximum, or of a part of nothing is one
    finding at its place.
    """
    (finding,) = findings_of(f"{HEAD}queues:\n  {tree}\n")
    assert finding.path == path
    assert f"{finding.message} ({finding.hint})" == text


def test_each_guarantee_of_nothing_is_named(findings_of: FindingsOf) -> None:
    """All of them are found at once, not one after the other."""
    text = "queues: {a: {queues: {x: {guaranteed: 10%}, y: {guaranteed: 10%}}}}"
    found = [finding.path for finding in findings_of(HEAD + text)]
    assert found == ["queues.a.queues.x.guaranteed", "queues.a.queues.y.guaranteed"]


@pytest.mark.parametrize(
    "tree",
    [
        "a: {guaranteed: 60%}\n  b: {guaranteed: 40%}",
        "a: {guaranteed: 50%, maximum: 50%}",
        "a: {guaranteed: {vcores: 3}, maximum: {vcores: 3}}",
        "a: {guaranteed: 33.34%}\n  b: {guaranteed: 33.33%}\n  c: {guaranteed: 33.33%}",
        # 90 % of the parent's 10 % is 9 % of the cluster, below half of the parent's 100 %
        "a: {guaranteed: 10%, queues: {x: {guaranteed: 90%, maximum: 50%}}}",
        # amounts of other resources, or compared with percent: only a cluster can tell
        "a: {guaranteed: {vcores: 3}, maximum: {memory_mb: 4096}}",
        "a: {guaranteed: {vcores: 3}, maximum: 1%}",
        "a: {queues: {x: {guaranteed: 0%}}}",
        "a: {queues: {x: {guaranteed: {vcores: 0}}}}",
        "a: {guaranteed: {vcores: 4}, queues: {x: {guaranteed: 50%}, y: {guaranteed: 50%}}}",
    ],
)
def test_guarantees_that_can_be_kept(findings_of: FindingsOf, tree: str) -> None:
    """Guarantees of exactly the whole are allowed, and what cannot be compared is not judged."""
    assert findings_of(f"{HEAD}queues:\n  {tree}\n") == []


def test_limits_of_a_file_without_queues(queues: Queues) -> None:
    """Root keeps the limits on resources, and root.default has all of root. The limits on users
    move to root.default.
    """
    found = queues(HEAD + "maximum: 50%\nuser_limit: 20%\nam_share: 10%\nweight: 3\n")
    assert found["root"]["maximum"] == found["root"]["guaranteed"] == {"ppm": 500_000}
    assert found["root.default"]["guaranteed"] == {"ppm": 1_000_000}
    assert found["root.default"]["maximum"] == {"ppm": 1_000_000}
    assert found["root.default"]["user_limit_ppm"] == 200_000
    assert found["root.default"]["am_share_ppm"] == 100_000
    assert found["root"]["user_limit_ppm"] == found["root"]["am_share_ppm"] == 1_000_000


def test_root_is_guaranteed_the_cluster_where_its_maximum_is_an_amount(queues: Queues) -> None:
    """How much of a cluster of unknown size root may use is then unknown too."""
    root = queues(HEAD + "maximum: {vcores: 4}\nqueues: {a: {}}")["root"]
    assert root["guaranteed"] == {"ppm": 1_000_000}
    assert root["maximum"] == {"amounts": {"vcores": 4}}
