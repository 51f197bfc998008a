"""The sums over the windows of the bridge bench: rates, CPU per allocation, ratios."""

import statistics
from collections.abc import Callable, Sequence

import msgspec

# The simulated NodeManagers are the load, not the system; in a real, old RM the JIT has finished.
NOT_COUNTED = frozenset({"nodes", "jit"})
GROUPS = ("scheduler", "round", "python", "dispatcher", "masters", "gc", "other", "jit", "nodes")


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One window of a measurement in one JVM, as the Java side prints it.

    `cpu_seconds` is by group of threads; `wait_ms` has p50, p99 and max from ask to allocate (not
    saturated); `rounds` counts our rounds; `decided` counts our allocations since the start by the
    part that decided, and the refusals.
    """

    scheduler: str
    phase: str
    window: int
    seconds: float
    allocations: int
    node_updates: int
    cpu_seconds: dict[str, float]
    wait_ms: dict[str, float]
    rounds: int = 0
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

HIGHER = frozenset({"allocations_per_s", "node_updates_per_s"})
"""The figures of which more is better."""

# name in the last line -> (phase in which it is measured, figure)
RATIOS: dict[str, tuple[str, Figure]] = {
    "allocations_per_s": ("saturated", Window.allocations_per_s),
    "node_updates_per_s": ("saturated", Window.node_updates_per_s),
    "cpu_per_allocation": ("saturated", Window.cpu_us_per_allocation),
    "ask_to_allocated_p99": ("paced", lambda window: window.wait("p99")),
    "cpu_per_allocation_paced": ("paced", Window.cpu_us_per_allocation),
    "ask_to_allocated_p99_light": ("light", lambda window: window.wait("p99")),
    "cpu_per_allocation_light": ("light", Window.cpu_us_per_allocation),
}


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return minimum, median and maximum of at least one value."""
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def of_phase(windows: Sequence[Window], scheduler: str, phase: str) -> list[Window]:
    """Return the windows of one scheduler in one phase, by round and window."""
    chosen = [w for w in windows if w.scheduler == scheduler and w.phase == phase]
    return sorted(chosen, key=lambda w: (w.round, w.window))


def ratios(
    windows: Sequence[Window], ours: str, theirs: Sequence[str]
) -> dict[str, dict[str, float | str]]:
    """Return our figures divided by those of the best of the others, measure by measure, and who
    that is; window i of a round is paired with window i of that round.
    """
    result: dict[str, dict[str, float | str]] = {}
    for name, (phase, figure) in RATIOS.items():
        best = _best(windows, name, theirs)
        pairs = zip(of_phase(windows, ours, phase), of_phase(windows, best, phase), strict=True)
        values = [figure(mine) / figure(their) for mine, their in pairs]
        rounded = {key: round(value, 3) for key, value in spread(values).items()}
        result[name] = {**rounded, "to": best}
    return result


def _best(windows: Sequence[Window], name: str, schedulers: Sequence[str]) -> str:
    """Return whose median of a figure is best."""
    phase, figure = RATIOS[name]

    def median(scheduler: str) -> float:
        return statistics.median(map(figure, of_phase(windows, scheduler, phase)))

    return (max if name in HIGHER else min)(schedulers, key=median)


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
    for phase in ("paced", "light"):
        table += [
            (f"{phase} allocations/s", phase, Window.allocations_per_s),
            ("  ask to allocated p50 ms", phase, lambda window: window.wait("p50")),
            ("  ask to allocated p99 ms", phase, lambda window: window.wait("p99")),
            ("  CPU us/allocation", phase, Window.cpu_us_per_allocation),
            ("  rounds/s", phase, lambda window: window.rounds / window.seconds),
        ]
    measured = {window.phase for window in windows}
    return [row for row in table if row[1] in measured]


def _group(group: str) -> Figure:
    return lambda window: window.group_us_per_allocation(group)
