"""Common code of the benches of single policies: simulated clusters whose jobs come when a load
wants them, and CPU times measured in turns.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import process_time
from typing import Any, Protocol, TypeVar

import msgspec

from loomcard.bridge.process import collect_garbage_less_often
from loomcard.config import compile_config
from loomcard.workload.scenario import Scenario

FAR_MS = 10**12
BEAT_MS = 1_000
Row = dict[str, float]
"""The measurements of one repeat, by name."""


class OfPolicy(Protocol):
    """A load with the name of its policy."""

    policy: str


Load = TypeVar("Load", bound=OfPolicy)


def far(wanted: Scenario) -> Scenario:
    """Move all submissions far into the future: the load decides when jobs come."""
    later = [msgspec.structs.replace(app, submit_ms=FAR_MS) for app in wanted.applications]
    return msgspec.structs.replace(wanted, applications=later)


def policy_config(policy: str) -> dict[str, Any]:
    """Return a policy configuration with one queue under ``policy``."""
    return compile_config(f"version: 1\nkind: policy\npolicy: {policy}\n", "bench.yml")


def timed(holder: Any, name: str, spent_ms: list[float]) -> None:
    """Note the CPU time of each call of a method."""
    method = getattr(holder, name)

    def measured(*given: Any) -> Any:
        began = process_time()
        found = method(*given)
        spent_ms.append((process_time() - began) * 1000)
        return found

    setattr(holder, name, measured)


def freeze() -> None:
    """Freeze the collector as the policy process does, so that it does not walk the simulator's
    workload.
    """
    gc.collect()
    collect_garbage_less_often()


def in_turns(
    loads: Sequence[Load], repeats: int, measured: Callable[[Load], Row]
) -> dict[str, list[Row]]:
    """Return what each load ``measured``, by policy: one after the other, in reverse order every
    second time.
    """
    found: dict[str, list[Row]] = {each.policy: [] for each in loads}
    for repeat in range(repeats):
        for each in loads[:: -1 if repeat % 2 else 1]:
            found[each.policy].append(measured(each))
    return found


def ratio(rows: Sequence[Mapping[str, float]], base: Sequence[Row], name: str) -> Row:
    """Return the spread of a figure divided by that of the same repeat under another policy."""
    return spread([row[name] / other[name] for row, other in zip(rows, base, strict=True)])


def spread(values: list[float]) -> Row:
    """Return minimum, median and maximum."""
    rounded = [round(value, 3) for value in values]
    return {"min": min(rounded), "median": median(rounded), "max": max(rounded)}


def spreads(rows: Sequence[Row]) -> dict[str, Row]:
    """Return the spread of every figure over the repeats."""
    return {name: spread([row[name] for row in rows]) for name in rows[0]}
