"""A stress scenario: a workload on a cluster, queues, events on the way, and the predicates; and a
policy's place in its queues.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from loomcard.api import registry
from loomcard.config import compile_config
from loomcard.stress.predicates import Predicate
from loomcard.workload.scenario import Scenario


class Candidate(NamedTuple):
    """A policy under stress: its name, or ``path/to/file.py:Class``, and its options."""

    policy: str
    options: Mapping[str, Any] = {}


@dataclass(frozen=True)
class StressScenario:
    """``about``: in a sentence; ``queues``: as the key of that name in a configuration, without
    policies (empty: root.default alone). ``swaps``: when the policy is swapped, and to which (None:
    back to the candidate). ``begins_under``: the policy that governs first, if it is not the
    candidate. ``hints``: by application, what its AM gives as LOOMCARD_DAG in place of its own
    stages. ``cheap``: it runs within a second, so that ``check_contract`` can afford it.
    """

    name: str
    about: str
    workload: Scenario
    requires: tuple[Predicate, ...]
    queues: Mapping[str, Any] = field(default_factory=dict)
    begins_under: str | None = None
    swaps: tuple[tuple[int, str | None], ...] = ()
    hints: Mapping[str, str] = field(default_factory=dict)
    cheap: bool = False

    def config(self, candidate: Candidate) -> dict[str, Any]:
        """Return the compiled configuration in which ``candidate`` governs these queues. A policy
        that walks the tree governs it from the root. A policy for applications governs each leaf,
        below drf. Any other policy governs every queue. Raises FindingsError and
        PolicyNotFoundError.
        """
        here = {"policy": candidate.policy, "options": dict(candidate.options)}
        cls = registry.find(candidate.policy)
        if not self.queues or getattr(cls, "walks_tree", False):
            top: dict[str, Any] = {**here, "queues": self.queues} if self.queues else here
        elif getattr(cls, "leaf_only", False):
            top = {"policy": "drf", "queues": _with_policy(self.queues, here, inner=False)}
        else:
            top = {**here, "queues": _with_policy(self.queues, here, inner=True)}
        return compile_config(json.dumps({"version": 1, **top}), f"stress scenario {self.name}")


def _with_policy(
    queues: Mapping[str, Any], policy: Mapping[str, Any], *, inner: bool
) -> dict[str, Any]:
    """Return the queues with the policy at each leaf, and at each ``inner`` queue."""
    found = {}
    for name, spec in queues.items():
        below = spec.get("queues")
        found[name] = {**spec, **(policy if inner or not below else {})}
        if below:
            found[name]["queues"] = _with_policy(below, policy, inner=inner)
    return found
