"""Replay the same batches in a session in another process, with other hashes."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from loomcard.api import registry
from loomcard.engine.session import Session
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r


class SubprocessReplayError(Exception):
    """The policy cannot be used in another process; the message says why and what to do."""


def plans_in_subprocess(clusters: list[Cluster], hash_seed: int) -> list[list[str]]:
    """Return the plan of every batch of every cluster, from a process with this PYTHONHASHSEED. If
    a policy's class is inside a function, return the recorded plans. Raises SubprocessReplayError.
    """
    queues = [queue for cluster in clusters for queue in cluster.compiled["queues"]]
    names = sorted({queue["policy"] for queue in queues if queue["policy"] is not None})
    classes = [registry.find(name) for name in names]
    if any("<locals>" in cls.__qualname__ for cls in classes):
        return [[plan for _, plan in cluster.history] for cluster in clusters]
    task = {
        "policies": [
            [name, cls.__module__, _file(cls), cls.__qualname__]
            for name, cls in zip(names, classes, strict=True)
        ],
        "runs": [
            [msgspec.to_builtins(cluster.session.hello), [batch for batch, _ in cluster.history]]
            for cluster in clusters
        ],
    }
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-m", "loomcard.testing.subprocess_replay"],
        input=msgspec.json.encode(task),
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise SubprocessReplayError(
            f"another process cannot use {', '.join(names)}: {done.stderr.decode().rstrip()}\n"
            "put the policy into a file that can be imported, or pass hash_seed=None"
        )
    return msgspec.json.decode(done.stdout, type=list[list[str]])


def _file(cls: type) -> str:
    """Return the path of the class's source; empty for a class that was typed in."""
    try:
        return inspect.getfile(cls)
    except (TypeError, OSError):
        return ""


def main() -> None:
    """Read the task from standard input, write the plans to standard output."""
    task: dict[str, Any] = msgspec.json.decode(sys.stdin.buffer.read())
    for name, module, file, qualname in task["policies"]:
        cls: Any = _module(module, file)
        for part in qualname.split("."):
            cls = getattr(cls, part)
        if ".py:" not in name and not _is_known(name):
            registry.register(name)(cls)
    plans = []
    for hello, batches in task["runs"]:
        session = Session(msgspec.convert(hello, r.Hello))
        plans.append([session.decide(batch) for batch in batches])
    sys.stdout.buffer.write(msgspec.json.encode(plans))


def _is_known(name: str) -> bool:
    try:
        registry.find(name)
    except registry.PolicyNotFoundError:
        return False
    return True


def _module(name: str, file: str) -> Any:
    """Load the module as the policy's own process knows it: by name, otherwise from its file."""
    if name in sys.modules and name != "__main__":
        return sys.modules[name]
    try:
        if name != "__main__":
            return importlib.import_module(name)
    except ImportError:
        if not file:
            raise
    spec = importlib.util.spec_from_file_location(name, Path(file))
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["the policy's" if name == "__main__" else name] = (
        importlib.util.module_from_spec(spec)
    )
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
