"""Cells over the processes of this machine, in the order given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from loomcard.experiments.cell import Outcome
from loomcard.experiments.grid import Cell
from loomcard.results.record import SIMULATOR, RunRecord
from loomcard.simulator import PolicyFaultError
from loomcard.simulator.processes import WorkerLostError, run_in_processes

Result = TypeVar("Result", Outcome, RunRecord)
_ENDED: Final = (
    "either by the policy, as os._exit() or a library that crashes does, or from outside, as for"
    " its memory: then run again with fewer --processes"
)


class ProcessLostError(PolicyFaultError):
    """The process that ran a cell ended; ``position``: of the cell."""

    def __init__(self, position: int, cell: Cell, status: int | None) -> None:
        super().__init__(f"the process of {cell.policy} ended, status {status}", _ENDED)
        self.position = position


def run_cells(
    cells: Sequence[Cell],
    work: Callable[[Cell, Callable[[int], None]], Result],
    processes: int,
    note: Callable[[int, Result], None],
    on_message: Callable[[int, int], None] = lambda *_: None,
) -> bool:
    """Call ``work(cell, notify)`` for the cells in their order, ``processes`` at a time; return
    False if Ctrl-C ended it early. ``note`` is called with the position and result of each cell
    that ends, ``on_message`` with its position and the ms that it has reached.

    With one process the cells run in this one. But a simulation with policies from files always
    runs in another process, since such a policy could end it; these cells are run first.

    Ctrl-C lets cells that run return what they have. Raises what ``work`` raises, and
    ProcessLostError.
    """
    many = processes > 1 and len(cells) > 1
    apart = [position for position, cell in enumerate(cells) if many or _may_end_process(cell)]
    here = [position for position in range(len(cells)) if position not in set(apart)]
    try:
        run_in_processes(
            work,
            [cells[position] for position in apart],
            processes,
            lambda index, result: note(apart[index], result),
            lambda index, now_ms: on_message(apart[index], now_ms),
        )
        for position in here:
            result = work(cells[position], partial(on_message, position))
            note(position, result)
            if not result.finished:
                return False
    except KeyboardInterrupt:
        return False
    except WorkerLostError as error:
        position = apart[error.position]
        raise ProcessLostError(position, cells[position], error.status) from error
    return True


def _may_end_process(cell: Cell) -> bool:
    return cell.engine == SIMULATOR and bool((cell.config or {}).get("files"))
