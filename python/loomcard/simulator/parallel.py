"""Several runs at once, each in its own process; whatever stops them, what they have is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from loomcard.results.record import RunRecord
from loomcard.simulator.engine import Progress, simulate
from loomcard.simulator.processes import WorkerLostError, run_in_processes
from loomcard.simulator.resourcemanager import PolicyFaultError
from loomcard.workload.scenario import Scenario, read_scenario, write_scenario

Send = Callable[[int, Progress], None]


@dataclass(frozen=True, slots=True)
class Run:
    """One run to make: a compiled configuration, its name in the results, its journal's folder."""

    policy: str
    setup: Mapping[str, Any]
    journal: Path | None = None


_ENDED: Final = (
    "either by the policy, as os._exit() or a library that crashes does, or from outside, as for"
    " its memory"
)


def simulate_all(
    scenario: Scenario, runs: Sequence[Run], processes: int, send: Send = lambda *_: None
) -> list[RunRecord]:
    """A record for each run, in their order, whatever the count of processes; ``tell(index,
    progress)`` hears how far each is. Runs with policies from files are never made in this
    process, which such a policy could end.

    Ctrl-C ends them all: those that had begun give a record with ``finished`` False, the others
    none. Raises PolicyFaultError with the first policy's that raised.
    """
    from_files = any(run.setup.get("files") for run in runs)
    if not from_files and (len(runs) == 1 or processes <= 1):
        return _one_by_one(scenario, runs, send)
    records: dict[int, RunRecord] = {}
    work = partial(_simulate_text, write_scenario(scenario))
    try:
        run_in_processes(work, runs, max(1, processes), records.__setitem__, send)
    except KeyboardInterrupt:
        pass
    except WorkerLostError as error:
        said = f"{runs[error.position].policy}: its process ended, status {error.status}"
        raise PolicyFaultError(said, _ENDED) from error
    return [records[index] for index in sorted(records)]


def _one_by_one(scenario: Scenario, runs: Sequence[Run], send: Send) -> list[RunRecord]:
    records = []
    for index, run in enumerate(runs):
        records.append(_simulate(scenario, run, _progress_sender(send, index)))
        if not records[-1].finished:
            break
    return records


def _progress_sender(send: Send, index: int) -> Callable[[Progress], None]:
    return lambda progress: send(index, progress)


def _simulate(scenario: Scenario, run: Run, send: Callable[[Progress], None]) -> RunRecord:
    return simulate(scenario, run.setup, policy=run.policy, journal=run.journal, on_progress=send)


def _simulate_text(text: bytes, run: Run, send: Callable[[Progress], None]) -> RunRecord:
    return _simulate(read_scenario(text), run, send)
