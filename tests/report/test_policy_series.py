"""Plots of what policies reported over time."""

import re
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from loomcard.report import drawing
from loomcard.report.drawing import Plot
from loomcard.report.policy_series import SHOWN, reported_plots
from loomcard.report.runs import read_study
from loomcard.results.manifest import manifest
from loomcard.results.policy_series import StateRow
from loomcard.results.record import RunRecord
from loomcard.results.run_folder import write_run

PlotsOf = Callable[[list[StateRow]], list[Plot]]


@pytest.fixture
def plots_of(tmp_path: Path, run_of: Callable[..., RunRecord]) -> PlotsOf:
    """Return the plots of two policies' runs; one of the policies reported these rows."""

    def plots(rows: list[StateRow]) -> list[Plot]:
        new, old = run_of("new", 1), run_of("old", 1)
        new.states = rows
        write_run(tmp_path, [old, new], manifest({}))
        numbers = count()
        with drawing.styled():
            return list(reported_plots(read_study([tmp_path]).first("w"), lambda: next(numbers)))

    return plots


def row(at_ms: int, queue: str, panel: str, name: str, value: float) -> StateRow:
    return StateRow(at_ms, queue, panel, name, f"the {name}", "share", value)


def test_a_plot_a_panel_and_policy_with_a_box_a_queue(plots_of: PlotsOf) -> None:
    """Figures of one queue are side by side in one box; a policy that reported nothing has no
    plot.
    """
    rows = [
        row(at_ms, queue, "shares", name, 0.1 * index)
        for queue in ("root.a", "root.b")
        for index, name in enumerate(("plain", "attributed"))
        for at_ms in (0, 5_000)
    ]
    first, second = plots_of([*rows, row(0, "root", "delta", "delta", 0.5)])
    assert (first.title, second.title) == ("Shares, new", "Delta, new")
    for said in ("root.a", "root.b", "the plain", "the attributed"):
        assert said in first.svg
    assert "the delta" in second.svg
    assert "As new reported it (the delta: share); seed 1; time in seconds." in second.caption


def test_of_many_queues_those_that_moved_most(plots_of: PlotsOf) -> None:
    """One figure of many queues is one box, with a line per queue, and the caption says how many
    there are.
    """
    rows = [
        row(at_ms, f"root.q{index:02}", "use", "use", index * at_ms / 1e6)
        for index in range(SHOWN + 4)
        for at_ms in (0, 5_000)
    ]
    [plot] = plots_of(rows)
    named = set(re.findall(r"root\.q\d\d", plot.svg))
    assert named == {f"root.q{index:02}" for index in range(4, SHOWN + 4)}
    assert "Of 12 queues, the 8 that moved most." in plot.caption


@pytest.mark.parametrize("points", [1, 20_000])
def test_a_long_series_stays_small(plots_of: PlotsOf, points: int) -> None:
    """A plot has a limited number of moments; a single moment is enough."""
    [plot] = plots_of([row(i, "root", "p", "x", (i * 7919) % 100) for i in range(points)])
    assert len(plot.svg) < 30_000
