"""How long shapes and asks wait: since when each shape, and each ask, has got no container."""

from __future__ import annotations

from collections.abc import Sequence

from loomcard.model.fit_index import Shape
from loomcard.model.objects import Ask, Container, ShapeWait


class ShapeWaits:
    """The wait of each shape that is asked for, and how long containers have run."""

    def __init__(self, types: int) -> None:
        self.now_ms = 0  # of the batch; the time at which its asks came
        self.taken_ms = [-1] * types  # when a container that uses a resource type was allocated
        self.ran = [0, 0]  # tasks that completed, and the ms that they ran together
        self.masters_ran = [0, 0]  # the same of AMs that ended
        self.of: dict[Shape, ShapeWait] = {}

    def changed(self, ask: Ask, shape: Shape, asks: int) -> None:
        """Note that ``ask`` began or ceased to be outstanding; ``asks`` of its shape now are."""
        if not asks:
            del self.of[shape]
        elif ask.count:
            wait = self.of.get(shape)
            if wait is None:
                wait = self.of[shape] = ShapeWait(self.now_ms)
            ask.shape_wait, ask.since_ms = wait, self.now_ms

    def served(self, ask: Ask, now_ms: int) -> None:
        """Note that ``ask`` got a container."""
        ask.shape_wait.served_ms = ask.since_ms = now_ms
        taken_ms = self.taken_ms
        for index, amount in enumerate(ask.size):
            if amount:
                taken_ms[index] = now_ms

    def passed_over(self, since_ms: int, *, others: bool = True) -> dict[Shape, Sequence[int]]:
        """The shapes that got nothing since ``since_ms``, each with the resource types that it asks
        for and of which no other shape got any since; ``others``: only if other shapes got some,
        otherwise whatever they got.
        """
        if not others:
            return {shape: () for shape, wait in self.of.items() if wait.served_ms <= since_ms}
        latest_ms = max(self.taken_ms)
        return {
            shape: [
                index
                for index, (amount, ms) in enumerate(zip(shape[0], self.taken_ms, strict=True))
                if amount and ms <= wait.served_ms
            ]
            for shape, wait in self.of.items()
            if wait.served_ms <= since_ms and wait.served_ms < latest_ms
        }

    def ended(self, container: Container, kind: str, now_ms: int) -> None:
        """Count the run time of a container that ended, as an estimate for others."""
        if container.started_ms is None:
            return
        if container.is_am:
            sums = [self.masters_ran]
        else:
            sums = [container.application.ran, self.ran] if kind == "completed" else []
        for ran in sums:
            ran[0] += 1
            ran[1] += now_ms - container.started_ms
