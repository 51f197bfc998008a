"""The process that plans for the player's AMs whose ``asks`` are altruistic: which of their tasks
must start now. The simulator's AMs make the same plans.

One JSON object a line: a question on standard input, its decision on standard output. The first
line out says that it is ready. It ends with its input.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from loomcard.masters.must_starts import Decision, MustStarts
from loomcard.workload.scenario import Scenario, ScenarioApplication


class PlayerInput(msgspec.Struct):
    """What the player is given, as far as plans need it."""

    scenario: Scenario


class Question(msgspec.Struct):
    """How an application stands at ``now_ms``: ``share``, what its tasks may hold in all;
    ``waiting``, of each stage how many tasks have not started; ``running``, of each running task
    its stage and when it began.
    """

    application: str
    now_ms: int
    share: list[int]
    waiting: list[int]
    running: list[tuple[int, int]]


def decisions(scenario: Scenario, questions: Iterable[bytes]) -> Iterator[Decision]:
    """The answer to each line. Raises ``msgspec.MsgspecError``, and KeyError for an application
    that the scenario does not hold.
    """
    applications = {app.id: app for app in scenario.applications}
    plans: dict[str, MustStarts] = {}
    for line in questions:
        asked = msgspec.json.decode(line, type=Question)
        plan = plans.get(asked.application)
        if plan is None:
            plan = _plan(scenario, applications[asked.application])
            plans[asked.application] = plan
        yield plan.decide(asked.now_ms, asked.share, asked.waiting, asked.running)


def _plan(scenario: Scenario, app: ScenarioApplication) -> MustStarts:
    capacity = [sum(amounts) for amounts in zip(*(n.capacity for n in scenario.nodes), strict=True)]
    return MustStarts(app.stages, capacity, scenario.am_heartbeat_ms)


def main(file: str) -> None:
    """Answer until the input ends."""
    given = msgspec.json.decode(Path(file).read_bytes(), type=PlayerInput)
    _say({"ready": True})
    for decision in decisions(given.scenario, sys.stdin.buffer):
        _say(decision._asdict())


def _say(words: dict[str, object]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(words) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
