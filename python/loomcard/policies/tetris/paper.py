"""Tetris (Grandl et al., SIGCOMM 2014): the formulas of its sections 3.2 to 3.4.

``candidates`` keeps their values, ``policy`` chooses by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, fsum


def alignment(size: Sequence[int], free: Sequence[int], capacity: Sequence[int]) -> float:
    """Return sum_r (size_r / R_r) * (free_r / R_r), R the cluster's capacity."""
    return sum(s * f / (c * c) for s, f, c in zip(size, free, capacity, strict=True) if c)


def score(aligned: float, price: float, work: float) -> float:
    """Return alignment - m * eps_T * work: the largest is placed first; ``price`` is m * eps_T."""
    return aligned - price * work


def work_price(alignments: Iterable[tuple[float, int]], total_work: int) -> float:
    """Return eps_T = mean(alignment) / mean(remaining work) over the candidates, so that both terms
    of the score have equal weight.

    ``alignments``: each with the count of candidates that have it; ``total_work``: of all of them.
    """
    return fsum(a * count for a, count in alignments) / total_work if total_work else 0.0


def competing(fairness: float, count: int) -> int:
    """Return how many of ``count`` applications the knob f admits: max(1, ceil((1 - f) * n))."""
    return max(1, ceil((1 - fairness) * count))
