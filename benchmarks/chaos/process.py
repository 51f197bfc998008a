"""The policy process of ``make chaos``: the real one, with faults that a file switches on.

Run as the interpreter of the ResourceManager's settings: ``-P -m loomcard.bridge.process ...``. The
folder ``LOOMCARD_CHAOS`` holds ``mode.json`` (which fault, until when) and, on request, the dump of
the mirror.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from loomcard.bridge import handshake
from loomcard.engine.session import Session
from loomcard.wire import messages

POLL_S = 0.1
LONG_S = 3600.0
WRONG_SCHEMA = 99
MB = 1 << 20
LEAKED_FILES = 200


class Switch:
    """What the process shall do wrong now, read from ``mode.json``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.answered = 0
        self._hoard: list[bytearray] = []
        self._files: list[int] = []
        self._seen = ""

    def mode(self) -> tuple[str, float]:
        """Return the fault and its strength; the fault is "" if there is none."""
        try:
            found = json.loads((self.folder / "mode.json").read_text())
        except (OSError, ValueError):
            return "", 0.0
        if time.time() > found["until"]:
            return "", 0.0
        if found["id"] != self._seen:
            self._seen, self.answered = found["id"], 0
        return found["mode"], found["strength"]

    def before(self, mode: str, strength: float) -> None:
        """Do what goes wrong before the answer."""
        self.answered += 1
        if mode == "slow":
            time.sleep(0.3 + 5 * strength)
        elif mode == "hang" and self.answered > 1:
            time.sleep(LONG_S)
        elif mode == "raises":
            raise RuntimeError("a fault of make chaos")
        elif mode == "memory":
            for _ in range(int(2 + 14 * strength)):
                self._hoard.append(bytearray(os.urandom(1)) * (64 * MB))
        elif mode == "leaks":
            self._hoard.append(bytearray(os.urandom(1)) * (int(1 + 7 * strength) * MB))
            if len(self._files) < LEAKED_FILES:
                self._files.append(os.open(os.devnull, os.O_RDONLY))
        elif mode == "prints":
            for _ in range(int(50 + 350 * strength)):
                sys.stdout.write("x" * MB)
            sys.stdout.flush()
        elif mode == "exit" and strength < 0.5:
            sys.exit(3)
        elif mode == "exit":
            os._exit(3)

    def after(self, reply: str, mode: str, strength: float) -> str:
        """Return the answer as it is sent."""
        if mode == "garbage":
            return '["plan", 7, {' if strength < 0.5 else "\x00no json"
        if mode == "huge-reply":
            return '["plan", "' + "x" * int(MB * (20 + 100 * strength)) + '"]'
        if mode in ("overcommit", "gone"):
            return _tampered(reply, mode)
        return reply


def _tampered(reply: str, mode: str) -> str:
    plan = json.loads(reply)
    if plan[0] != "plan" or not isinstance(plan[2], list):
        return reply
    allocations = [d for d in plan[2] if d[0] == "allocate"]
    if mode == "overcommit":
        more = [[*d[:5], 500, d[6]] for d in allocations for _ in range(3)]
    else:
        more = [["allocate", 1, 1, 1, 999_999, 1, 0], ["allocate", 888_888, 1, 1, 1, 1, 0]]
        more += [["allocate", 1, 1, 777_777, 1, 1, 0]]
        more += [["preempt", 666_666_666, 0, "a fault of make chaos", 0]]
        more += [[*d[:4], 999_999, *d[5:]] for d in allocations]
    plan[2] = plan[2] + more
    return json.dumps(plan, separators=(",", ":"))


def seen(session: Session) -> dict[str, Any]:
    """Return the mirror's view of the cluster in the form that the checks need."""
    mirror = session.mirror
    state = mirror.state
    containers, unconfirmed = [], 0
    nodes = {}
    for node in state.nodes.values():
        nodes[node.id] = {
            "capacity": list(node.capacity), "free": list(node.free), "label": node.label,
            "shared": node.shared,
        }  # fmt: skip
        for one in node.containers:
            unconfirmed += one.number not in state.containers
            containers.append(
                {
                    "application": one.application.id, "number": one.yarn_number,
                    "node": node.id, "size": list(one.size),
                }
            )  # fmt: skip
    pending = {app.id: app.pending_count for app in state.applications.values()}
    return {
        "nodes": nodes, "containers": containers, "pending": pending,
        "unconfirmed": unconfirmed, "pid": os.getpid(), "set_up": mirror.config is not None,
    }  # fmt: skip


class Dumps:
    """Writes what the latest session sees whenever ``dump.request`` names a new dump."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.session: Session | None = None
        self.busy = threading.Lock()
        self._done = ""
        threading.Thread(target=self._run, name="chaos-dumps", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(POLL_S)
            try:
                wanted = (self.folder / "dump.request").read_text()
                if wanted != self._done and self.session is not None:
                    with self.busy:
                        text = json.dumps(seen(self.session))
                    draft = self.folder / f"dump-{os.getpid()}.draft"
                    draft.write_text(text)
                    draft.replace(self.folder / f"dump-{wanted}.json")
                    self._done = wanted
            except (OSError, RuntimeError, AttributeError):
                continue  # there is no request, or the mirror is being rebuilt


def install(folder: Path) -> None:
    """Puts the faults between the process and its session."""
    switch, dumps = Switch(folder), Dumps(folder)
    decide, reply_to = Session.decide, handshake.reply_to

    def faulty_decide(self: Session, batch_text: str, cuts: Sequence[int] = ()) -> str:
        dumps.session = self
        mode, strength = switch.mode()
        switch.before(mode, strength)
        with dumps.busy:
            reply = decide(self, batch_text, cuts)
        return switch.after(reply, mode, strength)

    def faulty_reply(hello: messages.Hello) -> messages.HelloReply:
        reply = reply_to(hello)
        if switch.mode()[0] == "version":
            return msgspec.structs.replace(reply, schema=WRONG_SCHEMA)
        return reply

    Session.decide = faulty_decide  # type: ignore[method-assign]
    handshake.reply_to = faulty_reply


def main() -> None:
    """Runs the module that the arguments name, as the interpreter would."""
    arguments = sys.argv[1:]
    module = arguments[arguments.index("-m") + 1]
    sys.argv = [module, *arguments[arguments.index("-m") + 2 :]]
    install(Path(os.environ["LOOMCARD_CHAOS"]))
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
