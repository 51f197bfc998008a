"""The containers of a run, kept in columns: a simulation may have ten million of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, overload

NEVER = -(2**63)
"""The time, in a column, of what did not happen."""


class ContainerRow(NamedTuple):
    """One container, as one row of containers.parquet. None: it did not happen."""

    application: str
    stage: str  # "" for an AM's
    task: int  # -1 for an AM's, and for an executor's
    attempt: int  # of the task, from 1
    node: str
    is_am: bool
    size: tuple[int, ...]
    allocated_ms: int | None  # allocated by the scheduler
    started_ms: int | None  # RUNNING on its node
    finished_ms: int | None
    kind: str  # completed, failed, killed, released, expired, lost, preempted, or "" while it runs


class ContainerRows(Sequence[ContainerRow]):
    """Rows in columns: a list or an array for each field, a third of the memory of a list of rows.

    Names, sizes and kinds are kept as they are given; equal objects should be the same.
    """

    __slots__ = ContainerRow._fields

    def __init__(self, rows: Iterable[ContainerRow] = ()) -> None:
        self.application: list[str] = []
        self.stage: list[str] = []
        self.task = array("q")
        self.attempt = array("q")
        self.node: list[str] = []
        self.is_am = array("b")
        self.size: list[tuple[int, ...]] = []
        self.allocated_ms = array("q")
        self.started_ms = array("q")
        self.finished_ms = array("q")
        self.kind: list[str] = []
        for row in rows:
            self.append(row)

    @classmethod
    def of(cls, rows: Sequence[ContainerRow]) -> ContainerRows:
        """Return the rows in columns; those that are in columns as they are."""
        return rows if isinstance(rows, cls) else cls(rows)

    def append(self, row: ContainerRow) -> None:
        """Add a container at the end."""
        app, stage, task, attempt, node, is_am, size, allocated, started, finished, kind = row
        self.task.append(task)
        self.attempt.append(attempt)
        self.is_am.append(is_am)
        self.allocated_ms.append(NEVER if allocated is None else allocated)
        self.started_ms.append(NEVER if started is None else started)
        self.finished_ms.append(NEVER if finished is None else finished)
        self.application.append(app)
        self.stage.append(stage)
        self.node.append(node)
        self.size.append(size)
        self.kind.append(kind)

    def __len__(self) -> int:
        return len(self.kind)

    @overload
    def __getitem__(self, index: int) -> ContainerRow: ...

    @overload
    def __getitem__(self, index: slice) -> list[ContainerRow]: ...

    def __getitem__(self, index: int | slice) -> ContainerRow | list[ContainerRow]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        return ContainerRow(
            self.application[index], self.stage[index], self.task[index], self.attempt[index],
            self.node[index], bool(self.is_am[index]), self.size[index],
            _time(self.allocated_ms[index]), _time(self.started_ms[index]),
            _time(self.finished_ms[index]), self.kind[index],
        )  # fmt: skip

    def __iter__(self) -> Iterator[ContainerRow]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"ContainerRows({list(self)})"

    __hash__ = None  # type: ignore[assignment]


def _time(kept: int) -> int | None:
    return None if kept == NEVER else kept
