"""What the policy process may use of its machine; it sets this before it loads any policy."""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping
from pathlib import Path

MAX_MEMORY = "LOOMCARD_PROCESS_MAX_MEMORY_MB"
"""The environment variable in which the ResourceManager states the most memory; 0: half of it."""

REACHED = 0.75
"""From this part of the limit on, memory counts as used up."""

OOM_SCORE_ADJ = 900
"""When the machine runs out of memory, its kernel ends this process before the ResourceManager."""

_CONTROL_GROUP_FILES = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def apply(environment: Mapping[str, str] = os.environ) -> int:
    """Limit the memory of this process, and let the kernel end it first. Return the limit in MB.

    The limit counts memory to which the process may write, not address space that it only reserves,
    as numpy's and polars' thread pools do. Beyond it, Python raises ``MemoryError``. Raises
    ``ValueError`` if the limit is not a number.
    """
    wanted_mb = int(environment.get(MAX_MEMORY, "0"))
    limit = (wanted_mb << 20) or half_of_the_memory()
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    prefer_for_oom()
    return limit >> 20


def are_reached() -> bool:
    """Whether this process uses most of the memory that it may have, so that a ``MemoryError`` was
    not caused by one large piece alone; False if the kernel does not say.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return False
    kept_kb = next((int(line.split()[1]) for line in lines if line.startswith("VmData:")), 0)
    return limit != resource.RLIM_INFINITY and kept_kb << 10 > REACHED * limit


def half_of_the_memory(control_group_files: tuple[Path, ...] = _CONTROL_GROUP_FILES) -> int:
    """Half of the bytes that this machine, or this process's control group, has."""
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in control_group_files:
        try:
            text = file.read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdecimal():
            most = min(most, int(text))
    return most // 2


def prefer_for_oom(file: Path = Path("/proc/self/oom_score_adj")) -> None:
    """Let the kernel end this process first. Do nothing if the kernel has no such file, or if the
    score is already higher.
    """
    try:
        if int(file.read_text(encoding="ascii")) < OOM_SCORE_ADJ:
            file.write_text(str(OOM_SCORE_ADJ), encoding="ascii")
    except OSError:
        return
