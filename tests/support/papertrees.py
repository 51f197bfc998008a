"""The trees of the H-DRF paper's examples, and a class that runs them."""

from itertools import chain, cycle, islice

from benchmarks.hdrf_pool import ROUNDS, Pool, churn, fill
from loomcard.policies.hdrf.paper import Node


def tree(spec: dict, weights: dict[str, float] | None = None, name: str = "root") -> Node:
    """Return the tree of a dict such as {"n1": {"a": (1, 0)}, "b": (0, 1)}. A tuple is a leaf's
    demand; a weight that ``weights`` does not name is 1.
    """
    weight = (weights or {}).get(name, 1.0)
    if isinstance(spec, tuple):
        return Node(name, weight, demand=spec)
    return Node(name, weight, [tree(below, weights, child) for child, below in spec.items()])


FIG_4 = {"n1": {"n1,1": (1, 0)}, "n2": {"n2,1": (1, 0), "n2,2": (0, 1)}}
FIG_4_BOTH = {"n1": {"n1,1": (1, 1)}, "n2": {"n2,1": (1, 0), "n2,2": (0, 1)}}
JOINT = {"a": (1, 0), "b": (0, 1), "c": (1, 1)}
FIG_5 = {"n1": {"n1,1": (1, 0)}, "n2": {"n2,1": (1, 0)},
         "n3": {"n3,1": (1, 0), "n3,2": (0, 1)}, "n4": {"n4,1": (0, 1)}}  # fmt: skip
FIG_6 = {"n1": {"n1,1": (3, 2)}, "n2": {"n2,1": (1, 1), "n2,2": (1, 3)}}
SMALL_TASKS = {"n1": {"n1,1": (10, 0)}, "n2": {"n2,1": (10, 1), "n2,2": (0, 1)}}
BOTH_FULL = {"a": {"a1": (1, 0), "a2": (0, 1)}, "b": {"b1": (1, 0), "b2": (0, 1)}}
BOTH_FULL_WEIGHTS = {"a2": 2.0, "b1": 2.0}


class Running:
    """A tree that has filled its servers under one rule. Capacities of servers are in units."""

    def __init__(
        self, rule: str, root: Node, *servers: tuple[float, ...], headroom: bool = True,
        reserve: bool = False,
    ) -> None:  # fmt: skip
        self.rule, self.pool = ROUNDS[rule], Pool(root, servers, headroom, reserve)
        self.leaves = {leaf.member: leaf for leaf in root.leaves()}
        self.fill()

    @property
    def tasks(self) -> list[int]:
        return list(self.pool.tasks().values())

    def fill(self) -> None:
        fill(self.pool, self.rule)

    def churn(self, rounds: int) -> None:
        """End one task of each leaf in turn, for this many rounds."""
        turns = islice(cycle(self.leaves.values()), rounds * len(self.leaves))
        churn(self.pool, self.rule, turns)

    def stop(self, name: str) -> None:
        """End the leaf's job: all its tasks end, one after the other."""
        leaf = self.leaves[name]
        leaf.wants = False
        churn(self.pool, self.rule, chain([leaf] * len(self.pool.running[leaf])))
