"""One cell of the bench of the simulator, in a process of its own, so that its peak memory is its
own.

The cell comes as JSON on standard input; its figures go to standard output as one line of JSON.
"""

import resource
import sys
from time import perf_counter, process_time

import msgspec

from benchmarks.speed.simulator_load import Cell, config, scenario
from loomcard.simulator import simulate


class Figures(msgspec.Struct, frozen=True):
    """The cost of one cell: only the simulation itself is timed, the peak is that of the whole
    process. ``before_mb``: the peak before the simulation began, its workload included.
    """

    cell: Cell
    seconds: float
    cpu_seconds: float
    before_mb: int
    peak_mb: int
    simulated_s: float
    containers: int
    utilization: float  # use of the scarcest resource, over the whole run


def measure(cell: Cell) -> Figures:
    """Simulate a cell once. Raises ValueError if an application did not succeed."""
    given, compiled = scenario(cell), config(cell.policy)
    before_mb = _peak_mb()
    began, cpu = perf_counter(), process_time()
    record = simulate(given, compiled, policy=cell.policy)
    seconds, cpu_seconds = perf_counter() - began, process_time() - cpu
    if any(app.state != "SUCCEEDED" for app in record.applications):
        raise ValueError(f"{cell}: not every application has succeeded")
    used = [0, 0]
    for row in record.containers:
        for i, amount in enumerate(row.size):
            used[i] += amount * ((row.finished_ms or 0) - (row.started_ms or 0))
    whole = [amount * record.ended_ms for amount in record.capacity[-1][1]]
    return Figures(
        cell, round(seconds, 3), round(cpu_seconds, 3), before_mb, _peak_mb(),
        record.ended_ms / 1000, len(record.containers),
        round(max(u / w for u, w in zip(used, whole, strict=True)), 3),
    )  # fmt: skip


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    figures = measure(msgspec.json.decode(sys.stdin.buffer.read(), type=Cell))
    print(msgspec.json.encode(figures).decode())
