"""Small or large: which of the two categories a job belongs to (section IV-C, specification 2.2).

Vectors are amounts, one number a resource type, in the order of the cluster's.
"""

from __future__ import annotations

from collections.abc import Sequence

Vector = Sequence[float]

SD = "SD"
"""Small demand: category 1, for which a part of the cluster is reserved."""

LD = "LD"
"""Large demand: category 2, which has the rest."""

CATEGORIES = (SD, LD)
"""In the order in which ties between them go."""


def classify(r: float, tot: float, theta: float = 0.10) -> str:
    """LD if r > theta * Tot_R, else SD: a job that demands exactly the border is small.

    ``r``: the job's demand, ``tot``: the cluster, both in containers; the AM is not counted. The
    paper takes A_c for Tot_R, and every job would be large on a full cluster (defect 1). Rounded,
    for 0.29 * 100 is less than 29 in floating point.
    """
    return LD if r > round(theta * tot, 9) else SD


def classify_vector(demand: Vector, total: Vector, theta: float = 0.10) -> str:
    """``classify`` by dominant share, max_r demand_r / total_r > theta (specification 2.8).

    Amounts of each resource type. What is not asked for does not count; what is asked for and is
    nowhere in the cluster makes a job large.
    """
    pairs = zip(demand, total, strict=True)
    large = any(d > 0 and classify(d, t, theta) == LD for d, t in pairs)
    return LD if large else SD


def predicted_work(demand: Vector, task_ms: float | None, mean_ms: float | None) -> list[float]:
    """Demand, stretched by how long the job's tasks run compared with everybody's (extension).

    ``task_ms``: the mean of past tasks of this job, ``mean_ms``: of all; where one of them is
    None, nothing is known and the demand stands. Classified like a demand, a job is small that
    needs at most theta of the cluster for the time of a mean task.
    """
    stretch = task_ms / mean_ms if task_ms and mean_ms else 1.0
    return [d * stretch for d in demand]
