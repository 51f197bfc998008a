"""Several runs at once, each in its own process; their results are kept, whatever stops them."""

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
    """One run to do: a compiled configuration, its name in the results, its journal's folder."""

    policy: str
    config: Mapping[str, Any]
    journal: Path | None = None


_ENDED: Final = (
    "either by the policy, as os._exit() or a library that crashes does, or from outside, as for"
    " its memory"
)


def simulate_all(
    scenario: Scenario, runs: Sequence[Run], processes: int, send: Send = lambda *_: None
) -> list[RunRecord]:
    """Return a record for each run, in the order of the runs, for any number of processes.
    ``tell(index, progress)`` is called with the progress of each run. Runs with policies from files
    are never done in this process, since such a policy could end it. With ``processes`` 1 they are
    done first, and all others in this process, so that a policy written in it can run beside them.

    Ctrl-C ends all runs: those that had begun give a record with ``finished`` False, the others
    give none. Raises PolicyFaultError for the first policy that raised.
    """
    many = processes > 1 and len(runs) > 1
    apart = [index for index, run in enumerate(runs) if many or run.config.get("files")]
    here = [index for index in range(len(runs)) if index not in apart]
    records: dict[int, RunRecord] = {}
    theirs = {index: runs[index] for index in apart}
    if not theirs or _in_processes(scenario, theirs, processes, records, send):
        for index in here:
            records[index] = _simulate(scenario, runs[index], _progress_sender(send, index))
            if not records[index].finished:
                break
    return [records[index] for index in sorted(records)]


def _in_processes(
    scenario: Scenario,
    runs: Mapping[int, Run],
    processes: int,
    records: dict[int, RunRecord],
    send: Send,
) -> bool:
    """Do these runs and note each in ``records``. Return False if Ctrl-C ended them early."""
    indices = list(runs)
    try:
        run_in_processes(
            partial(_simulate_text, write_scenario(scenario)),
            list(runs.values()),
            max(1, processes),
            lambda position, record: records.update({indices[position]: record}),
            lambda position, progress: send(indices[position], progress),
        )
    except KeyboardInterrupt:
        return False
    except WorkerLostError as error:
        name = runs[indices[error.position]].policy
        raise PolicyFaultError(
            f"{name}: its process ended, status {error.status}", _ENDED
        ) from error
    return True


def _progress_sender(send: Send, index: int) -> Callable[[Progress], None]:
    return lambda progress: send(index, progress)


def _simulate(scenario: Scenario, run: Run, send: Callable[[Progress], None]) -> RunRecord:
    return simulate(scenario, run.config, policy=run.policy, journal=run.journal, on_progress=send)


def _simulate_text(text: bytes, run: Run, send: Callable[[Progress], None]) -> RunRecord:
    return _simulate(read_scenario(text), run, send)
