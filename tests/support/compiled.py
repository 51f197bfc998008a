"""Compiled configurations for tests of the model, written out in full. They can contain what no
YAML can express.
"""

from __future__ import annotations

from typing import Any

PPM = 1_000_000


def queue(path: str, policy: str | None, **keys: Any) -> dict[str, Any]:
    """Return one queue of a compiled configuration, with every default; percentages are in ppm."""
    spec: dict[str, Any] = {
        "administer": ["*"], "am_share_ppm": PPM, "guaranteed": {"ppm": 0}, "leaf": True,
        "maximum": {"ppm": PPM}, "options": {}, "parent": None, "path": path, "policy": policy,
        "policy_named": True, "submit": ["*"], "user_limit_ppm": PPM, "walked": False,
        "weight": 1.0,
    }  # fmt: skip
    return spec | keys


def config(*queues: dict[str, Any]) -> dict[str, Any]:
    """Return a compiled configuration of these queues, parents first. Each queue's parent, and
    whether it is a leaf, follow from the paths.
    """
    paths = [q["path"] for q in queues]
    for q in queues:
        parent = q["path"].rpartition(".")[0]
        q["parent"] = paths.index(parent) if parent else None
        q["leaf"] = not any(p.startswith(q["path"] + ".") for p in paths)
        if not parent:
            q["guaranteed"] = {"ppm": PPM}
    return {"hash": "h", "needs": [], "queues": list(queues), "schema": 1, "source": "test"}


def flat(policy: str = "fifo", **options: Any) -> dict[str, Any]:
    """Return a configuration with one leaf queue, root.default, under a policy."""
    return config(queue("root", "fifo"), queue("root.default", policy, options=options))
