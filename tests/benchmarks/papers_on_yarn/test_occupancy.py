"""What is computed from samples of a real cluster, on samples made by hand."""

import pytest

from benchmarks.papers_on_yarn.occupancy import Observer, Occupancy, holdings
from loomcard.cluster.rm_client import RestError
from loomcard.simulator import Progress


def seen(*counts: int | None) -> Occupancy:
    """Return a sample per second from 1 s on; None: the application is not there."""
    samples = [{} if count is None else {"a": count} for count in counts]
    return Occupancy([(1000 * at, held) for at, held in enumerate(samples, 1)])


def test_the_resourcemanagers_document_counts_what_running_applications_hold():
    documents = [
        {"name": "a", "state": "RUNNING", "runningContainers": 3},
        {"name": "b", "state": "ACCEPTED", "runningContainers": -1},
        {"name": "c", "state": "FINISHED", "runningContainers": -1},
    ]
    assert holdings(documents) == {"a": 3, "b": 0}


def test_a_window_takes_its_first_ms_and_leaves_its_last():
    held = seen(5, 1, 2, 9, 0)
    assert held.median("a", (2000, 5000)) == 2
    assert held.least("a", (1000, 5000)) == 1
    assert held.median("nobody", (1000, 5000)) == 0
    with pytest.raises(ValueError, match="no median"):
        held.median("a", (6000, 9000))


def test_an_application_is_gone_at_the_first_sample_without_it():
    assert seen(None, 3, 0, None, None).gone_ms("a") == 4000
    assert seen(None, 3).gone_ms("a") is None
    assert seen(None).gone_ms("a") is None


@pytest.mark.parametrize(
    ("counts", "longest_ms"),
    [
        pytest.param([5, 5, 5, 5], 0, id="never"),
        pytest.param([5, 4, 4, 5], 2000, id="from the first sample below to the next above"),
        pytest.param([4, 5, 4, 4, None], 3000, id="to the window's end, and having gone is none"),
        pytest.param([4, 4, 5, 4], 2000, id="the longest of two"),
    ],
)
def test_the_longest_time_below(counts, longest_ms):
    assert seen(*counts).longest_below_ms("a", 5, (1000, 1000 * len(counts) + 1000)) == longest_ms


def test_a_series_has_a_mean_for_each_step_from_zero():
    assert seen(2, 4, 6, 1).series("a", 2000) == [2.0, 5.0, 1.0]


class Documents:
    """A ResourceManager that answers every other request."""

    def __init__(self):
        self.asked = 0
        self.rest = self

    def applications(self):
        self.asked += 1
        if self.asked % 2 == 0:
            raise RestError("busy", "")
        return [{"name": "a", "state": "RUNNING", "runningContainers": self.asked}]


def test_the_observer_asks_once_a_second_and_leaves_out_what_was_not_answered():
    observer, cluster = Observer(), Documents()
    observer.look(Progress(100, 0, 0, 1))  # there is no cluster yet
    observer.meet(cluster)
    for now_ms in (0, 100, 200, 999, 1000, 1900, 2500):
        observer.look(Progress(now_ms, 0, 0, 1))
    assert observer.occupancy.samples == [(100, {"a": 1}), (2500, {"a": 3})]
