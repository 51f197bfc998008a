"""What a run was made of, so that it can be repeated: versions, seeds, hashes of inputs."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

FORMAT = 1
_MATTER = ("loomcard", "msgspec", "numpy", "polars", "pydantic", "pyyaml")


def manifest(
    inputs: Mapping[str, bytes],
    *,
    command: Sequence[str] = (),
    seeds: Sequence[int] = (),
    engine: str = "simulator",
    hadoop: str | None = None,
) -> dict[str, Any]:
    """Return the manifest of a run folder, ready for JSON. ``inputs``: the files that were read, by
    the name under which a reader knows them; their content is recorded as SHA-256. ``hadoop``: the
    version, if a real cluster ran it. ``host``, ``git`` (of a checkout; None elsewhere) and
    ``made_at`` say where and when: they are not inputs.
    """
    return {
        "format": FORMAT,
        "command": list(command),
        "engine": engine,
        "seeds": list(seeds),
        "inputs": {name: sha256(data).hexdigest() for name, data in sorted(inputs.items())},
        "versions": _versions() | ({"hadoop": hadoop} if hadoop else {}),
        "host": host(),
        "git": checkout(),
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@cache
def host() -> dict[str, Any]:
    """Return the machine: system, processor, cores that this process may use, memory, and the JDK
    that ``java`` starts (None: not found). It has no name.
    """
    return {
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
        "jdk": _jdk(),
    }


def _jdk() -> str | None:
    """Return the version in the file ``release`` that every JDK has: no JVM is started for it."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java")
    homes = [Path(home)] if home else []
    homes += [Path(java).resolve().parent.parent] if java else []
    for each in homes:
        try:
            text = (each / "release").read_text("utf-8", errors="replace")
        except OSError:
            continue
        if found := re.search(r'^JAVA_VERSION="([^"]*)"', text, re.MULTILINE):
            return found[1]
    return None


@cache
def checkout() -> dict[str, Any] | None:
    """Return the commit of the checkout that Loomcard runs from, and whether files differ from
    it.
    """
    folder = Path(__file__).resolve()
    root = next((each for each in folder.parents if (each / ".git").exists()), None)
    if root is None:
        return None
    try:
        commit = _git(root, "rev-parse", "HEAD").strip()
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):  # no git here, or another user's checkout
        return None
    return {"commit": commit, "dirty": bool(changed.strip())}


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    return done.stdout


def _versions() -> dict[str, str]:
    """Return the versions of the interpreter, and of the packages that could change a result."""
    found = {"python": platform.python_version()}
    for name in _MATTER:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a checkout that is not installed
            found[name] = "unknown"
    return dict(sorted(found.items()))
