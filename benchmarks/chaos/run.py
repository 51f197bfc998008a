"""One run of faults and checks on a chaos cluster, written down line by line."""

from __future__ import annotations

import json
import stat
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.chaos.cluster import Cluster, now_ms, wait_until
from benchmarks.chaos.compare import (
    allowed_wait_ms,
    capsules,
    differences,
    growth,
    leftovers,
    net_wait_ms,
)
from benchmarks.chaos.conf import DEADLINE_MS, LONGEST_WAIT_MS, NODES
from benchmarks.chaos.faults import KINDS
from benchmarks.chaos.jvm import ChaosError
from benchmarks.chaos.schedule import Fault, fault

STALL_MS = 2000
"""The longest time without an allocation that the machine does not explain."""
WORTH_NOTING_MS = 500
AFTERMATH_MS = 5000
"""A fault is still named beside a wait for this long after its end."""
HOT_ROUNDS_PER_S = 30
"""While no container is requested and none ends, there is little to decide."""
CHILDREN_S = 20.0
"""A child that stays longer is a leak; the end of a process may take its time on a busy machine."""
CALM_S = 150.0
AGREE_S = 45.0
END_S = 240.0
CAPSULES = "capsules"
WRITTEN_S = 5.0
APPLIED = ": APPLIED:"


@dataclass
class Log:
    """``log.jsonl``: every fault, wait, check and violation, one JSON object per line."""

    path: Path
    seed: int
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, line: str, **facts: Any) -> None:
        """Adds one line."""
        text = json.dumps({"line": line, "seed": self.seed, "at_ms": now_ms(), **facts})
        with self._lock, self.path.open("a") as file:
            file.write(text + "\n")


