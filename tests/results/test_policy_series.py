"""Time series of what policies reported: numbers with a panel, thinned in the same way for any
order.
"""

from typing import Any

import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st

from loomcard.results.policy_series import StateRow, States, state_frame


def figure(name: str, value: Any, panel: str = "p") -> dict[str, Any]:
    return {"name": name, "label": f"the {name}", "unit": "share", "panel": panel, "value": value}


def test_numbers_with_a_panel_are_kept_and_nothing_else() -> None:
    """The last of one moment is kept; texts, booleans, lists and unknown values are skipped."""
    states = States()
    passed = [figure("b", "x"), figure("c", True), figure("d", None), figure("e", [1])]
    states.add(5, "root.a", [figure("a", 0.5), *passed, figure("f", 1, panel="")])
    states.add(5, "root.a", [figure("a", 1)])
    states.add(9, "root.a", [figure("a", 2)])
    where = ("root.a", "p", "a", "the a", "share")
    assert states.rows() == [StateRow(5, *where, 1.0), StateRow(9, *where, 2.0)]
    frame = state_frame(states.rows())
    assert frame.columns == list(StateRow._fields)
    assert (frame["at_ms"].dtype, frame["value"].dtype) == (pl.Int64, pl.Float64)


@example(reports=[(0, "a"), (0, "b"), (1, "a")], most=2)  # the stretch is as long as the run
@given(
    st.lists(st.tuples(st.integers(0, 5000), st.sampled_from("ab")), min_size=1, max_size=200),
    st.integers(2, 50),
)
def test_a_long_run_stays_small_and_ends_where_it_ended(
    reports: list[tuple[int, str]], most: int
) -> None:
    """The number of rows is limited, and each figure's last value is kept. The last row of each
    stretch is kept; stretches have one length for all.
    """
    states, last = States(most), {}
    for at_ms, queue in sorted(reports):
        states.add(at_ms, queue, [figure("x", at_ms)])
        last[queue] = at_ms
    rows = states.rows()
    assert len(rows) <= most
    assert {row.queue: row.at_ms for row in rows} == last
    interval = states._interval_ms
    want = {(queue, at_ms // interval): at_ms for at_ms, queue in sorted(reports)}
    assert {(row.queue, row.at_ms // interval): row.at_ms for row in rows} == want
    assert len(rows) == len(want)
    if interval > 1:  # no coarser than necessary
        finer = {(queue, at_ms // (interval // 2)) for at_ms, queue in reports}
        assert len(finer) > most or len(rows) > most // 2
