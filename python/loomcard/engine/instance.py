"""One policy at one queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loomcard.api import registry
from loomcard.api.pending_plan import PendingPlan
from loomcard.api.plan import Plan
from loomcard.api.view import ClusterView
from loomcard.engine.fifo_fallback import FifoFallback
from loomcard.engine.mirror import Mirror
from loomcard.model.queue import Queue


class Instance:
    """A policy with its memory, its view of the cluster and the state of its round."""

    def __init__(self, queue: Queue, make: Callable[[], Any], mirror: Mirror) -> None:
        self.queue = queue
        self.key = f"{queue.path}:{queue.policy}"
        self._make = make
        self.policy: Any = None  # until it is built
        self.takes_memory = self.asks_again = False
        self.asks_below = False  # the policy of a queue below asks again
        self.fallback = FifoFallback()
        self.memory: Any = None
        self.has_memory = False
        self.faulty = False  # it raised in this round
        self.untried = True  # neither called nor tried
        self.called = False  # in this round
        self.cut = False  # its time in this round has ended
        self.exhausted = False  # its last turn of this round did not take all that it was offered
        self.plan: Plan | None = None  # of this round, if later turns continue with it
        self.reported_ms: int | None = None
        self.view = ClusterView(mirror.state, queue, PendingPlan(mirror.state, 0))

    def build(self) -> None:
        """Build its policy. Raises PolicyNotFoundError, and whatever the constructor raises."""
        policy = self._make()
        self.takes_memory = registry.takes_memory(policy)
        # A policy that waits for heartbeats can take at each of them what it left before.
        hears = "heartbeats" in getattr(policy, "needs", ())
        self.asks_again = hears or bool(getattr(policy, "asks_again", False))
        self.policy = policy

    def drop_plan(self) -> None:
        """Let go of the round's plan. It and what its ``go_on`` runs refer to each other: left like
        this, they would wait for the garbage collector, which stops some later round for longer.
        """
        if self.plan is not None:
            self.plan.go_on = None
            self.plan = None

    def save(self) -> Any:
        """The durable part of its memory, or None."""
        save = getattr(self.policy, "save", None)
        return save(self.memory) if save is not None and self.has_memory else None