class Run:
    """Fires the faults of a seed on a running cluster and checks the invariants afterwards."""

    def __init__(
        self,
        log: Log,
        seed: int,
        kinds: Sequence[str],
        show: Callable[[str], None],
        patience: float = 1.0,
    ) -> None:
        self.log = log
        self.patience = patience
        self.seed = seed
        self.kinds = kinds
        self.show = show
        self.cluster: Cluster | None = None
        self._waits: list[tuple[int, int]] = []
        self._faults: list[dict[str, Any]] = []
        self._undos: dict[int, Callable[[], None]] = {}
        self._threads: list[threading.Thread] = []
        self._one_kill = threading.Lock()
        self._baseline: dict[str, Any] = {}
        self._index = -1

    def event(self, said: dict[str, Any]) -> None:
        """Receive what the load reports."""
        if said["event"] == "wait":
            self._waits.append((said["since_ms"], said["until_ms"]))
        elif said["event"] == "violation":
            self.violation(said["kind"], said["text"])
        elif said["event"] == "greedy":
            self.log.write("greedy", kind=said["kind"], what=said["what"])
        elif said["event"] == "active":
            self.log.write("active", what=said["what"])

    def violation(self, kind: str, text: str) -> None:
        """Record something that must never happen; ``index``: the last fault before it was seen."""
        self.log.write("violation", kind=kind, text=text, index=self._index)
        self.show(f"VIOLATION after fault {self._index}: {kind}: {text}")

    # Faults

    def fire(self, index: int) -> float:
        """Begin a fault on a thread of its own. Return the pause before the next fault in
        seconds.
        """
        one = fault(self.seed, index, self.kinds)
        self._index = index
        thread = threading.Thread(target=self._do, args=(one,), name=f"fault-{index}", daemon=True)
        self._threads.append(thread)
        thread.start()
        return one.pause_s

    def _do(self, one: Fault) -> None:
        assert self.cluster is not None
        facts: dict[str, Any] = {"index": one.index, "kind": one.kind, "begin_ms": now_ms()}
        self._faults.append(facts)
        undo = None
        try:
            if one.kind.startswith("rm."):
                with self._one_kill:
                    facts["what"], undo = KINDS[one.kind](self.cluster, one)
            else:
                facts["what"], undo = KINDS[one.kind](self.cluster, one)
            if one.kind in ("swap.broken", "swap.raising") and APPLIED in facts["what"]:
                self.violation("broken configuration applied", facts["what"])
        except (ChaosError, OSError) as error:
            facts["failed"] = str(error)
        except Exception as error:  # the harness itself is wrong: no thread may end unnoticed
            self.violation("harness", f"{one.kind}: {error!r}")
            facts["failed"] = repr(error)
        if undo is not None:
            self._undos[one.index] = undo
            wait_quietly(one.lasts_s)
            self._undo(one.index)
        facts["end_ms"] = now_ms()
        self.log.write("fault", **facts)
        self.show(f"fault {one.index} {one.kind}: {facts.get('what', facts.get('failed'))}")

    def _undo(self, index: int) -> None:
        undo = self._undos.pop(index, None)
        if undo is not None:
            try:
                undo()
            except (ChaosError, OSError) as error:
                self.log.write("undo failed", index=index, why=str(error))
                self._undos[index] = undo

    # Checks

    def check(self, last: bool = False) -> None:
        """End all faults, pause the load, compare, and let the load continue."""
        cluster = self.cluster
        assert cluster is not None
        begin = time.monotonic()
        if not self._calm_down(cluster):
            return
        cluster.load.ask("close" if last else "freeze", on=True)
        try:
            if last:
                self._await_end(cluster)
            found = self._agreement(cluster, last)
            for text in found:
                self.violation(text.split(":")[0], text)
        except ChaosError as error:
            self.violation("no check was possible", str(error))
        finally:
            if not last:
                cluster.load.ask("freeze", on=False)
        self._look_at_growth(cluster)
        self._look_at_capsules(cluster)
        self._settle_waits(cluster)
        seconds = round(time.monotonic() - begin, 1)
        self.log.write("check", index=self._index, seconds=seconds, last=last)
        self.show(f"check after fault {self._index}: {seconds} s")

    def _calm_down(self, cluster: Cluster) -> bool:
        """End all faults. Return whether all was back in time; if not, a violation says so."""
        for thread in self._threads:
            thread.join(timeout=120)
        self._threads.clear()
        for index in list(self._undos):
            self._undo(index)
        cluster.clear_mode()

        def calm() -> bool:
            cluster.good_config()
            # A command that was given up can have been carried out later.
            cluster.ask_rm("exclude", hosts="")
            for node in range(NODES):
                cluster.load.ask("return", node=node)
            return cluster.is_calm()

        try:
            wait_until("policy and nodes to be back", calm, CALM_S * self.patience)
        except ChaosError as error:
            self.violation("not back", f"{error}; the bridge: {_figures(cluster)}")
            return False
        return True

    def _await_end(self, cluster: Cluster) -> None:
        def ended() -> bool:
            return not cluster.load.ask("state")["outstanding"]

        try:
            wait_until("all applications to end", ended, END_S * self.patience)
        except ChaosError as error:
            waiting = cluster.load.ask("state")["outstanding"]
            self.violation("applications do not end", f"{error}: {waiting}")

    def _agreement(self, cluster: Cluster, last: bool) -> list[str]:
        """Return what differs when nothing moves any more; compare again while something may still
        move.
        """
        before, begin = cluster.ask_rm("figures"), time.monotonic()
        found = self._differences(cluster, last)
        wait_quietly(1)
        after, seconds = cluster.ask_rm("figures"), time.monotonic() - begin
        rounds = after["rounds"] - before["rounds"]
        if rounds > HOT_ROUNDS_PER_S * seconds:
            found.append(f"rounds without news: {rounds} in {seconds:.1f} s with the load held")
        return found

    def _differences(self, cluster: Cluster, last: bool) -> list[str]:
        end = time.monotonic() + AGREE_S * self.patience
        found = ["no state: none was read"]
        while found and time.monotonic() < end:
            wait_quietly(0.5)
            try:
                cluster.poke()
                mirror = cluster.mirror()
                load = cluster.load.ask("state")
                rm = cluster.ask_rm("state")
            except ChaosError as error:
                found = [f"no state: {error}"]
                continue
            found = differences(rm, load, mirror)
            if last and not found:
                found = leftovers(rm, load, mirror)
            elif mirror["unconfirmed"] and not found:
                found = [f"unconfirmed: {mirror['unconfirmed']} containers of the mirror"]
        return found

    def _look_at_growth(self, cluster: Cluster) -> None:
        figures = cluster.ask_rm("figures", collect=True)
        self.log.write("figures", index=self._index, **figures, counts=cluster.load.ask("counts"))
        if not self._baseline or self._baseline["pid"] != cluster.rm_pid:
            self._baseline = {**figures, "pid": cluster.rm_pid}
        children = _staying(cluster.policy_pids)
        for text in growth(self._baseline, figures, children):
            self.violation(text.split(":")[0], text)

    def _look_at_capsules(self, cluster: Cluster) -> None:
        """Check each folder of capsules as soon as nothing is being written there."""
        for folder in cluster.files.state.rglob(CAPSULES):
            end = time.monotonic() + WRITTEN_S * self.patience
            while (found := capsules(_modes(folder))) and time.monotonic() < end:
                wait_quietly(0.5)
            for text in found:
                self.violation(text.split(":")[0], text)

    def _settle_waits(self, cluster: Cluster) -> None:
        """Write down how long the probe waited, less the machine's part."""
        cluster.collect_pauses()
        waits, self._waits = self._waits, []
        open_since = cluster.load.ask("state")["probe_waits_since_ms"]
        if open_since and now_ms() - open_since > STALL_MS:
            waits.append((open_since, now_ms()))
        for since, until in waits:
            if until - since < WORTH_NOTING_MS:
                continue
            net = net_wait_ms(since, until, cluster.down, cluster.pauses)
            near = [
                (f["index"], f["kind"])
                for f in self._faults
                if f["begin_ms"] < until and f.get("end_ms", until) + AFTERMATH_MS > since
            ]
            self.log.write("wait", since_ms=since, ms=until - since, net_ms=net, faults=near)
            kinds = [kind for _, kind in near]
            if net > allowed_wait_ms(kinds, STALL_MS, DEADLINE_MS, LONGEST_WAIT_MS):
                self.violation(
                    "stall", f"{net} ms of {until - since} ms from {since} on, beside {near}"
                )
        cluster.pauses.clear()

    def go(self, first: int, count: int, every: int, end: float) -> int:
        """Fires faults ``first`` to ``count - 1`` until ``time.monotonic()`` is ``end``; checks
        every ``every``. Returns the number of the next fault.
        """
        self.check()
        index = first
        while index < count and time.monotonic() < end:
            wait_quietly(self.fire(index))
            index += 1
            if index % every == 0 and index < count:
                self.check()
        self.check()
        self.check(last=True)
        return index


def _modes(folder: Path) -> dict[str, int]:
    """Return the mode of each file; a file that vanishes in the meantime is left out."""
    found = {}
    for file in folder.iterdir():
        try:
            found[file.name] = stat.S_IMODE(file.stat().st_mode)
        except FileNotFoundError:
            continue
    return found


def _figures(cluster: Cluster) -> str:
    try:
        return str(cluster.ask_rm("figures"))
    except ChaosError as error:
        return str(error)


def _staying(children: Callable[[], Collection[int]]) -> int:
    """Return how many child processes stay; YARN starts short ones, such as a `chmod` of its
    store.
    """
    end = time.monotonic() + CHILDREN_S
    staying = set(children())
    while len(staying) > 1 and time.monotonic() < end:
        wait_quietly(0.5)
        staying &= set(children())
    return len(staying)


def wait_quietly(seconds: float) -> None:
    """Wait that long."""
    time.sleep(seconds)
