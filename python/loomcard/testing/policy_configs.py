"""Configurations made from a policy, in any form in which an author may have it."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import msgspec

from loomcard.api import registry
from loomcard.config import compile_config
from loomcard.stress.scenario import Candidate

UNDER_TEST = "under-test"
"""The first part of the name of a policy that is not registered; its class name follows."""


def compiled(policy: Any, queues: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the compiled configuration for ``policy``: a policy object, its class, the name of a
    registered policy or ``path/to/file.py:Class``, the YAML text of a configuration, or a compiled
    configuration.

    ``queues``: as the key of that name in a configuration; without it the only queue is
    ``root.default``. Raises FindingsError if the configuration is wrong, and TypeError if
    ``policy`` has none of these forms.
    """
    if isinstance(policy, dict):
        return policy
    if is_yaml(policy):
        return compile_config(policy, "test")
    name, options = named(policy)
    below = {} if queues is None else {"queues": queues}
    text = json.dumps({"version": 1, "policy": name, "options": options, **below})
    return compile_config(text, "test")


def configs(policy: Any) -> dict[str, dict[str, Any]]:
    """Return compiled configurations that use a policy in its possible places, each by a word:
    alone, and among queues with weights, guarantees, maxima and user limits. A configuration is
    used unchanged.
    """
    if isinstance(policy, dict) or is_yaml(policy):
        return {"as given": compiled(policy)}
    name, options = named(policy)
    here = {"policy": name, "options": options}
    limits = {"maximum": "50%", "user_limit": "50%", "am_share": "50%"}
    if getattr(registry.find(name), "leaf_only", False):
        tree = {"a": {**here, "weight": 2, **limits}, "b": {**here, "guaranteed": "25%"}}
        among = {"version": 1, "policy": "drf", "queues": tree}
    else:
        inner = {"weight": 2, "guaranteed": "25%", "queues": {"x": limits, "y": {}}}
        among = {"version": 1, **here, "queues": {"a": inner, "b": {**here, **limits}}}
    return {"alone": compiled(policy), "queues": compile_config(json.dumps(among), "test")}


def candidate(policy: Any) -> Candidate:
    """Return the policy for a stress scenario, with its options; for a configuration the policy
    that governs most.
    """
    if not isinstance(policy, dict) and not is_yaml(policy):
        return Candidate(*named(policy))
    root, *below = compiled(policy)["queues"]
    queue = below[0] if len(below) == 1 else root  # a file without queues governs root.default
    return Candidate(queue["policy"], queue["options"])


def is_yaml(policy: Any) -> bool:
    """Whether ``policy`` is the text of a configuration, not a name."""
    return isinstance(policy, str) and "policy:" in policy


def named(policy: Any) -> tuple[str, dict[str, Any]]:
    """Return the name and the options by which a configuration can use the policy. A class that is
    not registered is registered, in this process.
    """
    if isinstance(policy, str):
        registry.find(policy)
        return policy, {}
    if isinstance(policy, type):
        return _name(policy), {}
    if not callable(getattr(policy, "decide", None)):
        raise TypeError(f"{policy!r} is not a policy, a policy's name or a configuration")
    if not dataclasses.is_dataclass(policy):
        raise TypeError(f"{policy!r}: a policy object is a dataclass whose fields are its options")
    fields = [field.name for field in dataclasses.fields(policy) if field.init]
    options = {field: msgspec.to_builtins(getattr(policy, field)) for field in fields}
    return _name(type(policy)), options


def _name(cls: type) -> str:
    origin = f"{cls.__module__}:{cls.__qualname__}"
    for known in registry.names():
        if known.origin == origin and registry.find(known.name) is cls:
            return known.name
    registry.register(f"{UNDER_TEST}-{origin}")(cls)
    return f"{UNDER_TEST}-{origin}"
