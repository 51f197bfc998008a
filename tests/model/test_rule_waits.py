"""An ask or queue that waits by a policy's rule is looked at again when the rule's time ends."""

from loomcard.model.objects import Application, Ask, AskKey, Attempt
from loomcard.model.queue import Queue
from loomcard.model.resource import Resource
from loomcard.model.rule_waits import RuleWaits


def ask(priority: int) -> Ask:
    """Return an ask of one attempt; two asks of one priority have one key."""
    queue = Queue(2, {"path": "root.a", "leaf": True, "policy": None, "weight": 1.0}, None, 2)
    attempt = Attempt(7, Application(1, "application_1_0001", queue, "alice"), 1, False)
    return Ask(attempt, AskKey(7, priority, 0), Resource([1024, 1]))


def test_waits_end_in_the_order_of_their_times():
    """The wait that ends first comes first; a wait that is put again ends only at its new time."""
    waits, first, second = RuleWaits(), ask(1), ask(2)
    waits.put(first, 500)
    waits.put(second, 300)
    waits.put(first, 200)
    waits.put(second, 400)
    assert waits.next_ms() == 200
    assert waits.take_over(199) == []
    assert waits.take_over(500) == [(7, 1, 0), (7, 2, 0)]
    assert (waits.next_ms(), waits.until_ms(first)) == (None, 0)


def test_another_reason_takes_a_wait_back():
    """A reason without a rule ends the wait, and the ask is not looked at again because of it."""
    waits, one = RuleWaits(), ask(1)
    waits.put(one, 500)
    assert waits.until_ms(one) == 500
    waits.drop(one)
    assert (waits.until_ms(one), waits.next_ms(), waits.take_over(1000)) == (0, None, [])


def test_a_queue_waits_beside_the_asks_of_that_number():
    """A queue and an ask are distinct; an ask that is added again under its key is the same
    wait.
    """
    waits = RuleWaits()
    waits.put(ask(1), 500)
    waits.put(ask(1), 500)
    waits.put(ask(1).application.queue, 500)
    assert waits.rows() == [(-1, 2, 0, 500), (7, 1, 0, 500)]
    assert waits.take_over(500) == [(-1, 2, 0), (7, 1, 0)]


def test_a_journal_restores_them():
    """Restored waits end like those that they were restored from."""
    waits, again = RuleWaits(), RuleWaits()
    for priority, until_ms in ((1, 400), (2, 300), (1, 250)):
        waits.put(ask(priority), until_ms)
    again.restore(waits.rows())
    assert again.rows() == waits.rows()
    assert again.take_over(275) == waits.take_over(275) == [(7, 1, 0)]
    assert again.next_ms() == waits.next_ms() == 300
