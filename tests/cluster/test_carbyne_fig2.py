"""Figure 2 of Carbyne's paper on real YARN: under hard shares, by the hint, and by the marks of AMs
that plan themselves.
"""

from pathlib import Path
from statistics import mean

import pytest

from loomcard.api.marked_asks import DEFAULT_ASKS, unmarked
from loomcard.player.play import play
from loomcard.results.record import RunRecord
from loomcard.wire import messages as r
from loomcard.wire.journal import rounds
from loomcard.workload.loading import load
from loomcard.workload.scenario import Scenario

pytestmark = pytest.mark.cluster

UNIT_MS = 5_000
"""The figure's unit of time."""
LATE_MS = 1_500
"""What heartbeats and a busy machine add to a job's time."""


def behind_a_gate(asks: str) -> Scenario:
    """The figure's two jobs come while an application holds the whole machine, so that the first
    task of either starts when that ends: their time 0.
    """
    vary = {"unit_ms": UNIT_MS, "asks": asks, "gate_ms": 8_000}
    return load(Path(__file__).with_name("carbyne_fig2.yml"), seed=1, vary=vary)


def ends(record: RunRecord) -> list[float]:
    """When j1 and j2 end, in units of time from the gate's end."""
    gate, *jobs = record.applications
    opened_ms = gate.demanding[-1][1]
    for job in jobs:
        assert job.state == "SUCCEEDED"
        assert job.demanding[0][0] < opened_ms, "the machine was too slow: a job came late"
    return [(job.demanding[-1][1] - opened_ms) / UNIT_MS for job in jobs]


@pytest.mark.parametrize(
    ("policy", "asks", "wanted"),
    [
        ("strict", "unmarked", [2.1, 2.0]),
        ("carbyne", "unmarked", [2.1, 1.0]),
        ("carbyne", "altruistic", [2.1, 1.0]),
    ],
)
def test_figure_2_on_yarn(policy: str, asks: str, wanted: list[float], tmp_path: Path) -> None:
    """Mean completions 2.05 and 1.55, whoever plans: the scheduler by the hint, or the AMs."""
    found = ends(play(behind_a_gate(asks), policy, folder=tmp_path))
    late = LATE_MS / UNIT_MS
    assert found == pytest.approx(wanted, abs=late)
    assert mean(found) == pytest.approx(mean(wanted), abs=late)
    first = [[(2, 1)], [(1, 1)]] if asks == "altruistic" else []
    assert default_asks(tmp_path / "cluster") == first


def default_asks(folder: Path) -> list[list[tuple[int, int]]]:
    """Of each job, in turn, what its AM called DEFAULT at first: (stage from 1, tasks) of each row.
    One task each: the must-starts of the figure.
    """
    (journal,) = folder.rglob("journal")
    by_time: dict[int, dict[int, list[tuple[int, int]]]] = {}
    for each in rounds(journal):
        for record in each.batch.records:
            if not isinstance(record, r.AskChanged) or not record.count:
                continue
            if record.allocation_request_id in DEFAULT_ASKS:
                row = (unmarked(record.allocation_request_id), record.count)
                times = by_time.setdefault(record.attempt, {})
                times.setdefault(record.at_ms, []).append(row)
    return [next(iter(times.values())) for _, times in sorted(by_time.items())]
