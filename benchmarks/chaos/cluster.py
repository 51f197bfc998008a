"""A ResourceManager and its load, as the faults and the checks of ``make chaos`` use them."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.chaos.conf import FIRST, GOOD, NODE_MB, NODE_VCORES, NODES, Files
from benchmarks.chaos.jvm import ChaosError, Jvm, children
from benchmarks.chaos.watch import ProcessorWatch

APPLICATIONS = 10
RM_HEAP = "512m"
LOAD_HEAP = "512m"
START_S = 180.0
LOOK_S = 0.3


def now_ms() -> int:
    """Return the milliseconds since 1970, the same clock as in both JVMs."""
    return int(time.time() * 1000)


class Cluster:
    """A running chaos cluster. ``on_event`` gets what the load reports, as it happens."""

    def __init__(self, files: Files, seed: int, on_event: Callable[[Any], None]) -> None:
        self.files = files
        self.pauses: list[list[int]] = []
        self.down: list[tuple[int, int]] = []
        self._on_event = on_event
        self.rm: Jvm | None = None
        self.silent_fault: int | None = None
        """The number of the fault whose silent policy was applied last."""
        self._start_rm()
        self.load = Jvm("ChaosLoad", files.conf, LOAD_HEAP, files.out / "load.log", on_event)
        self._seed = seed
        self._processor = ProcessorWatch(self.policy_pids)
        self._processor.start()

    def start(self) -> None:
        """Start the load; return when it runs."""
        self.load.ask(
            "start", timeout_s=START_S, nodes=NODES, memory_mb=NODE_MB, vcores=NODE_VCORES,
            applications=APPLICATIONS, seed=self._seed,
        )  # fmt: skip

    def _start_rm(self) -> None:
        self.rm = Jvm(
            "ChaosResourceManager", self.files.conf, RM_HEAP, self.files.out / "rm.log",
            self._on_event,
        )  # fmt: skip

    def ask_rm(self, do: str, /, timeout_s: float = 30, **arguments: Any) -> Any:
        """Send a command to the ResourceManager; raises ``ChaosError`` while it is down."""
        if self.rm is None:
            raise ChaosError("the ResourceManager is down")
        return self.rm.ask(do, timeout_s, **arguments)

    def kill_rm(self) -> None:
        """Ends the ResourceManager as kill -9 does, and starts it again over the same store."""
        self.collect_pauses()
        begin = now_ms()
        assert self.rm is not None
        self.rm.kill()
        self._start_rm()
        wait_until("the ResourceManager to be back", self._is_ready, START_S)
        self.down.append((begin, now_ms()))

    def stop_rm(self) -> None:
        """Stops the active one of a pair until the other serves; raises here, because there is no
        pair.
        """
        raise ChaosError("there is one ResourceManager only")

    def make_whole(self) -> None:
        """Starts again what was killed and is not back; here ``kill_rm`` has already done so."""

    def _is_ready(self) -> bool:
        figures = self.ask_rm("figures")
        state = self.load.ask("state")
        return bool(
            figures["ready"]
            and figures["bridge"] != "STARTING"
            and not state["unregistered_masters"]
            and (not state["nodes_that_owe_reports"] or len(state["nodes"]) > NODES // 2)
        )

    def collect_pauses(self) -> None:
        """Fetches the machine's pauses; they are lost with a JVM that is killed."""
        self.pauses += self._processor.drain()
        for jvm in (self.rm, self.load):
            if jvm is not None and jvm.is_alive():
                try:
                    self.pauses += jvm.ask("pauses")
                except ChaosError:
                    continue

    @property
    def rm_pid(self) -> int:
        """Return the process id of the ResourceManager."""
        assert self.rm is not None
        return self.rm.pid

    def policy_pids(self) -> list[int]:
        """Return the child processes of the ResourceManager."""
        return [] if self.rm is None else children(self.rm.pid)

    def set_mode(self, mode: str, strength: float, lasts_s: float) -> None:
        """Set what the policy process does wrong from now on."""
        draft = self.files.switch / "mode.draft"
        until = time.time() + lasts_s
        draft.write_text(
            json.dumps({"id": uuid.uuid4().hex, "mode": mode, "strength": strength, "until": until})
        )
        draft.replace(self.files.switch / "mode.json")

    def clear_mode(self) -> None:
        """Let the policy process do everything right again."""
        (self.files.switch / "mode.json").unlink(missing_ok=True)

    def mirror(self) -> Any:
        """Return what the policy's mirror contains after all that happened until now."""
        self.ask_rm("quiet", ms=2000)  # rounds that never end are counted, not awaited
        name = uuid.uuid4().hex
        dump = self.files.switch / f"dump-{name}.json"
        (self.files.switch / "dump.request").write_text(name)
        wait_until("the policy process to dump its mirror", dump.exists, 5)
        found = json.loads(dump.read_text())
        dump.unlink()
        return found

    def poke(self) -> None:
        """Cause an event for the next batch; the batch also reports the outcomes of the last
        plan.
        """
        node = self.load.ask("name", node=0)
        self.ask_rm("resize", node=node, memory_mb=NODE_MB, vcores=NODE_VCORES)

    def good_config(self) -> None:
        """Applies a configuration that works, unless one is applied already."""
        if not str(self.ask_rm("figures")["config"]).startswith("good"):
            self.ask_rm("swap", timeout_s=90, yaml=GOOD[FIRST], name=FIRST)

    def is_calm(self) -> bool:
        """Return whether the policy decides, all nodes are there and nothing is being started."""
        figures = self.ask_rm("figures")
        state = self.load.ask("state")
        return (
            figures["bridge"] == "UP"
            and str(figures["config"]).startswith("good")
            and len(state["nodes"]) == NODES
            and not state["unregistered_masters"]
        )

    def stop(self) -> None:
        """Ends both JVMs."""
        for jvm in (self.load, self.rm):
            if jvm is not None:
                jvm.kill()


def wait_until(what: str, reached: Callable[[], bool], deadline_s: float) -> None:
    """Waits for a condition; raises ``ChaosError`` if it takes longer."""
    end = time.monotonic() + deadline_s
    last = ""
    while time.monotonic() < end:
        try:
            if reached():
                return
        except ChaosError as error:
            last = f" ({error})"
        time.sleep(LOOK_S)
    raise ChaosError(f"waited {deadline_s:.0f} s for {what}{last}")


def read_lines(path: Path) -> list[Any]:
    """Return the JSON lines of a file; none if there is no file. An incomplete last line is left
    out.
    """
    found = []
    for line in path.read_text().splitlines() if path.is_file() else []:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found
