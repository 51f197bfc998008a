"""An engine for tests of experiments: it simulates the first seed and then waits for a stop."""

import os
import signal
import threading
from pathlib import Path

from loomcard.experiments.engines import Task, simulated
from loomcard.results.record import RunRecord
from waiting import wait_until

SIGNS = "STUBBORN_SIGNS"
"""The environment variable that names the folder where each waiting process leaves its id."""


def first_seed_then_wait(task: Task) -> RunRecord:
    """Simulate the first seed; a later seed shows that it has begun, and stops only on request."""
    record = simulated(task)
    if task.scenario.seed == 1:
        return record
    (Path(os.environ[SIGNS]) / str(os.getpid())).touch()
    record.finished = False
    try:
        _wait_for_request(task)
    except KeyboardInterrupt:
        return record
    raise AssertionError("nobody asked it to stop")


def deaf(task: Task) -> RunRecord:
    """Simulate the first seed; a later seed ignores every request, like a policy that hangs."""
    if task.scenario.seed == 1:
        return simulated(task)
    (Path(os.environ[SIGNS]) / str(os.getpid())).touch()
    threading.Event().wait()
    raise AssertionError("it was to wait for ever")


def raises_on_second(task: Task) -> RunRecord:
    """Raise for the second seed, so that one cell fails among good ones."""
    if task.scenario.seed == 2:
        raise ZeroDivisionError("a policy's own mistake")
    return simulated(task)


def dies_on_second(task: Task) -> RunRecord:
    """Kill the process at the second seed, as the system does when memory runs out."""
    if task.scenario.seed == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return simulated(task)


def _wait_for_request(task: Task) -> None:
    wait_until(lambda: task.notify(0), "the request to stop", pause_s=0.02)
