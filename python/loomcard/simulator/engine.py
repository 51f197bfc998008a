"""The simulation: a workload's applications arrive at a simulated cluster, policies decide, and
virtual time passes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from loomcard.masters.clock import Clock
from loomcard.model.objects import Container
from loomcard.results.container_rows import ContainerRows
from loomcard.results.fair_share import queue_shares
from loomcard.results.record import RunRecord
from loomcard.simulator.application_master import SimulatedMaster, SimulationContext
from loomcard.simulator.invariants import check_agreement
from loomcard.simulator.network import Network
from loomcard.simulator.nodes import Machines
from loomcard.simulator.resourcemanager import PolicyFaultError, ResourceManager
from loomcard.workload.scenario import Scenario

ROUNDS_AT_A_TIME = 10_000
"""After more rounds than this at one time, a policy counts as refused for ever."""
ROUNDS_WITHOUT_PROGRESS = 200_000
"""After so many rounds in which nothing ends and nothing is due, a policy counts as one that wakes
itself for nothing.
"""
STALLED_MS = 24 * 3600 * 1000
"""When nothing ends for so long and nothing is due, waiting applications wait for ever."""
TELL_EVERY = 5_000


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run so far."""

    now_ms: int
    containers: int  # ended
    finished: int  # applications
    applications: int


class Simulation:
    """One run. ``check``: compare all state after every round (slow; used in tests). ``watch`` is
    called at each time at which something happened, after the policies have decided.
    """

    def __init__(
        self,
        scenario: Scenario,
        config: Mapping[str, Any],
        journal: Path | None = None,
        check: bool = False,
        watch: Callable[[], None] = lambda: None,
    ) -> None:
        self.clock = Clock()
        self.rm = ResourceManager(scenario.resource_types, config, self.clock, journal)
        self.machines = Machines(scenario, self.rm, self.clock)
        self.rows = ContainerRows()
        self.finished = 0
        self._check = check
        self._watch = watch
        self._spoken: deque[SimulatedMaster] = deque()
        self._of: dict[int, SimulatedMaster] = {}  # by the application's number
        self._last_ms = 0  # when something last ended well
        self._progress_round = 0  # the round after which it ended
        context = SimulationContext(
            self.rm, self.clock, self.machines, scenario.am_heartbeat_ms, scenario.am_start_ms,
            self._spoken.append, self.rows.append, self._done,
            self._network(scenario),
        )  # fmt: skip
        self.masters = [SimulatedMaster(app, context) for app in scenario.applications]
        for master in self.masters:
            self.clock.at(master.spec.submit_ms, self._submit, master)
            self.machines.busy_till(master.spec.submit_ms)
        self.rm.on_allocated = self._allocated
        self.rm.on_ended = self._ended
        self.rm.on_headroom = lambda number: self._of[number].model.headroom_changed()
        self._stopped = False
        if scenario.stop_ms is not None:
            self.clock.at(scenario.stop_ms, self._stop)
            self.machines.busy_till(scenario.stop_ms)
        self.rm.on_config = self._configure
        self._configure(config)

    def _configure(self, config: Mapping[str, Any]) -> None:
        """Take over a configuration, which applies from now on."""
        self.machines.report_beats("heartbeats" in config.get("needs", ()))

    def _network(self, scenario: Scenario) -> Network | None:
        links = scenario.network
        if links is None:
            return None
        return Network(self.clock, self.machines.rack_of, links.node_mb_s, links.rack_mb_s)

    def run(self, on_progress: Callable[[Progress], None] | None = None) -> None:
        """Run until every application has ended, the workload's time has passed, or nothing more
        can happen.
        """
        reported = 0
        while self.finished < len(self.masters):
            if not self.clock.advance() or self._stopped or self._has_stalled():
                break
            self._settle()
            self._watch()
            if on_progress is not None and self.clock.happened - reported >= TELL_EVERY:
                reported = self.clock.happened
                on_progress(self.progress)
        if self._check or self.finished == len(self.masters):
            if self.rm.needs_round:
                self._round()
            check_agreement(self.rm)
        if on_progress is not None:
            on_progress(self.progress)

    def _has_stalled(self) -> bool:
        """Whether nothing has happened for too long and nothing is due."""
        since = max(self._last_ms, self.machines.busy_ms)
        if self.clock.now <= since:
            self._progress_round = self.rm.rounds
        stalled = self.rm.rounds - self._progress_round > ROUNDS_WITHOUT_PROGRESS
        return stalled or self.clock.now - since > STALLED_MS

    @property
    def progress(self) -> Progress:
        """Return the progress of the run so far."""
        return Progress(self.clock.now, len(self.rows), self.finished, len(self.masters))

    def _settle(self) -> None:
        """Run all events of this time, then let the policies decide, until neither changes
        anything.
        """
        rounds = 0
        while True:
            while self._spoken:
                self._spoken.popleft().beat()
            if not self.rm.needs_round:
                return
            self._round()
            rounds += 1
            if rounds > ROUNDS_AT_A_TIME:
                raise PolicyFaultError(
                    f"{rounds} rounds at {self.clock.now} ms without an end; "
                    f"refused so far: {self.rm.refusals}",
                    "see that the policy allocates only where plan.why_not is None, as fill does",
                )

    def _round(self) -> None:
        self.rm.round()
        if self._check:
            check_agreement(self.rm)

    def _submit(self, master: SimulatedMaster) -> None:
        number = master.submit()
        if number is not None:
            self._of[number] = master

    def _allocated(self, container: Container) -> None:
        self._of[container.attempt.application.number].allocated(container)

    def _ended(self, container: Container, kind: str, exit_status: int) -> None:
        if kind == "completed":
            self._last_ms = self.clock.now
        self.machines.forget(container)
        self._of[container.attempt.application.number].lost(container, kind, exit_status)

    def _stop(self) -> None:
        self._stopped = True

    def _done(self) -> None:
        self.finished += 1
        self._last_ms = self.clock.now


