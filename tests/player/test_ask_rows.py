"""Which rows of an ask are sent to the ResourceManager, and which it knows by itself."""

import pytest

from loomcard.masters.stage import StageRun
from loomcard.player.ask_rows import AskRows
from scenarios import stage


def asked(*nodes: list[str]) -> tuple[AskRows, StageRun]:
    """Return the rows of a stage whose tasks all wait, each with wishes for these nodes."""
    run = StageRun(stage([100] * len(nodes), nodes=list(nodes)), lambda name: "/r" + name[1])
    rows = AskRows((1024, 1))
    for task in range(len(nodes)):
        run.add(task)
        rows.add(1, run)
    return rows, run


def test_each_task_counts_once_in_each_row():
    rows, _ = asked(["n1", "n2"], ["n1"])
    assert rows.changes() == {"*": 2, "/r1": 2, "/r2": 1, "n1": 2, "n2": 1}
    assert rows.changes() == {}


@pytest.mark.parametrize("wish", [[], ["n1"]])
def test_an_allocation_as_wished_sends_nothing(wish: list[str]):
    """The ResourceManager has counted it already."""
    rows, run = asked(wish, wish)
    rows.changes()
    rows.allocated("n1", "/r1")
    run.take("n1", "/r1")
    assert rows.changes() == {}
    assert rows.wanted == 1


def test_rows_of_a_wish_are_taken_back():
    """If a container went to another place than its task wished, the wish's rows are corrected."""
    rows, run = asked(["n1"], ["n2"])
    rows.changes()
    rows.allocated("n3", "/r3")
    run.take("n3", "/r3")  # the first task
    assert rows.changes() == {"/r1": 0, "n1": 0}


def test_an_allocation_of_an_ask_that_was_taken_back_sends_the_row_again():
    """Otherwise the ResourceManager's count would be too low."""
    rows, run = asked([])
    rows.changes()
    run.drop()
    rows.add(-1, run)
    assert rows.changes() == {"*": 0}
    rows.allocated("n1", "/r1")
    assert rows.changes() == {"*": 0}


def test_total_numbers_are_sent_if_they_changed():
    """A task that moves from one ask to another counts one less here, and nothing is sent twice."""
    rows = AskRows((1024, 1))
    rows.want(2, ({"n1": 1}, {"/r1": 1}))
    assert rows.changes() == {"*": 2, "/r1": 1, "n1": 1}
    rows.allocated("n2", "/r2")
    rows.want(1, ({"n1": 1}, {"/r1": 1}))
    assert rows.changes() == {}
    rows.want(0, ({}, {}))
    assert rows.changes() == {"*": 0, "/r1": 0, "n1": 0}
