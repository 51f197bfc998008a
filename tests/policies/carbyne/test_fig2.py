"""Figure 2 in the simulator: two DAGs on one machine, under shares as hard caps and under
Carbyne.
"""

from statistics import mean

import pytest

from loomcard.results.record import RunRecord
from loomcard.workload.scenario import Scenario
from scenarios import app, run, scenario, stage

SECOND = 10_000
"""The figure's unit of time, in ms."""


def figure_2() -> Scenario:
    """Return the scenario of the figure. Capacity 1 is 100 slots of 1024 MB and 1 vcore on one
    node.
    """

    def tasks(count: int, slots: int, number: int, parts: int = 10, **keys: object):
        durations = [SECOND * parts // 10] * count
        return stage(durations, number, size=(1024 * slots, slots), **keys)

    one = app("j1", tasks(2, 4, 1), tasks(3, 21, 2), tasks(1, 10, 3, 1, after=[0, 1]))
    return scenario(one, app("j2", tasks(2, 29, 1)), slots=100)


def ends(record: RunRecord) -> list[float]:
    """Return the time when each job ends, in the figure's unit."""
    return [each.demanding[-1][1] / SECOND for each in record.applications]


@pytest.mark.parametrize(
    ("policy", "finish"),
    [("strict", [2.1, 2.0]), ("carbyne", [2.1, 1.0])],
)
def test_figure_2(policy, finish):
    """The average is 2.05 under hard shares and 1.55 under Carbyne. drf, which lends, has 1.55
    too.
    """
    found = ends(run(figure_2(), policy))
    assert found == pytest.approx(finish)
    assert mean(found) == pytest.approx(mean(finish))


def test_figure_2_under_drf_that_lends():
    assert mean(ends(run(figure_2(), "drf"))) == pytest.approx(1.55)


@pytest.mark.parametrize("loan", ["guarded", "preempt"])
def test_figure_2_with_safe_loans(loan):
    """No job needs back what it lent, so the result is the same."""
    policy = f"version: 1\npolicy: carbyne\noptions: {{loan: {loan}}}\n"
    assert ends(run(figure_2(), policy)) == pytest.approx([2.1, 1.0])