def simulate(
    scenario: Scenario,
    config: Mapping[str, Any],
    *,
    policy: str,
    journal: Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    check: bool = False,
) -> RunRecord:
    """Run a scenario under a compiled configuration; ``policy`` names it in the results.

    Equal arguments give equal records, except for ``seconds``. Ctrl-C ends the run early: the
    record then contains what happened so far, with ``finished`` False. Raises PolicyFaultError
    when a policy raises, and MismatchError when scenario and configuration do not fit together.
    """
    began = perf_counter()
    refuse_mismatch(scenario, config)
    simulation = Simulation(scenario, config, journal, check)
    finished = True
    try:
        simulation.run(on_progress)
    except KeyboardInterrupt:
        finished = False
    finally:
        if simulation.rm.session.journal is not None:
            simulation.rm.session.journal.close()
    for master in simulation.masters:
        master.unfinished()
    return RunRecord(
        policy=policy,
        workload=scenario.name,
        seed=scenario.seed,
        engine="simulator",
        resource_types=list(scenario.resource_types),
        capacity=simulation.machines.capacity,
        applications=[master.record for master in simulation.masters],
        containers=simulation.rows,
        queues=queue_shares(config),
        refusals=dict(sorted(simulation.rm.refusals.items())),
        states=simulation.rm.states.rows(),
        ended_ms=simulation.clock.now,
        finished=finished,
        seconds=perf_counter() - began,
    )


class MismatchError(ValueError):
    """A workload and a configuration do not fit together; ``hint`` says what would fit."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def refuse_mismatch(scenario: Scenario, config: Mapping[str, Any]) -> None:
    """Raise MismatchError unless every application's queue is a leaf of the configuration, and
    there are heartbeats to count if a policy counts them.
    """
    leaves = [queue["path"] for queue in config["queues"] if queue["leaf"]]
    unknown = sorted({app.queue for app in scenario.applications} - set(leaves))
    if unknown:
        first = next(app for app in scenario.applications if app.queue == unknown[0])
        raise MismatchError(
            f"application {first.id!r}: {config.get('source', 'the configuration')} has no leaf"
            f" queue {unknown[0]!r}",
            f"its leaf queues are {', '.join(leaves)}",
        )
    if "heartbeats" in config.get("needs", ()) and scenario.heartbeat_ms <= 0:
        raise MismatchError(
            f"workload {scenario.name!r}: heartbeat_ms is 0, and a policy of the configuration"
            " counts heartbeats",
            "say how often nodes report, such as heartbeat_ms: 1000",
        )
