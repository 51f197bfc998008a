"""The process that runs the models of all AMs of the player, which asks it over a pipe.

One JSON object a line: a ``Heard`` on standard input, its ``Said`` on standard output. The first
line out says that it is ready. It ends with its input.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from loomcard.player.played_master import Cluster, Heard, PlayedMaster, Said
from loomcard.workload.scenario import Scenario, ScenarioApplication


class PlayerInput(msgspec.Struct):
    """The player's input. ``hints``: of each application by its id. ``real_names``: what the
    cluster calls the scenario's nodes and racks. ``warm_up``: an application that is played before
    the scenario.
    """

    scenario: Scenario
    hints: dict[str, dict[str, str]] = {}
    real_names: dict[str, str] = {}
    warm_up: ScenarioApplication | None = None


def answers(given: PlayerInput, lines: Iterable[bytes]) -> Iterator[Said]:
    """Return the answer to each line. Raises ``msgspec.MsgspecError``, and KeyError for an unknown
    application.
    """
    cluster = Cluster(given.scenario, given.real_names)
    warm_up = [] if given.warm_up is None else [given.warm_up]
    specs = {app.id: app for app in [*given.scenario.applications, *warm_up]}
    playing: dict[str, PlayedMaster] = {}
    decoder = msgspec.json.Decoder(Heard)
    for line in lines:
        heard = decoder.decode(line)
        name = heard.application
        if name not in playing:
            playing[name] = PlayedMaster(specs[name], cluster)
        yield playing[name].hear(heard)


def main(file: str) -> None:
    """Answer until the input ends."""
    given = msgspec.json.decode(Path(file).read_bytes(), type=PlayerInput)
    _say({"ready": True})
    for said in answers(given, sys.stdin.buffer):
        _say(said)


def _say(words: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(words) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
