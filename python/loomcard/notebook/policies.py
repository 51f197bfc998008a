"""The forms of a policy in a notebook: a name, a path, YAML text, a class or an object."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import yaml

from loomcard.api.registry import built_in, register, registered
from loomcard.experiments.inputs import Choice, InputError, choices, refuse_stock

Policy: TypeAlias = "str | Path | type | object"
"""A policy's name, ``path/to/file.py:Class``, the path or the text of a policy configuration, a
policy class, or an object of one."""


def chosen(policies: Policy | Sequence[Policy] | Mapping[str, Policy]) -> list[Choice]:
    """Return the policies, in their order, under distinct names; a mapping gives the names. Raises
    InputError with all errors.
    """
    if isinstance(policies, Mapping):
        found = [dataclasses.replace(choice_of(p), name=name) for name, p in policies.items()]
    else:
        several = isinstance(policies, Sequence) and not isinstance(policies, str)
        each_one: Sequence[Policy] = cast(Sequence[Policy], policies) if several else [policies]
        found = [choice_of(each) for each in each_one]
    names = [choice.name for choice in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        said = f"two policies are called {' and '.join(map(repr, twice))}"
        raise InputError([f"policies: {said} (name them: policies={{'mine': ..., 'other': ...}})"])
    if not found:
        raise InputError(["policies: there are none (name one, such as 'drf')"])
    return found


def choice_of(policy: Policy) -> Choice:
    """Return one policy. A class or an object is registered in this process under its class's name.
    Raises InputError.
    """
    if isinstance(policy, Path):
        policy = str(policy)
    if isinstance(policy, str):
        if "\n" in policy:
            return _of_text(policy)
        found = choices([policy], Path())
        refuse_stock(found)
        return found[0]
    cls = policy if isinstance(policy, type) else type(policy)
    if not callable(getattr(cls, "decide", None)):
        raise InputError(
            [
                f"policy {policy!r}: expected a policy's name, a path, YAML text, or a class with a"
                " method decide(view), or an object of one"
            ]
        )
    return _of_class(cls, {} if isinstance(policy, type) else _options(policy))


def here_only(config: Mapping[str, Any]) -> bool:
    """Return whether a policy was written in this process, so that no other process can load it."""
    return not registered().keys().isdisjoint(queue["policy"] for queue in config["queues"])


def _of_class(cls: type, options: dict[str, Any]) -> Choice:
    place = f"{cls.__module__}:{cls.__qualname__}"
    names = [name for name, known in registered().items() if known is cls]
    names += [name for name, own in built_in().items() if own == place]
    name = names[0] if names else cls.__name__
    if not names:
        try:
            register(name)(cls)
        except ValueError as error:
            raise InputError([f"policy {name}: {error} (give the class another name)"]) from error
    keys: dict[str, Any] = {"version": 1, "kind": "policy", "policy": name}
    text = yaml.safe_dump(keys | ({"options": options} if options else {}), sort_keys=False)
    return Choice(name, name, text)


def _options(policy: object) -> dict[str, Any]:
    """Return the fields of a policy's object that differ from its class's defaults."""
    if not dataclasses.is_dataclass(policy):
        return {}
    given = {}
    for field in dataclasses.fields(policy):
        value = getattr(policy, field.name)
        default = (
            field.default_factory()
            if field.default_factory is not dataclasses.MISSING
            else field.default
        )
        if value != default:
            given[field.name] = _plain(value)
    return given


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def _of_text(text: str) -> Choice:
    """Return a policy configuration written as text, named by its root policy."""
    choice = Choice("policy", "the text", text)
    choice.compiled({})  # what is wrong with it is listed with its lines
    name = yaml.safe_load(text).get("policy")
    return dataclasses.replace(choice, name=str(name or "policy"))
