"""Tests of work over processes: in order, reported, lost, stopped. The tests of the commands press
Ctrl-C.
"""

import signal
from pathlib import Path

import pytest

from chores import fails_on_two, who
from loomcard.simulator.processes import WorkerLostError, run_in_processes


def test_processes_serve_one_item_after_the_other():
    results: dict[int, tuple[int, int]] = {}
    heard: list[tuple[int, int]] = []
    run_in_processes(who, [7, 8, 9], 2, results.__setitem__, lambda *message: heard.append(message))
    assert [item for item, _ in map(results.get, range(3))] == [7, 8, 9]
    assert sorted(heard) == [(0, 70), (1, 80), (2, 90)]
    processes = {process for _, process in results.values()}
    assert len(processes) == 2
    assert not any(Path(f"/proc/{process}").exists() for process in processes)


def test_a_lost_process_is_reported_with_what_it_did():
    results: dict[int, int] = {}
    with pytest.raises(WorkerLostError) as error:
        run_in_processes(fails_on_two, [1, 2, 1], 1, results.__setitem__)
    assert (error.value.position, error.value.status) == (1, -signal.SIGKILL)
    assert results == {0: 1}


def test_an_error_stops_the_rest_which_return_what_they_have():
    """Ctrl-C does the same, pressed once both processes are at work."""
    results: dict[int, int] = {}
    with pytest.raises(ZeroDivisionError, match="three"):
        run_in_processes(fails_on_two, [4, 3, 1, 1], 2, results.__setitem__)
    assert set(results.items()) <= {(0, 40)}  # empty, if the error came before it began

    def press(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in_processes(fails_on_two, [4, 1], 1, results.__setitem__, press)
    assert results == {0: 40}
