"""The reserve is the same for jobs that come between two ticks as for jobs that come at a tick."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from loomcard.simulator import simulate
from loomcard.workload.loading import load
from scenarios import compiled

SMALL = ("j4", "j5", "j7", "j9", "j10", "j12")


def run(policy: str, later_ms: int, seed: int) -> dict[str, tuple[int, int]]:
    """Return wait and completion of each job of S. The first job begins the ticks; all others come
    ``later_ms`` later.
    """
    first, *others = (base := load(Path("dress-s"), seed=seed)).applications
    moved = [replace(each, submit_ms=each.submit_ms + later_ms) for each in others]
    load_ = replace(base, applications=[first, *moved])
    record = simulate(load_, compiled(f"version: 1\npolicy: {policy}\n"), policy="test")
    found = {}
    for each in record.applications:
        own = [c for c in record.containers if c.application == each.id]
        begin, end = min(c.started_ms for c in own), max(c.finished_ms for c in own)
        found[each.id] = begin - each.submitted_ms, end - each.submitted_ms
    return found


@pytest.mark.parametrize(
    "later_ms", [5, 370, *(pytest.param(ms, marks=pytest.mark.slow) for ms in (0, 50, 990))]
)
@pytest.mark.parametrize("seed", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_the_reserve_does_not_depend_on_when_in_a_tick_jobs_come(later_ms, seed):
    """J7 starts at once, and small jobs end sooner. Earlier the tick after an eager allocation did
    not know of it and reserved nothing, so J7 waited for 40 to 65 s.
    """
    ours, stock = run("dress", later_ms, seed), run("capacity", later_ms, seed)
    assert ours["j7"][0] <= 5_000 < stock["j7"][0]
    assert sum(ours[j][1] for j in SMALL) < 0.8 * sum(stock[j][1] for j in SMALL)
