"""What a run was made of, so that another can be made equal: versions, seeds, hashes of inputs."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
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
    """The manifest of a run folder, ready for JSON.

    ``inputs``: the files that were read, by the name under which a reader knows them; what stands
    in them is kept as its SHA-256. ``hadoop``: the version, where a real cluster ran it.
    """
    return {
        "format": FORMAT,
        "command": list(command),
        "engine": engine,
        "seeds": list(seeds),
        "inputs": {name: sha256(data).hexdigest() for name, data in sorted(inputs.items())},
        "versions": _versions() | ({"hadoop": hadoop} if hadoop else {}),
    }


def _versions() -> dict[str, str]:
    """Of the interpreter, and of the packages whose change could change a result."""
    found = {"python": platform.python_version()}
    for name in _MATTER:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a checkout that is not installed
            found[name] = "unknown"
    return dict(sorted(found.items()))
