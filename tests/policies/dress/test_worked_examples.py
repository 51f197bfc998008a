"""The figures of the paper's text that can be recomputed (docs/papers/dress.md 4.1, 4.2)."""

import pytest

JOBS = {1: (0, 3, 10), 2: (1, 4, 20), 3: (2, 3, 7), 4: (3, 2, 10)}
"""Figure 1: submission, containers that it needs at once, length; 6 containers in all."""


def gangs(order, *, overtakes, decided=0):
    """When each job starts that needs all its containers at once: in ``order``, past those that do
    not fit if it ``overtakes``, nothing before ``decided``.
    """
    starts, waits = {}, list(order)
    for t in range(decided, 200):
        for job in list(waits):
            submitted, wanted, _ = JOBS[job]
            busy = sum(JOBS[j][1] for j, s in starts.items() if s <= t < s + JOBS[j][2])
            if submitted <= t and busy + wanted <= 6:
                starts[job] = t
                waits.remove(job)
            elif not overtakes:
                break
    return [starts[job] for job in sorted(JOBS)]


@pytest.mark.parametrize(
    ("order", "rules", "starts", "wait", "makespan"),
    [
        ([1, 2, 3, 4], {"overtakes": False}, [0, 10, 30, 30], 16.0, 40),
        ([1, 3, 4, 2], {"overtakes": True, "decided": 3}, [3, 13, 3, 10], 5.75, 30),
        ([1, 3, 4, 2], {"overtakes": True}, [0, 10, 2, 9], 3.75, 30),
    ],
    ids=["first come first served", "decided at the last arrival", "greedy"],
)
def test_the_toy_of_figure_1(order, rules, starts, wait, makespan):
    """The instance that is consistent with the text; it motivates the idea, for with 6 containers
    each of its jobs is large.
    """
    found = gangs(order, **rules)
    assert found == starts
    waits = [start - JOBS[job][0] for job, start in enumerate(found, 1)]
    assert sum(waits) / 4 == wait
    ends = [start + JOBS[job][2] for job, start in enumerate(found, 1)]
    assert max(ends) - min(found) == makespan


def test_numbers_of_the_text():
    """Blocks, heading and trailing tasks, and the 76.1 %, which is the mean of two jobs."""
    blocks = [[min(512, size - at) for at in range(0, size, 512)] for size in (1664, 1280)]
    assert blocks == [[512, 512, 512, 128], [512, 512, 256]]
    assert pytest.approx(0.069, abs=5e-4) == 1.26 / 18.25
    assert pytest.approx(12.75, abs=5e-3) == 17.6 / 1.38
    cuts = [1 - 111.3 / 484.5, 1 - 134.4 / 540.3]
    assert cuts == pytest.approx([0.770, 0.751], abs=5e-4)
    assert sum(cuts) / 2 == pytest.approx(0.761, abs=5e-4)
    assert pytest.approx(10.5, abs=0.05) == 304.705 / 28.903
    assert pytest.approx(16.1) == (32.0 + 10.2 + 6.1) / 3
