"""Tests of what waits for a time: the asks that a rule keeps, the root's timer, and the rest of a
policy that raised.
"""

from compiled import config, queue
from loomcard.api.pending_plan import PendingPlan
from loomcard.engine.far_end import FarEnd
from loomcard.engine.fifo_fallback import FifoFallback
from loomcard.engine.mirror import Mirror
from loomcard.engine.waits import end_rule_waits, wake_for_waits
from loomcard.model.objects import Ask, AskKey
from loomcard.wire import messages as r


def with_asks(count: int) -> tuple[Mirror, list[Ask]]:
    """Return a mirror at 500 ms with two nodes and asks of as many applications, which fit."""
    queues = config(queue("root", "fifo"), queue("root.a", "fifo"))
    far_end = FarEnd("test", ["memory_mb", "vcores"], queues, {})
    for node in (1, 2):
        far_end.send(r.NodeAddedRecord(0, node, f"n{node}:1", "/r", (4096, 4)))
    for app in range(1, count + 1):
        name = f"application_1_{app:04d}"
        far_end.send(r.ApplicationAddedRecord(0, app, name, 1, "u", "", "T", [], 0, 0, {}))
        far_end.send(r.AttemptAddedRecord(0, app, app, 1, True))
        far_end.send(r.AskChangedRecord(0, app, 20, 0, False, (1024, 1), 1, {}, {}, True, ""))
    mirror = Mirror(["memory_mb", "vcores"], ["reservations"])
    mirror.apply(far_end.batch(500))
    asks = [mirror.state.attempts[n].asks[AskKey(n, 20, 0)] for n in range(1, count + 1)]
    for ask in asks:
        ask.reported_reason = "LATER"
    return mirror, asks


def test_what_a_rule_kept_until_now_has_no_reason_any_more_and_is_looked_at():
    """Its reason is reported anew, whether it is served or not; later waits are left alone."""
    mirror, (ended, later) = with_asks(2)
    changed = dict.fromkeys([])
    leaf = mirror.state.queues[1]
    leaf.watchers.append(changed)
    mirror.state.rule_waits.put(ended, 500)
    mirror.state.rule_waits.put(later, 501)
    end_rule_waits(mirror)
    assert (ended.reported_reason, later.reported_reason) == (None, "LATER")
    assert list(changed) == [ended.application]
    assert mirror.state.rule_waits.next_ms() == 501


def test_a_queue_whose_wait_ends_asks_again_and_what_is_gone_does_not():
    """The wait of an attempt or an ask that has ended ends without an effect."""
    mirror, (one, gone) = with_asks(2)
    state = mirror.state
    changed = dict.fromkeys([])
    state.queues[0].watchers.append(changed)
    for waiting in (state.queues[1], one, gone):
        state.rule_waits.put(waiting, 400)
    state.demand(one, 0)
    changed.clear()
    del state.attempts[2]
    end_rule_waits(mirror)
    assert list(changed) == [state.queues[1]]
    assert (one.reported_reason, gone.reported_reason) == ("LATER", "LATER")


def test_the_root_wakes_at_the_earliest_time_that_is_waited_for():
    """Of reservations with an end, and of rules; at once if room was given back; else not."""
    mirror, (first, second) = with_asks(2)
    state = mirror.state

    def woken(*, given_back: bool = False) -> dict[int, int | None]:
        pending = PendingPlan(state, 500)
        wake_for_waits(pending, given_back=given_back)
        return pending.wakes

    assert woken() == {}
    state.reservations.put(first, state.nodes[1], 500, None)
    assert woken() == {}
    state.reservations.put(second, state.nodes[2], 500, 900)
    assert woken() == {0: 900}
    state.rule_waits.put(first, 800)
    assert woken() == {0: 800}
    state.rule_waits.put(first, 950)
    assert woken() == {0: 900}
    assert woken(given_back=True) == {0: 501}


def test_an_earlier_time_of_the_root_stays():
    pending = PendingPlan(with_asks(1)[0].state, 500)
    pending.wake_root(100)
    pending.wake_root(200)
    assert pending.wakes == {0: 600}
    pending.wake_root(50)
    assert pending.wakes == {0: 550}


def test_a_policy_that_raises_rests_twice_as_long_each_time_up_to_five_minutes():
    """A second at first; 20 calls without a fault make the next fault the first one again."""
    fallback = FifoFallback()
    assert [fallback.fault(7) for _ in range(12)] == [
        *(1000 << n for n in range(9)), 300_000, 300_000, 300_000,
    ]  # fmt: skip
    assert fallback.is_serving(300_006)
    assert not fallback.is_serving(300_007)
    for _ in range(19):
        fallback.worked()
    assert fallback.fault(0) == 300_000
    for _ in range(20):
        fallback.worked()
    assert (fallback.faults, fallback.good) == (0, 0)
    assert fallback.fault(100) == 1000
    assert fallback.is_serving(1099)
    assert not fallback.is_serving(1100)


def test_a_journal_restores_how_long_a_policy_rests():
    fallback, again = FifoFallback(), FifoFallback()
    assert fallback.state() is None
    fallback.fault(0)
    fallback.worked()
    again.restore(fallback.state())
    assert (again.faults, again.good, again.until_ms) == (1, 1, 1000)
    again.restore(None)
    assert again.state() == fallback.state()
