"""Which windows count, and what counts as starving, on runs made by hand."""

import pytest

from benchmarks.papers_on_yarn import hdrf, tables
from benchmarks.papers_on_yarn.occupancy import Occupancy
from loomcard.results.container_rows import ContainerRow
from loomcard.results.record import ApplicationRecord, RunRecord

APART = {"n1_1": 157, "n1_2": 196, "n2_1": 20, "n2_2": 19}
SHARED = {"n1_2": 196, "n2_1": 98, "n2_2": 98}
ALONE = {"n1_2": 196, "n2_1": 195}
HELD = ((220, ALONE), (120, SHARED), (0, APART))


def record(**last: tuple[int, int]) -> RunRecord:
    """Return a run in which each leaf's last container was allocated and ended at these seconds."""
    found = RunRecord("hdrf", "shares", 1, "local", ["memory_mb", "vcores"], [(0, (1, 1))])
    found.applications = [ApplicationRecord(name, name, 0) for name in last]
    found.containers = [
        ContainerRow(name, "s", task, 1, "s1", False, (1, 1), at, at, 1000 * ended, "completed")
        for name, (allocated, ended) in last.items()
        for task, at in enumerate((0, 1000 * allocated))
    ]
    return found


def shares_seen(until_s: int) -> Occupancy:
    """Return the paper's counts, but each phase begins with ten seconds of other counts."""
    samples = []
    for at_s in range(until_s):
        begun = max(s for s in (0, 120, 220) if at_s >= s)
        held = {
            0: APART,
            120: {"n1_2": 196, "n2_1": 98, "n2_2": 98},
            220: {"n1_2": 196, "n2_1": 195},
        }
        samples.append((at_s * 1000, held[begun] if at_s >= begun + 10 else {"n1_2": 7}))
    return Occupancy(samples)


def test_a_phase_is_judged_by_its_last_minute():
    """A phase begins when the leaver has given back its last container, and ends with the next
    leaver's last allocation.
    """
    found = hdrf.phases(
        record(n1_1=(90, 120), n2_2=(200, 220), n1_2=(600, 600), n2_1=(500, 550)), shares_seen(300)
    )
    assert [phase.window_ms for phase in found] == [
        (30_000, 90_000),
        (140_000, 200_000),
        (239_000, 299_000),
    ]
    assert [phase.held for phase in found] == [APART, SHARED, ALONE]
    assert [phase.apart for phase in found] == [0.6, 0.0, 1.0]


def test_a_phase_too_short_for_its_minute_is_no_result():
    with pytest.raises(ValueError, match="a phase from 120000 to 170000 ms is shorter"):
        hdrf.phases(
            record(n1_1=(90, 120), n2_2=(170, 180), n1_2=(600, 600), n2_1=(500, 550)),
            shares_seen(300),
        )


def test_a_leaf_starves_that_is_below_half_of_its_guarantee_for_over_a_minute():
    samples = [
        (at_s * 1000, {"n1_1": 20, "n2_1": 4 if at_s > 40 else 5, "n2_2": 4 if at_s % 60 else 5})
        for at_s in range(120)
    ]
    found = hdrf.leaves(Occupancy(samples), (20_000, 120_000))
    assert [name for name, leaf in found.items() if leaf.starves] == ["n2_1"]
    assert found["n2_1"].below_half_ms == 79_000
    assert found["n2_2"].below_half_ms == 59_000
    assert (found["n2_1"].least, found["n2_1"].median) == (4, 4)


def test_the_trees_guarantee_what_the_constants_say():
    """The weights in Figure 8 are 4 and 1; in Figure 4 the leaves' guarantees add up to the
    cluster.
    """
    assert sum(hdrf.GUARANTEES.values()) == 40
    assert "weight: 4" in hdrf.SHARES.format(policy="hdrf")
    assert hdrf.WANTED[0]["n1_1"] == pytest.approx(4 * (2 * hdrf.WANTED[0]["n2_1"]))


def test_the_tables_show_wanted_beside_held():
    phase = {"wanted": {"n2_1": 19.6}, "held": {"n2_1": 20}, "running": {"n2_1": 19.5}}
    text = tables.shares({"hdrf": {"phases": [phase] * 3}})
    assert "| all four | n2_1 | 19.6 | 20 (19.5) |" in text
    leaf = {
        "guaranteed": 10.0,
        "least": 0,
        "median": 1.0,
        "below_half_ms": 580_000,
        "starves": True,
        "series": [9.0, 3.0, 0, 0, 0, 0] + [1.0] * 6 + [5.0],
    }
    text = tables.churn({"per_level_drf": {"leaves": {"n2_1": leaf}}})
    assert "| per_level_drf | n2_1 | 10 | 0 | 1 | 580 s | starves |" in text
    assert "| mean of minute |  | 1 | 2 |" in text
    assert "| per_level_drf | n2_1 | 2.0 | 1.0 |" in text
