"""How long shapes and asks wait: since when each shape, and each ask, has got no container."""

from __future__ import annotations

from loomcard.model.fit_index import Shape
from loomcard.model.objects import Ask, Container, ShapeWait


class ShapeWaits:
    """The wait of each shape that is asked for, and how long containers have run."""

    def __init__(self) -> None:
        self.now_ms = 0  # of the batch; the time at which its asks came
        self.served_ms = -1  # when a container was last allocated
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

    def passed_over(self, since_ms: int, *, others: bool = True) -> set[Shape]:
        """The shapes that got nothing since ``since_ms``; ``others``: only if other shapes did."""
        return {
            shape
            for shape, wait in self.of.items()
            if wait.served_ms <= since_ms and (wait.served_ms < self.served_ms or not others)
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
