"""The player: the Java program that is the application master of every application of a scenario.

It reports in player.jsonl, one JSON object a line: when its zero was, what was
submitted, allocated and ended, when applications demanded. Times there are ms since 1970.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from loomcard.cluster import paths
from loomcard.cluster.embedded import ClusterError
from loomcard.player.model_process import PlayerInput
from loomcard.validation.hinted import HintedError
from loomcard.workload.hints import hints
from loomcard.workload.scenario import Scenario, ScenarioApplication, Stage

Event = dict[str, Any]

_MAIN = "org.loomcard.yarn.player.WorkloadPlayer"
WARM_UP = "loomcard-warm-up"
"""The application that passes through a cluster before the run's zero, and is nobody's."""
_STOP_S = 15.0
_OWN = "player: "
"""What the player's own lines in its log begin with; the others are Hadoop's."""


class PlayError(HintedError, ValueError):
    """A scenario that a real cluster cannot play. `hint` says what to do about it."""


@dataclass
class Player:
    """One run of the player in `folder`, against the cluster that `conf_dir` describes.

    As a context manager it ends with the block; what it had submitted and still runs is then
    killed. `real_names`: what the cluster calls the scenario's nodes and racks, where that is not
    the same. `account_by_output`: its standard output is its account.
    """

    scenario: Scenario
    folder: Path
    conf_dir: Path
    java_options: Sequence[str] = ()
    real_names: dict[str, str] = field(default_factory=dict)
    account_by_output: bool = False
    events: list[Event] = field(default_factory=list)
    _process: subprocess.Popen[bytes] | None = None
    _read: int = 0

    @property
    def account(self) -> Path:
        """player.jsonl."""
        return self.folder / "player.jsonl"

    @property
    def log(self) -> Path:
        """The log of Hadoop's client."""
        return self.folder / "player.log"

    def __enter__(self) -> Self:
        hints_by_id = {app.id: hints(app) for app in self.scenario.applications}
        given = PlayerInput(self.scenario, hints_by_id, self.real_names, _warm_up(self.scenario))
        (self.folder / "player-input.json").write_bytes(msgspec.json.encode(given))
        self.account.write_bytes(b"")
        with self.log.open("wb") as log, self.account.open("ab") as account:
            self._process = subprocess.Popen(  # noqa: S603 - our own command line
                self._command(),
                stdin=subprocess.PIPE,
                stdout=account if self.account_by_output else log,
                stderr=log,
                env=os.environ | self._environment(),
                start_new_session=True,  # Ctrl-C is ours: we end it in order
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self.follow()

    def follow(self) -> list[Event]:
        """Return what it has written since the last call; `events` keeps all."""
        with self.account.open("rb") as file:
            file.seek(self._read)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._read += len(whole)
        fresh: list[Event] = [json.loads(line) for line in whole.splitlines()]
        fresh = [event for event in fresh if event.get("application") != WARM_UP]
        self.events += fresh
        return fresh

    def ended(self) -> bool:
        """Return whether it has ended. Raises ClusterError if it failed."""
        assert self._process is not None
        status = self._process.poll()
        if status is None:
            return False
        if status != 0:
            lines = [line for line in self.log.read_text(errors="replace").splitlines() if line]
            own = [line.removeprefix(_OWN) for line in lines if line.startswith(_OWN)]
            telling = [line for line in lines if "Exception" in line and not line.startswith("\t")]
            said = [*own, *telling, *lines[-1:], "it said nothing"][0]
            raise ClusterError(f"the player ended with status {status}: {said}", f"see {self.log}")
        return True

    def _environment(self) -> dict[str, str]:
        return {"HADOOP_CONF_DIR": str(self.conf_dir)}

    def _command(self) -> list[str]:
        heap = 256 + len(self.scenario.applications) // 4
        return [
            str(paths.java_home() / "bin" / "java"),
            f"-Xmx{heap}m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            *self.java_options,
            "-cp",
            f"{self.conf_dir}:{paths.jars()}/*",
            _MAIN,
            "--input",
            str(self.folder / "player-input.json"),
            "--log",
            str(self.account),
            "--python",
            sys.executable,
        ]


def _warm_up(scenario: Scenario) -> ScenarioApplication | None:
    """Return an application of one container that ends at once, in the first application's queue;
    None if the scenario has none.
    """
    if not scenario.applications:
        return None
    first = scenario.applications[0]
    size = first.stages[0].size if first.executors is None else first.executors.size
    stage = Stage(WARM_UP, size, 1, 1, [1])
    return ScenarioApplication(WARM_UP, 0, first.queue, first.user, "plain", [stage])
