"""A chaos cluster with two ResourceManagers; ZooKeeper makes one of them active."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

from benchmarks.chaos.cluster import RM_HEAP, START_S, Cluster, now_ms, wait_until
from benchmarks.chaos.conf import RM_IDS, Files
from benchmarks.chaos.jvm import ChaosError, Jvm, children

ZOOKEEPER_HEAP = "128m"
ROLE_S = 10.0
"""How long a ResourceManager may take to say whether it is active."""


class PairCluster(Cluster):
    """Two ResourceManagers; ``rm`` is the active one, and nodes and masters follow it."""

    def __init__(self, files: Files, seed: int, on_event: Callable[[Any], None]) -> None:
        self._pair: dict[str, Jvm] = {}
        self._last = ""
        self._stopped = ""
        self._whole = threading.RLock()
        super().__init__(files, seed, on_event)

    def _start_rm(self) -> None:
        self._zookeeper = Jvm(
            "ChaosZooKeeper", self.files.conf, ZOOKEEPER_HEAP, self.files.out / "zookeeper.log",
            self._on_event,
        )  # fmt: skip
        self._zookeeper.ask("ready")
        for name in RM_IDS:
            self._start_one(name)

    def _start_one(self, name: str) -> None:
        conf, log = self.files.conf_of(name), self.files.out / f"{name}.log"
        self._pair[name] = Jvm("ChaosResourceManager", conf, RM_HEAP, log, self._on_event)

    def start(self) -> None:
        """Start the cluster; return when one is active, the other is standby, and the load runs."""
        wait_until("a pair with one active", self._is_whole, START_S)
        super().start()

    def roles(self) -> dict[str, str]:
        """Return ``active``, ``standby`` or ``initializing`` by the id of each that answers."""
        found = {}
        for name, jvm in list(self._pair.items()):
            try:
                if jvm.is_alive() and name != self._stopped:
                    found[name] = jvm.ask("role", ROLE_S)
            except ChaosError:
                continue
        return found

    def _find_active(self) -> None:
        active = [name for name, role in self.roles().items() if role == "active"]
        if len(active) != 1:
            raise ChaosError(f"the ResourceManagers are {self.roles()}: not one is active")
        if active[0] != self._last:
            self._on_event({"event": "active", "what": f"{active[0]} after {self._last or 'none'}"})
        self._last = active[0]
        self.rm = self._pair[active[0]]

    def ask_rm(self, do: str, /, timeout_s: float = 30, **arguments: Any) -> Any:
        """Send a command to the active ResourceManager; raises ``ChaosError`` while none is
        active.
        """
        self._find_active()
        return super().ask_rm(do, timeout_s, **arguments)

    def kill_rm(self) -> None:
        """Ends the active one as kill -9 does; returns when the other serves in its place."""
        with self._whole:
            self.make_whole()
            self._find_active()
            self.collect_pauses()
            begin = now_ms()
            self._pair[self._last].kill()
            wait_until("the other ResourceManager to serve", self._is_ready, START_S)
            self.down.append((begin, now_ms()))

    def stop_rm(self) -> None:
        """Stops the active one until the other serves in its place; then it continues, and does not
        know yet that it is no longer the active one.
        """
        with self._whole:
            self.make_whole()
            self._find_active()
            self.collect_pauses()
            begin, self._stopped = now_ms(), self._last
            stopped = self._pair[self._stopped].pid
            os.kill(stopped, signal.SIGSTOP)
            try:
                wait_until("the other ResourceManager to serve", self._is_ready, START_S)
                self.down.append((begin, now_ms()))
            finally:
                self._stopped = ""
                os.kill(stopped, signal.SIGCONT)
            self.make_whole()

    def make_whole(self) -> None:
        """Starts the killed one again, and returns when it is standby."""
        with self._whole:
            for name, jvm in list(self._pair.items()):
                if not jvm.is_alive():
                    self._start_one(name)
            wait_until("a pair with one active", self._is_whole, START_S)

    def _is_whole(self) -> bool:
        return sorted(self.roles().values()) == ["active", "standby"]

    def is_calm(self) -> bool:
        """Return whether the policy decides, all nodes are there, and the pair is complete."""
        return self._is_whole() and super().is_calm()

    def policy_pids(self) -> list[int]:
        """Return the child processes of both; the standby one has none."""
        alive = [jvm for jvm in self._pair.values() if jvm.is_alive()]
        return sorted(pid for jvm in alive for pid in children(jvm.pid))

    def stop(self) -> None:
        """Ends all JVMs."""
        self.load.kill()
        for jvm in (*self._pair.values(), self._zookeeper):
            jvm.kill()
