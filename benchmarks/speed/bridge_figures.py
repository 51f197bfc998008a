"""The sums over the windows of the bridge bench: rates, CPU per allocation, ratios."""

import statistics
from collections.abc import Callable, Sequence

import msgspec

# The simulated NodeManagers are the load, not the system; in a real, old RM the JIT has finished.
NOT_COUNTED = frozenset({"nodes", "jit"})
GROUPS = ("scheduler", "round", "python", "dispatcher", "masters", "gc", "other", "jit", "nodes")


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One window of a measurement in one JVM, as the Java side prints it.

    `cpu_seconds` is by group of threads; `wait_ms` has p50, p99 and max from ask to allocate (paced
    phase only); `decided` counts our allocations since the start by the part that decided, and the
    refusals.
    """

    scheduler: str
    phase: str
    window: int
    seconds: float
    allocations: int
    node_updates: int
    cpu_seconds: dict[str, float]
    wait_ms: dict[str, float]
    decided: dict[str, int] = {}
    round: int = 0

    def allocations_per_s(self) -> float:
        """Return the containers allocated per second of wall time."""
        return self.allocations / self.seconds

    def node_updates_per_s(self) -> float:
        """Return the node heartbeats that the scheduler handled per second of wall time."""
        return self.node_updates / self.seconds

    def cpu_us_per_allocation(self) -> float:
        """Return the CPU of the ResourceManager and the policy process, in microseconds per
        container.
        """
        counted = sum(s for group, s in self.cpu_seconds.items() if group not in NOT_COUNTED)
        return counted * 1e6 / self.allocations

    def group_us_per_allocation(self, group: str) -> float:
        """Return the CPU of one group of threads, in microseconds per container."""
        return self.cpu_seconds.get(group, 0.0) * 1e6 / self.allocations

    def wait(self, quantile: str) -> float:
        """Return `p50`, `p99` or `max` of the milliseconds from ask to allocate."""
        return self.wait_ms[quantile]


Figure = Callable[[Window], float]

# name in the last line -> (phase in which it is measured, figure)
RATIOS: dict[str, tuple[str, Figure]] = {
    "allocations_per_s": ("saturated", Window.allocations_per_s),
    "node_updates_per_s": ("saturated", Window.node_updates_per_s),
    "cpu_per_allocation": ("saturated", Window.cpu_us_per_allocation),
    "ask_to_allocated_p99": ("paced", lambda window: window.wait("p99")),
    "cpu_per_allocation_paced": ("paced", Window.cpu_us_per_allocation),
}


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return minimum, median and maximum of at least one value."""
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def of_phase(windows: Sequence[Window], scheduler: str, phase: str) -> list[Window]:
    """Return the windows of one scheduler in one phase, by round and window."""
    chosen = [w for w in windows if w.scheduler == scheduler and w.phase == phase]
    return sorted(chosen, key=lambda w: (w.round, w.window))


def ratios(windows: Sequence[Window], ours: str, theirs: str) -> dict[str, dict[str, float]]:
    """Return our figures divided by theirs; window i of a round is paired with window i of that
    round.
    """
    result = {}
    for name, (phase, figure) in RATIOS.items():
        pairs = zip(of_phase(windows, ours, phase), of_phase(windows, theirs, phase), strict=True)
        values = [figure(mine) / figure(their) for mine, their in pairs]
        result[name] = {key: round(value, 3) for key, value in spread(values).items()}
    return result


def rows(windows: Sequence[Window]) -> list[tuple[str, str, Figure]]:
    """Return the lines of the table: title, phase, figure."""
    table: list[tuple[str, str, Figure]] = [
        ("allocations/s", "saturated", Window.allocations_per_s),
        ("node updates/s", "saturated", Window.node_updates_per_s),
        ("CPU us/allocation", "saturated", Window.cpu_us_per_allocation),
    ]
    used = {group for window in windows for group in window.cpu_seconds}
    for group in (g for g in GROUPS if g in used):
        title = f"  {group} us" + (" (not counted)" if group in NOT_COUNTED else "")
        table.append((title, "saturated", _group(group)))
    table += [
        ("paced allocations/s", "paced", Window.allocations_per_s),
        ("ask to allocated p50 ms", "paced", lambda window: window.wait("p50")),
        ("ask to allocated p99 ms", "paced", lambda window: window.wait("p99")),
        ("paced CPU us/allocation", "paced", Window.cpu_us_per_allocation),
    ]
    return table


def _group(group: str) -> Figure:
    return lambda window: window.group_us_per_allocation(group)
