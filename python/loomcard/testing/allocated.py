"""A container as a test sees it."""

from __future__ import annotations

from dataclasses import dataclass

from loomcard.model.objects import Container

Key = tuple[int, int, int]
"""An ask's: application, priority, request id."""


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
        """Its application; a test's applications have one attempt, of the same number."""
        return self.attempt

    @classmethod
    def of(cls, c: Container) -> Allocated:
        """As the state has it."""
        return cls(
            c.number, c.attempt.number, c.node.number, tuple(c.size), c.ask_key, c.instance or 0,
            c.is_am,
        )  # fmt: skip
