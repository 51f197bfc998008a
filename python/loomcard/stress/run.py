"""Run one policy in one scenario, and judge what was recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from loomcard.api.stages.dag_hint import HINT
from loomcard.model.resource import Resource
from loomcard.simulator.engine import Simulation
from loomcard.simulator.invariants import InvariantError
from loomcard.simulator.resourcemanager import PolicyFaultError
from loomcard.stress import crowds, faults, lies, limits
from loomcard.stress.predicates import Guarantee
from loomcard.stress.scenario import Candidate, StressScenario
from loomcard.stress.watch import Observations, Watch
from loomcard.workload.scenario import ScenarioApplication

_BUILT: tuple[Callable[[], StressScenario], ...] = (
    crowds.many_applications,
    crowds.arrivals,
    crowds.many_servers,
    crowds.masters,
    crowds.am_flood,
    crowds.greedy_user,
    crowds.tiny_shapes,
    crowds.long_among_short,
    crowds.node_sized,
    limits.too_large,
    limits.tiny_weights,
    limits.at_its_maximum,
    limits.labels,
    limits.third_branch,
    limits.late_queue,
    faults.vanishing_resource,
    faults.nodes_lost,
    faults.swap,
    lies.hints_too_small,
    lies.hints_too_large,
    lies.hints_refused,
)
SCENARIOS = {build.__name__.replace("_", "-"): build for build in _BUILT}
"""The function that builds each scenario, by the scenario's name."""


@dataclass(frozen=True)
class Verdict:
    """The result of a policy in a scenario; ``broken``: what was measured, by the name of each
    predicate that does not hold.
    """

    policy: str
    scenario: str
    broken: dict[str, str] = field(default_factory=dict)


def judge(scenario: StressScenario, candidate: Candidate, name: str = "") -> Verdict:
    """Run and judge; ``name`` names the policy in the verdict. Raises FindingsError and
    PolicyNotFoundError if the policy cannot govern these queues.
    """
    seen = observe(scenario, candidate)
    found = ((each.name, each.broken(seen)) for each in scenario.requires)
    broken = {predicate: said for predicate, said in found if said is not None}
    return Verdict(name or candidate.policy, scenario.name, broken)


def observe(scenario: StressScenario, candidate: Candidate) -> Observations:
    """Run the scenario in the simulator; return what was recorded."""
    watch = Watch(_largest(scenario))
    own = scenario.config(candidate)
    first = scenario.begins_under
    begins = own if first is None else scenario.config(Candidate(first))
    simulation = Simulation(scenario.workload, begins, watch=watch.look)
    watch.follow(simulation)
    for master in simulation.masters:
        if (text := scenario.hints.get(master.spec.id)) is not None:
            master.hints = {HINT: text}
    for at_ms, policy in scenario.swaps:
        config = own if policy is None else scenario.config(Candidate(policy))
        simulation.clock.at(at_ms, simulation.rm.apply, config)
    seen = watch.seen
    try:
        simulation.run()
    except (PolicyFaultError, InvariantError) as error:
        seen.fault = str(error)
    watch.end()
    seen.changes_ms = tuple(at_ms for at_ms, _ in scenario.swaps)
    records = [master.record for master in simulation.masters]
    seen.states = {each.id: each.state for each in records}
    seen.took_ms = {
        each.id: each.demanding[-1][1] - each.submitted_ms
        for each in records
        if each.state and each.demanding
    }
    seen.refusals = dict(simulation.rm.refusals)
    return seen


def _largest(scenario: StressScenario) -> dict[str, Resource]:
    """Return the largest container that each queue's applications ask for, for the queues whose
    share is judged.
    """
    wanted = [each for each in scenario.requires if isinstance(each, Guarantee)]
    found = {}
    for name in dict.fromkeys(name for each in wanted for name in each.parts):
        path, _, user = name.partition("/")
        mine = [
            app
            for app in scenario.workload.applications
            if (app.queue + ".").startswith(path + ".") and user in ("", app.user)
        ]
        sizes = [size for app in mine for size in _sizes(app)]
        found[name] = Resource(map(max, zip(*sizes, strict=True)))
    return found


def _sizes(app: ScenarioApplication) -> list[tuple[int, ...]]:
    return [stage.size for stage in app.stages] + ([] if app.am is None else [app.am])
