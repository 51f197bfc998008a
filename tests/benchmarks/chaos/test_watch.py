"""Which part of a wait `make chaos` attributes to the machine."""

import os

from benchmarks.chaos.watch import ProcessorWatch, waited_ms


def test_a_process_that_waits_for_a_processor_is_noted() -> None:
    """Waiting before the first look does not count, nor do small waits."""
    waited = {7: 500.0, 8: 0.0}
    watch = ProcessorWatch(lambda: waited, waited.__getitem__)
    watch.look(10_000, search=True)
    waited.update({7: 620.0, 8: 4.0})
    watch.look(10_200, search=False)
    assert watch.drain() == [[10_080, 120]]
    assert watch.drain() == []


def test_processes_that_come_and_go_are_followed() -> None:
    """A new process is found by the next search and counts from then on."""
    waited = {7: 0.0}
    watch = ProcessorWatch(lambda: waited, lambda pid: waited.get(pid, 0.0))
    watch.look(1_000, search=True)
    del waited[7]
    waited[8] = 900.0
    watch.look(2_000, search=True)
    waited[8] = 950.0
    watch.look(3_000, search=False)
    assert watch.drain() == [[2_950, 50]]


def test_the_figures_are_the_kernels() -> None:
    """A process has some; one that is gone has none."""
    assert waited_ms(os.getpid()) >= 0
    assert waited_ms(1 << 23) == 0
