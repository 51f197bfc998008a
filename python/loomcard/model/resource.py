"""A vector of amounts: integers in the order of the cluster's resource types (memory_mb, vcores,
then others).
"""

from __future__ import annotations

from collections.abc import Sequence

from mypy_extensions import mypyc_attr

UNLIMITED = 1 << 62
"""In a limit, it means "no limit in this resource type"."""


@mypyc_attr(native_class=False)
class Resource(tuple[int, ...]):
    """An immutable vector of non-negative integer amounts, one for each resource type of the
    cluster.
    """

    __slots__ = ()

    @property
    def memory_mb(self) -> int:
        """Memory in MB."""
        return self[0]

    @property
    def vcores(self) -> int:
        """Virtual cores; 0 if the cluster has no such type."""
        return self[1] if len(self) > 1 else 0

    def plus(self, other: Sequence[int]) -> Resource:
        """Element-wise sum."""
        return Resource(a + b for a, b in zip(self, other, strict=True))

    def minus(self, other: Sequence[int]) -> Resource:
        """Element-wise difference; may be negative."""
        return Resource(a - b for a, b in zip(self, other, strict=True))

    def times(self, count: int) -> Resource:
        """Each amount multiplied by ``count``."""
        return Resource(a * count for a in self)

    def fits_in(self, room: Sequence[int]) -> bool:
        """Whether no amount of it exceeds the same amount of ``room``."""
        return fits(self, room)

    def least(self, other: Sequence[int]) -> Resource:
        """Element-wise minimum."""
        return Resource(map(min, self, other))


def fits(need: Sequence[int], room: Sequence[int]) -> bool:
    """Whether ``need`` <= ``room`` in every type. It is the most frequent call, so the code for two
    types is written out.
    """
    if len(need) == 2:
        return need[0] <= room[0] and need[1] <= room[1]
    return all(wanted <= free for wanted, free in zip(need, room, strict=True))


def room_for(size: Sequence[int], used: Sequence[int], limit: Sequence[int]) -> bool:
    """Whether ``limit`` allows one more container beside ``used``, in the types that it needs."""
    for wanted, taken, most in zip(size, used, limit):  # noqa: B905 - equal by construction
        if wanted and taken + wanted > most:
            return False
    return True


def short_of(used: Sequence[int], promised: Sequence[int]) -> bool:
    """Whether ``used`` is less than ``promised``, in each type that is promised at all."""
    some = False
    for taken, most in zip(used, promised):  # noqa: B905 - equal by construction
        if most:
            some = True
            if taken >= most:
                return False
    return some


def add_all(totals: list[list[int]], amounts: Sequence[int]) -> None:
    """Add ``amounts`` to each of ``totals`` in place; two types are written out, as in ``fits``."""
    if len(amounts) == 2:
        first, second = amounts
        for total in totals:
            total[0] += first
            total[1] += second
    else:
        for total in totals:
            for i, amount in enumerate(amounts):
                total[i] += amount


def subtract_all(totals: list[list[int]], amounts: Sequence[int]) -> None:
    """Subtract ``amounts`` from each of ``totals`` in place."""
    if len(amounts) == 2:
        first, second = amounts
        for total in totals:
            total[0] -= first
            total[1] -= second
    else:
        for total in totals:
            for i, amount in enumerate(amounts):
                total[i] -= amount


def share(used: Sequence[int], capacity: Sequence[int]) -> float:
    """Dominant share: the largest used/capacity over the resource types that the cluster has
    (Ghodsi et al., 2011). Two types are written out, as in ``fits``.
    """
    if len(used) == 2:
        (first, second), (whole, other) = used, capacity
        if whole > 0 and other > 0:
            share_of_first = first / whole
            return second / other if second > share_of_first * other else share_of_first
    largest = 0.0
    for amount, whole in zip(used, capacity):  # noqa: B905 - as above
        if whole > 0 and amount > largest * whole:
            largest = amount / whole
    return largest
