"""The curve of CPU per allocation: its points change one thing, and their figures are medians."""

from benchmarks.speed.bridge_figures import Window
from benchmarks.speed.curve import BASE, POINTS, Point, point


def test_each_point_changes_one_dimension() -> None:
    """Beside slots and applications that a point needs to stay full, one number changes."""
    for changed in POINTS:
        assert changed.keys() <= BASE.keys()
        assert len(changed.keys() - {"slots"}) <= 1 or changed["applications"] == 400
    assert {name for changed in POINTS for name in changed} >= {
        "nodes", "applications", "queues", "shapes",
    }  # fmt: skip


def test_a_point_has_the_medians_of_its_windows() -> None:
    """Scheduling is what the scheduler's lock, the round thread and the policy process use."""
    windows = [
        Window("loomcard:drf", "saturated", i, 2.0, 1000, 10, cpu, {})
        for i, cpu in enumerate(
            [
                {"scheduler": 0.001, "round": 0.002, "python": 0.004, "gc": 0.010, "jit": 9.0},
                {"scheduler": 0.003, "round": 0.002, "python": 0.008, "gc": 0.001, "jit": 9.0},
                {"scheduler": 0.002, "round": 0.002, "python": 0.006, "gc": 0.005, "jit": 9.0},
            ]
        )
    ]
    assert point({"nodes": 7}, windows) == Point({"nodes": 7}, 500, 15.0, 10.0, 6.0)
