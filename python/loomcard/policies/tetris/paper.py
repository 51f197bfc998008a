"""Tetris (Grandl et al., SIGCOMM 2014): the formulas of its sections 3.2 to 3.4. They run as they
stand; ``candidates`` keeps their values, ``policy`` chooses by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, fsum


def alignment(size: Sequence[int], free: Sequence[int], capacity: Sequence[int]) -> float:
    """sum_r (size_r / R_r) * (free_r / R_r), R the cluster's capacity (Grandl et al., 2014)."""
    return sum(s * f / (c * c) for s, f, c in zip(size, free, capacity, strict=True) if c)


def score(aligned: float, price: float, work: float) -> float:
    """alignment - m * eps_T * work: the better, the sooner; ``price`` is m * eps_T."""
    return aligned - price * work


def work_price(alignments: Iterable[tuple[float, int]], total_work: int) -> float:
    """eps_T = mean(alignment) / mean(remaining work) over the candidates: both terms weigh alike.

    ``alignments``: each with the count of candidates that have it; ``total_work``: of them all.
    """
    return fsum(a * count for a, count in alignments) / total_work if total_work else 0.0


def competing(fairness: float, count: int) -> int:
    """How many of ``count`` applications the knob f lets compete: max(1, ceil((1 - f) * n))."""
    return max(1, ceil((1 - fairness) * count))
