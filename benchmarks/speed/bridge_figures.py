"""What the windows of the bench of the seam add up to: rates, CPU per allocation, ratios."""

import statistics
from collections.abc import Callable, Sequence

import msgspec

# The simulated NodeManagers are the load, not the system; the JIT is done in a real, old RM.
NOT_COUNTED = frozenset({"nodes", "jit"})
GROUPS = ("scheduler", "round", "python", "dispatcher", "masters", "gc", "other", "jit", "nodes")


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One stretch of measuring in one JVM, as the Java side prints it.

    `cpu_seconds` is by group of threads, `wait_ms` holds p50, p99 and max from ask to allocate
    (paced phase only), `decided` counts our allocations by who decided since the start, and
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
        """Containers allocated a second of wall time."""
        return self.allocations / self.seconds

    def node_updates_per_s(self) -> float:
        """Node heartbeats handled by the scheduler a second of wall time."""
        return self.node_updates / self.seconds

    def cpu_us_per_allocation(self) -> float:
        """CPU of the ResourceManager and the policy process, in microseconds a container."""
        counted = sum(s for group, s in self.cpu_seconds.items() if group not in NOT_COUNTED)
        return counted * 1e6 / self.allocations

    def group_us_per_allocation(self, group: str) -> float:
        """CPU of one group of threads, in microseconds a container."""
        return self.cpu_seconds.get(group, 0.0) * 1e6 / self.allocations

    def wait(self, quantile: str) -> float:
        """`p50`, `p99` or `max` of the milliseconds from ask to allocate."""
        return self.wait_ms[quantile]


Figure = Callable[[Window], float]

# name in the last line -> (phase in which it is taken, figure)
RATIOS: dict[str, tuple[str, Figure]] = {
    "allocations_per_s": ("saturated", Window.allocations_per_s),
    "node_updates_per_s": ("saturated", Window.node_updates_per_s),
    "cpu_per_allocation": ("saturated", Window.cpu_us_per_allocation),
    "ask_to_allocated_p99": ("paced", lambda window: window.wait("p99")),
    "cpu_per_allocation_paced": ("paced", Window.cpu_us_per_allocation),
}


def spread(values: Sequence[float]) -> dict[str, float]:
    """Minimum, median and maximum of at least one value."""
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def of_phase(windows: Sequence[Window], scheduler: str, phase: str) -> list[Window]:
    """The windows of one scheduler in one phase, by round and window."""
    chosen = [w for w in windows if w.scheduler == scheduler and w.phase == phase]
    return sorted(chosen, key=lambda w: (w.round, w.window))


def ratios(windows: Sequence[Window], ours: str, theirs: str) -> dict[str, dict[str, float]]:
    """Our figures divided by theirs; window i of a round is paired with window i of that round."""
    result = {}
    for name, (phase, figure) in RATIOS.items():
        pairs = zip(of_phase(windows, ours, phase), of_phase(windows, theirs, phase), strict=True)
        values = [figure(mine) / figure(their) for mine, their in pairs]
        result[name] = {key: round(value, 3) for key, value in spread(values).items()}
    return result


def rows(windows: Sequence[Window]) -> list[tuple[str, str, Figure]]:
    """The lines of the table: title, phase, figure."""
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
