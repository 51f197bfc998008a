"""Where the time between ask and allocation goes: the steps of each container of a traced run."""

import bisect
import csv
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

STEPS = (
    ("wake", "the AM's call, and the round before"),
    ("hold", "the batch is held back"),
    ("batch", "closed under YARN's lock and written"),
    ("hop", "to the policy process"),
    ("decode", ""),
    ("decide", "mirror and policy"),
    ("encode", ""),
    ("hop back", ""),
    ("read", "the plan"),
    ("commit", "up to this container"),
)
"""The steps in order, each with what it contains."""

Stamps = Sequence[int]


def steps_us(asked: int, stamps: Stamps) -> list[float]:
    """Return the microseconds that a container asked for at ``asked`` spent in each step.
    ``stamps`` are the ends of the steps in nanoseconds; what was over before the ask costs nothing.
    """
    ends = [max(asked, stamp) for stamp in stamps]
    starts = [asked, *ends]
    return [(end - start) / 1000 for start, end in zip(starts, ends, strict=False)]


def join(java: Path, python: Sequence[Stamps]) -> dict[str, list[list[float]]]:
    """Return the steps of each container by phase. The stamps of Java and of the policy process are
    of one clock, so a round's call contains the process's stamps of it.
    """
    received = [stamps[0] for stamps in python]
    found: dict[str, list[list[float]]] = {}
    with java.open(newline="") as rows:
        for phase, *numbers in csv.reader(rows):
            asked, woken, begun, sent, replied, read, allocated = map(int, numbers)
            at = bisect.bisect_left(received, sent)
            if at < len(python) and python[at][-1] <= replied:
                ends = (woken, begun, sent, *python[at], replied, read, allocated)
                found.setdefault(phase, []).append(steps_us(asked, ends))
    return found


def table(phase: str, containers: Sequence[Sequence[float]]) -> Table:
    """Return median, p99 and mean of each step, and of all."""
    result = Table(title=f"an ask at {phase} load: microseconds, {len(containers)} containers")
    for name in ("step", "", "median", "p99", "mean"):
        result.add_column(name, justify="right" if name in ("median", "p99", "mean") else "left")
    columns = [*zip(*containers, strict=True), [sum(steps) for steps in containers]]
    for (name, about), values in zip((*STEPS, ("all", "")), columns, strict=True):
        ordered = sorted(values)
        quantiles = (ordered[len(ordered) // 2], ordered[int((len(ordered) - 1) * 0.99)])
        cells = [f"{value:,.0f}" for value in (*quantiles, sum(ordered) / len(ordered))]
        result.add_row(name, about, *cells)
    return result
