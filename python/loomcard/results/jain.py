"""Jain's index over dominant share divided by fair share, one value a window of 60 s.

With x_a the mean of application a's (dominant share / fair share) over the time in which it
demanded in the window, and n the applications that demanded in it:

    J = (sum of x_a)^2 / (n * sum of x_a^2);  1 where n < 2, and where nobody held anything.

The capped index has min(1, x_a) for x_a: an application that gets more than its fair share, since
others leave room, does not lower the index; one that gets less does.

An application's fair share is its leaf queue's (``results.fair_share``), divided equally among the
applications that demand there (Jain, Chiu, Hawe 1984, on what Ghodsi et al. 2011 call dominant
shares). While a queue's is nothing, its applications do not count.

A dominant share changes with its application's own containers only and a fair share with the
queue's, so that the integral of their quotient over a stretch is the share times the rise of the
queue's integral of 1/fair share: sums over sorted arrays, and no loop over time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from loomcard.results.containers import Capacity, Floats, Integers, Occupation, capacity, shares
from loomcard.results.fair_share import fair_shares
from loomcard.results.record import RunRecord

WINDOW_MS = 60_000
_CHUNK = 2_000_000  # marks that are handled together: bounds the memory, not the result


def jain(record: RunRecord, held: Occupation, between: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return Jain's index and the capped index of each window of 60 s from ``between[0]`` on; the
    last one may be shorter.
    """
    first, last = between
    windows = max(0, -(-(last - first) // WINDOW_MS))
    demand = _Demand(record, between)
    if not len(demand.begin):
        return np.ones(windows), np.ones(windows)
    sums = np.zeros((5, windows))  # applications; sum of x and of x^2, plain and capped
    for chosen in demand.chunks(held):
        x, window = _averages(demand, held, capacity(record), chosen)
        most_1 = np.minimum(x, 1)
        values = (np.ones_like(x), x, x * x, most_1, most_1 * most_1)
        for row, value in zip(sums, values, strict=True):
            row += np.bincount(window, value, minlength=windows)[:windows]
    count, plain, plain_squares, capped, capped_squares = sums
    return _index(count, plain, plain_squares), _index(count, capped, capped_squares)


def _index(count: Floats, total: Floats, squares: Floats) -> Floats:
    index = np.divide(total**2, count * squares, out=np.ones(len(count)), where=squares > 0)
    return np.where(count < 2, 1.0, index)


class _Demand:
    """When each application demanded, and every leaf queue's integrals of 1/fair share and of the
    time in which it has one.
    """

    def __init__(self, record: RunRecord, between: tuple[int, int]) -> None:
        self.first, self.last = between
        self.count = len(record.applications)
        rows = [
            (index, max(begin, self.first), min(end, self.last))
            for index, each in enumerate(record.applications)
            for begin, end in each.demanding
            if max(begin, self.first) < min(end, self.last)
        ]
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        self.application, self.begin, self.end = table.T
        leaves = sorted({each.queue for each in record.applications})
        number = {leaf: index for index, leaf in enumerate(leaves)}
        self.leaf = np.array([number[a.queue] for a in record.applications], dtype=np.int64)
        whole = capacity(record)
        changes = whole.from_ms[(whole.from_ms > self.first) & (whole.from_ms < self.last)]
        self.breaks = np.unique(np.concatenate([self.begin, self.end, changes]))
        counts = self._counts(len(leaves))
        amounts = whole.at(self.breaks).T
        cluster = dict(zip(record.resource_types, amounts, strict=True))
        part = fair_shares(record.queues, leaves, counts > 0, cluster)
        each = np.divide(counts, part, out=np.zeros_like(part), where=part > 0)
        self.rise = self._integrals(each)
        self.counted = self._integrals((part > 0).astype(float))  # ms

    def _counts(self, leaves: int) -> Integers:
        """Return by leaf and stretch between two breaks how many applications demand."""
        change = np.zeros((leaves, len(self.breaks)), dtype=np.int64)
        for times, sign in ((self.begin, 1), (self.end, -1)):
            np.add.at(change, (self.leaf[self.application], self.breaks.searchsorted(times)), sign)
        return change.cumsum(axis=1)

    def _integrals(self, rows: Floats) -> Floats:
        """Return for each row the integral from the first break to each break."""
        sums = (rows[:, :-1] * np.diff(self.breaks)).cumsum(axis=1)
        return np.concatenate([np.zeros((len(rows), 1)), sums], axis=1)

    def between(self, integrals: Floats, owner: Integers, begin: Integers, end: Integers) -> Floats:
        """Return how much the integral of each owner's leaf grows from ``begin`` to ``end``."""
        found, leaves = np.zeros(len(owner)), self.leaf[owner]
        for leaf, integral in enumerate(integrals):
            mine = leaves == leaf
            found[mine] = np.interp(end[mine], self.breaks, integral)
            found[mine] -= np.interp(begin[mine], self.breaks, integral)
        return found

    def chunks(self, held: Occupation) -> Iterator[tuple[int, int]]:
        """Yield ranges of applications with about ``_CHUNK`` marks together."""
        marks = np.zeros(self.count, dtype=np.int64)
        spans = (self.end - self.begin) // WINDOW_MS + 4
        np.add.at(marks, self.application, spans)
        np.add.at(marks, held.application, 2)
        group = marks.cumsum() // _CHUNK
        borders = [0, *(np.flatnonzero(np.diff(group)) + 1).tolist(), self.count]
        yield from pairwise(borders)


def _averages(
    demand: _Demand, held: Occupation, whole: Capacity, chosen: tuple[int, int]
) -> tuple[Floats, Integers]:
    """Return x of each (application, window) in which the application demanded and had a fair share
    of the cluster, and the window.
    """
    application, time, change = _marks(demand, held, whole, chosen)
    used = change[:, :-1].cumsum(axis=0)  # each application's changes add up to nothing
    demands = change[:, -1].cumsum() > 0
    interval = np.flatnonzero(demands[:-1] & (np.diff(time) > 0) & (np.diff(application) == 0))
    owner, begin, end = application[interval], time[interval], time[interval + 1]
    share = shares(used[interval], whole.at(begin)).max(axis=1, initial=0.0)
    weight = demand.between(demand.rise, owner, begin, end)
    spent = np.rint(demand.between(demand.counted, owner, begin, end))
    counts = spent > 0
    owner, begin, share, weight = owner[counts], begin[counts], share[counts], weight[counts]
    window = (begin - demand.first) // WINDOW_MS
    windows = int(window.max(initial=0)) + 1
    cells, cell = np.unique(owner * windows + window, return_inverse=True)
    integral = np.bincount(cell, share * weight)
    length = np.bincount(cell, spent[counts])
    return integral / length, cells % windows


def _marks(
    demand: _Demand, held: Occupation, whole: Capacity, chosen: tuple[int, int]
) -> tuple[Integers, Integers, Integers]:
    """Return the moments at which something changes for the chosen applications, sorted by both:
    the application, the moment, and the change (of its use by resource, or of whether it demands).
    """
    low, high = chosen
    mine = (held.application >= low) & (held.application < high)
    asked = (demand.application >= low) & (demand.application < high)
    owner, begin, end = demand.application[asked], demand.begin[asked], demand.end[asked]
    sizes, types = held.sizes[mine], held.sizes.shape[1]
    cuts = [_cuts(begin, end, *_grid(demand)), _cuts(begin, end, whole.from_ms)]
    application = [held.application[mine], held.application[mine], owner, owner]
    time = [held.from_ms[mine], held.to_ms[mine], begin, end]
    change = [_change(sizes, 0), _change(-sizes, 0)]
    change += [_change(np.zeros((len(owner), types), np.int64), sign) for sign in (1, -1)]
    for which, moments in cuts:
        application.append(owner[which])
        time.append(moments)
        change.append(np.zeros((len(which), types + 1), dtype=np.int64))
    applications, times = np.concatenate(application), np.concatenate(time)
    order = np.lexsort((times, applications))
    return applications[order], times[order], np.concatenate(change)[order]


def _change(sizes: Integers, demand: int) -> Integers:
    return np.column_stack([sizes, np.full(len(sizes), demand, dtype=np.int64)])


def _grid(demand: _Demand) -> tuple[Integers]:
    return (np.arange(demand.first, demand.last + WINDOW_MS, WINDOW_MS, dtype=np.int64),)


def _cuts(begin: Integers, end: Integers, moments: Integers) -> tuple[Integers, Integers]:
    """Return every (interval, moment) of which the moment lies inside the interval."""
    low = moments.searchsorted(begin, "right")
    count = np.maximum(moments.searchsorted(end, "left") - low, 0)
    which = np.repeat(np.arange(len(begin)), count)
    place = np.arange(len(which)) - np.repeat(count.cumsum() - count, count)
    return which, moments[low[which] + place]
