"""What the demo says of a policy follows from the figures, both for gains and for losses."""

import pytest

from loomcard.demo.gains import (
    FIGURES,
    LARGE,
    LEAST,
    MAKESPAN,
    MEAN,
    SMALL,
    Figures,
    Gain,
    Value,
    figures_of,
    gain,
    gains,
)
from loomcard.report.runs import Study


def figures(
    small: Value = 10.0, large: Value = 10.0, lab: Value = 10.0, mean: Value = 10.0,
    makespan: Value = 10.0,
) -> Figures:  # fmt: skip
    """Return made-up figures; unnamed ones are 10, and shop has those that lab does not have."""
    values = dict(zip(FIGURES, (small, large, lab, mean, makespan), strict=True))
    return Figures(values, {"lab": lab, "shop": None if lab is None else 100.0 - lab})


STOCK = figures()


def said(policy: str, own: Figures) -> Gain:
    return gain(policy, own, STOCK)


@pytest.mark.parametrize(
    ("policy", "own", "sentence"),
    [
        (
            "dress",
            figures(small=2.5),
            "dress gained for small jobs: small jobs' mean wait was 2.5 s, 10.0 s under"
            " CapacityScheduler (-75 %)",
        ),
        (
            "hdrf",
            figures(lab=45.0),
            "hdrf gained for lab: the smallest share of a queue was 45 % (lab),"
            " 10 % (lab) under CapacityScheduler (+35 points)",
        ),
        (
            "carbyne",
            figures(mean=8.0),
            "carbyne gained for all jobs together: mean completion of all jobs was 8.0 s, 10.0 s"
            " under CapacityScheduler (-20 %)",
        ),
    ],
)
def test_a_gain_says_for_whom_and_how_much(policy: str, own: Figures, sentence: str) -> None:
    """Each policy is judged by what its paper promises; the values are those of the figures."""
    found = said(policy, own)
    assert found.gained
    assert found.sentence == sentence


@pytest.mark.parametrize(
    ("policy", "own"),
    [
        ("dress", figures(small=12.0)),  # worse
        ("dress", figures(small=9.6)),  # the same, within the twentieth by which one run may vary
        ("dress", figures(small=None)),
        ("hdrf", figures(lab=10.4)),
        ("carbyne", figures(mean=10.5)),
        ("carbyne", figures(small=1.0)),  # the aim of another policy
    ],
)
def test_no_gain_is_said_to_be_none(policy: str, own: Figures) -> None:
    """A policy whose own figure is worse, the same or unknown has gained nothing."""
    found = said(policy, own)
    assert not found.gained
    assert f"{policy} gained nothing for " in found.sentence


def test_what_is_not_gained_is_said_too() -> None:
    """All other figures that are worse, the same or unknown are listed, each with both values."""
    found = said("dress", figures(small=1.0, large=15.0, lab=20.0, mean=10.1, makespan=None))
    assert found.rest == (
        "not gained, worse: large jobs' mean completion 15.0 s (CapacityScheduler 10.0 s, +50 %)",
        "not gained, the same: mean completion of all jobs 10.1 s (CapacityScheduler 10.0 s, +1 %)",
        "not gained, not known: the time until all were done - (CapacityScheduler 10.0 s)",
    )


def test_a_smaller_share_of_a_queue_is_worse() -> None:
    """This is the one figure that is better when it grows."""
    assert "worse: the smallest share of a queue" in said("dress", figures(lab=5.0)).rest[0]
    assert "share" not in " ".join(said("dress", figures(lab=20.0)).rest)


def test_nothing_is_left_where_all_is_better() -> None:
    own = figures(small=1.0, large=1.0, lab=50.0, mean=1.0, makespan=1.0)
    assert said("dress", own).rest == ()


def test_figures_follow_from_a_run(study: Study) -> None:
    """Waiting, completion, makespan and shares are worked out by hand. Shares count while both
    queues wanted more, of the resource of which a queue has most.
    """
    found = {run.policy: figures_of(run) for run in study.runs}["dress"]
    assert found.values[SMALL] == pytest.approx(2.0)
    assert found.values[LARGE] == pytest.approx(10.0)
    assert found.values[MEAN] == pytest.approx((10 + 3 + 10) / 3)
    assert found.values[MAKESPAN] == pytest.approx(10.0)
    assert found.values[LEAST] == pytest.approx(25.0)
    assert found.shares["shop.web"] == pytest.approx(100 * (6144 * 10 + 1024) / 8192 / 10)
    assert found.poorest == "lab.train"


def test_every_policy_is_compared_with_the_stock_scheduler(study: Study) -> None:
    """Policies are not compared with one another, nor CapacityScheduler with itself."""
    assert [(each.policy, each.gained) for each in gains(study)] == [
        ("dress", True),
        ("hdrf", False),
        ("carbyne", False),
    ]
