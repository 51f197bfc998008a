"""The sums over the windows of the bench."""

import json
from typing import Any

import msgspec
import pytest

from benchmarks.speed.bridge_figures import Window, of_phase, ratios, rows, spread

LINE = {
    "scheduler": "loomcard",
    "phase": "saturated",
    "window": 0,
    "seconds": 2.0,
    "allocations": 1000,
    "node_updates": 200,
    "cpu_seconds": {"scheduler": 0.02, "python": 0.01, "jit": 5.0, "nodes": 5.0},
    "wait_ms": {},
}


def window(**changes: Any) -> Window:
    return msgspec.json.decode(json.dumps(LINE | changes), type=Window)


def test_rates_are_per_second_of_wall_time() -> None:
    """Counts are divided by the seconds that the window really lasted."""
    assert (window().allocations_per_s(), window().node_updates_per_s()) == (500, 100)


def test_load_and_compiler_are_not_counted() -> None:
    """CPU per allocation includes neither the simulated nodes nor the JIT, but includes Python."""
    assert window().cpu_us_per_allocation() == pytest.approx(30)
    assert window().group_us_per_allocation("jit") == pytest.approx(5000)
    assert window().group_us_per_allocation("gc") == 0


def test_ratios_pair_window_with_window_of_the_same_round() -> None:
    """Window i of our JVM is divided by window i of their JVM in that round, in any order."""
    windows = []
    for number, (ours, theirs) in enumerate([(2000, 1000), (3000, 1000), (500, 1000)]):
        for scheduler, allocations in (("capacity", theirs), ("loomcard", ours)):
            windows.append(window(scheduler=scheduler, round=number, allocations=allocations))
            for phase in ("paced", "light"):
                paced = {"phase": phase, "wait_ms": {"p50": 1.0, "p99": allocations / 100}}
                windows.append(window(scheduler=scheduler, round=number, **paced))
    result = ratios(windows[::-1], "loomcard", ["capacity"])
    assert set(result) == {
        "allocations_per_s", "node_updates_per_s", "cpu_per_allocation", "ask_to_allocated_p99",
        "cpu_per_allocation_paced", "ask_to_allocated_p99_light", "cpu_per_allocation_light",
    }  # fmt: skip
    to = {"to": "capacity"}
    assert result["allocations_per_s"] == {"min": 0.5, "median": 2.0, "max": 3.0} | to
    assert result["cpu_per_allocation"] == {"min": 0.333, "median": 0.5, "max": 2.0} | to
    assert result["ask_to_allocated_p99"] == {"min": 0.5, "median": 2.0, "max": 3.0} | to


def test_each_measure_is_compared_with_the_best_of_the_others() -> None:
    """Another scheduler may be best at allocations than at waits."""
    windows = []
    for scheduler, allocations, p99 in (
        ("loomcard", 1000, 2.0), ("capacity", 2000, 4.0), ("capacity-async", 500, 1.0),
    ):  # fmt: skip
        windows.append(window(scheduler=scheduler, allocations=allocations))
        for phase in ("paced", "light"):
            waits = {"p50": 1.0, "p99": p99}
            windows.append(window(scheduler=scheduler, phase=phase, wait_ms=waits))
    result = ratios(windows, "loomcard", ["capacity", "capacity-async"])
    assert result["allocations_per_s"]["to"] == "capacity"
    assert result["allocations_per_s"]["median"] == 0.5
    assert result["ask_to_allocated_p99"]["to"] == "capacity-async"
    assert result["ask_to_allocated_p99"]["median"] == 2.0


def test_a_missing_window_is_no_ratio() -> None:
    """Windows that cannot be paired are an error, not a ratio over fewer windows."""
    with pytest.raises(ValueError, match="zip"):
        ratios([window(), window(scheduler="capacity"), window(window=1)], "loomcard", ["capacity"])


def test_an_unknown_field_is_refused() -> None:
    """Java and Python must agree on a line's fields."""
    with pytest.raises(msgspec.ValidationError):
        window(allocs=3)


def test_rows_show_every_group_that_used_cpu() -> None:
    """Every measured group of threads is shown, and those that do not count are marked."""
    titles = [title.strip() for title, _, _ in rows([window()])]
    assert "python us" in titles
    assert "jit us (not counted)" in titles
    assert "round us" not in titles


def test_phases_do_not_mix() -> None:
    """A saturated window never replaces a paced one."""
    both = [window(), window(phase="paced")]
    assert of_phase(both, "loomcard", "paced") == [both[1]]
    assert spread([3, 1, 2]) == {"min": 1, "median": 2, "max": 3}
