"""Tests of when instances are called again."""

from loomcard.engine.timers import Timers


def test_what_is_due_rings_once_in_order_of_instances() -> None:
    timers = Timers({3: 10, 1: 10, 2: 11})
    assert timers.ring(10) == [1, 3]
    assert timers.ring(10) == []
    assert timers == {2: 11}


def test_only_what_changes_is_sent() -> None:
    """An instance that was not called keeps its timer. None removes a timer, and is not sent if
    there was none.
    """
    timers = Timers({1: 10, 2: 20, 3: 30})
    assert timers.take_over({1: 10, 2: None, 4: None, 5: 50}) == {2: None, 5: 50}
    assert timers == {1: 10, 3: 30, 5: 50}
