"""Containers in columns: the same rows come out as went in."""

from hypothesis import example, given
from hypothesis import strategies as st

from loomcard.results.container_rows import ContainerRow, ContainerRows
from loomcard.results.containers import container_frame
from loomcard.results.record import RunRecord

NAMES = st.sampled_from(["", "a", "b", "c"])
TIMES = st.none() | st.integers(-1, 10**13)
ROWS = st.lists(
    st.builds(
        ContainerRow, NAMES, NAMES, st.integers(-1, 9), st.integers(1, 4), NAMES, st.booleans(),
        st.tuples(st.integers(0, 9), st.integers(0, 9)), TIMES, TIMES, TIMES, NAMES,
    ),
    max_size=6,
)  # fmt: skip
NEVER_STARTED = ContainerRow("a", "", -1, 1, "n", True, (1, 0), 0, None, None, "")


@given(ROWS)
@example([NEVER_STARTED])
def test_rows_come_out_as_they_went_in(rows: list[ContainerRow]) -> None:
    """A sequence of rows, whatever of them has not happened."""
    columns = ContainerRows(rows)
    assert columns == rows
    assert [columns[i] for i in range(len(columns))] == rows
    assert columns[1:-1] == rows[1:-1]
    assert ContainerRows.of(columns) is columns
    assert columns != [*rows, NEVER_STARTED]


@given(ROWS)
@example([])
@example([NEVER_STARTED])
def test_a_table_is_the_same_from_rows_and_from_columns(rows: list[ContainerRow]) -> None:
    """What other engines give as a list of rows becomes the same table, and None is null."""

    def frame(containers: list[ContainerRow] | ContainerRows) -> list[tuple[object, ...]]:
        record = RunRecord("p", "w", 1, "simulator", ["memory_mb", "vcores"], [])
        record.containers = containers
        return container_frame(record).rows()

    found = frame(ContainerRows(rows))
    assert found == frame(rows)
    flat = [(*row[:6], *row.size, *row[7:]) for row in rows]
    assert sorted(found, key=str) == sorted(flat, key=str)
