"""Whether room is left for the outstanding asks, and thus why a turn took nothing."""

from __future__ import annotations

from collections.abc import Container

from loomcard.api.view import NO_FIT, WITHHELD
from loomcard.engine.instance import Instance
from loomcard.model.fit_index import Shape
from loomcard.model.limits import forbids_all
from loomcard.model.placement import place
from loomcard.model.queue import Queue
from loomcard.model.resource import Resource
from loomcard.model.state import ClusterState


class LeftRoom:
    """What is known about the room left in one stage of a round; no room is freed in a stage."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self.forget()
        self._fitting: Shape | None = None  # a shape that was found to fit somewhere

    def forget(self) -> None:
        """Forget what is known: another stage begins, or allocations were taken back."""
        self._none = False

    def is_none(self, exhausted: Container[Shape]) -> bool:
        """Whether no outstanding ask fits; shapes in ``exhausted`` are known not to fit."""
        if not self._none:
            first, some = self._state.fit_indexes.first, self._fitting
            if some is not None and first(*some) is not None:
                return False
            left = (shape for shape in self._state.shapes if shape not in exhausted)
            self._fitting = next((shape for shape in left if first(*shape) is not None), None)
            self._none = self._fitting is None
        return self._none

    def stopped(self, instance: Instance, exhausted: Container[Shape]) -> str:
        """Why an instance took nothing: nothing fits, or its policy withheld its asks."""
        allowance = instance.view._allowance
        assert allowance is not None
        if instance.asks_again or instance.asks_below or self.is_none(exhausted):
            return NO_FIT
        limited: dict[tuple[Queue, Resource, bool], bool] = {}  # all asks of one kind, by a leaf
        for ask in instance.view.asks:
            kind = ask.application.queue, ask.size, ask.is_am
            if kind not in limited:
                limited[kind] = forbids_all(*kind)
            if limited[kind]:
                continue
            may = allowance.allows(ask.size) and self._state.limited(ask) is None
            if may and place(self._state, ask) is not None:
                return WITHHELD
        return NO_FIT


def could_lend(state: ClusterState, lender: str = "") -> bool:
    """Whether a container of some ask without a label fits on a shared node, of one ``lender``."""
    shared, fit_indexes = state.partitions.shared, state.fit_indexes
    sizes = (size for size, label in state.shapes if not label)
    return any(fit_indexes.lent(size, shared, lender) is not None for size in sizes)
