"""When the ResourceManager allocated each container, from Loomcard's journal."""

from __future__ import annotations

from pathlib import Path

from loomcard.player.container_ids import ContainerKey
from loomcard.wire import messages
from loomcard.wire.decisions import allocated
from loomcard.wire.journal import rounds


class _Reader:
    """Follows numbers and ids through the segments of one epoch, which share their numbers."""

    def __init__(self, epoch_ms: int) -> None:
        self.epoch_ms = epoch_ms
        self.allocated: dict[ContainerKey, int] = {}
        self._applications: dict[int, str] = {}
        self._attempts: dict[int, tuple[str, int]] = {}
        self._plan: tuple[int, messages.PlanReply] | None = None  # when the plan was requested

    def round(self, batch: messages.Batch, plan: messages.PlanReply) -> None:
        """Read one round."""
        for record in batch.records:
            self._hear(record)
        self._plan = (batch.now_ms, plan)

    def _hear(self, record: messages.AnyRecord) -> None:
        match record:
            case messages.ApplicationAddedRecord():
                self._applications[record.application] = record.id
            case messages.AttemptAddedRecord():
                owner = self._applications[record.application]
                self._attempts[record.attempt] = (owner, record.number)
            case messages.ContainerAddedRecord():
                self._keep(record.attempt, record.number, record.at_ms)
            case messages.OutcomesRecord():
                self._outcomes(record)
            case _:
                pass

    def _outcomes(self, outcomes: messages.OutcomesRecord) -> None:
        if self._plan is None or self._plan[1].round != outcomes.round:
            return  # the plan was never written
        at_ms, plan = self._plan
        for decision, _, yarn_number in allocated(plan.decisions, outcomes):
            self._keep(decision.attempt, yarn_number, at_ms)

    def _keep(self, attempt: int, number: int, at_ms: int) -> None:
        application, ordinal = self._attempts[attempt]
        self.allocated.setdefault((application, ordinal, number), self.epoch_ms + at_ms)


def allocated_ms(journal_dir: Path) -> dict[ContainerKey, int]:
    """Return by container, in ms since 1970, when the plan that allocated it was requested. Raises
    JournalError.
    """
    readers: dict[int, _Reader] = {}
    for each in rounds(journal_dir):
        epoch_ms = each.segment.hello.epoch
        reader = readers.setdefault(epoch_ms, _Reader(epoch_ms))
        reader.round(each.batch, each.plan)
    return {key: at_ms for reader in readers.values() for key, at_ms in reader.allocated.items()}
