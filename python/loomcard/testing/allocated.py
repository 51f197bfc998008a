"""An allocated container, as tests see it."""

from __future__ import annotations

from dataclasses import dataclass

from loomcard.model.objects import Container

Key = tuple[int, int, int]
"""The key of an ask: application, priority, request id."""


@dataclass
class Allocated:
    """A live container."""

    number: int
    attempt: int
    node: int
    size: tuple[int, ...]
    ask: Key
    instance: int
    is_am: bool = False

    @property
    def app(self) -> int:
        """The number of its application, which is also the number of its only attempt."""
        return self.attempt

    @classmethod
    def of(cls, c: Container) -> Allocated:
        """Copy the facts of a container of the state."""
        return cls(
            c.number, c.attempt.number, c.node.number, tuple(c.size), c.ask_key, c.instance or 0,
            c.is_am,
        )  # fmt: skip
