"""The tree that the paper's functions are about: plain values, no cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

Vector = Sequence[float]
"""Amounts, one number a resource type, in an order that a tree and its capacity share."""

SETTINGS = ("look_ahead", "static", "cap", "prose")
"""How children enter their parent (specification 2.6 and 2.9): ``look_ahead`` is for whole tasks on
servers, ``prose`` the letter of the paper.
"""


@dataclass(slots=True, eq=False)
class Node:
    """A queue (inner node) or whatever holds tasks (leaf); compared by identity."""

    name: str
    weight: float = 1.0
    """w[n]: positive, relative to its siblings."""
    children: list[Node] = field(default_factory=list)
    """C(n), in the order that breaks ties."""
    demand: tuple[float, ...] = ()
    """T[l] of a leaf: what one of its tasks takes, units a task."""
    used: list[float] = field(default_factory=list)
    """What it holds: of a leaf its tasks' sum, of an inner node its leaves'; [] is nothing yet."""
    wants: bool = True
    """A leaf is demanding: it wants more than it holds."""
    parent: Node | None = field(default=None, repr=False)
    """P(n); set when the parent is made."""

    def __post_init__(self) -> None:
        if self.weight <= 0:
            raise ValueError(f"{self.name}: a weight of {self.weight}; expected more than 0")
        for child in self.children:
            child.parent = self

    @property
    def leaf(self) -> bool:
        """It holds tasks itself."""
        return not self.children

    @property
    def demanding(self) -> bool:
        """It wants more than it holds; an inner node does when a child does."""
        return self.wants if self.leaf else any(child.demanding for child in self.children)

    def leaves(self) -> Iterator[Node]:
        """Those that hold tasks below it, itself if it does, from the first child to the last."""
        return (node for node in self.walk() if node.leaf)

    def walk(self) -> Iterator[Node]:
        """Itself and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def path(self) -> list[Node]:
        """From the root to itself."""
        return [self] if self.parent is None else [*self.parent.path(), self]
