"""A conversion as a YAML file: every key with the property that it came from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import yaml

from loomcard.install.convert.conversion import Conversion, Draft

_FIRST: Final = ("version", "policy", "options")
_COMMENT_MOST: Final = 200
"""Characters of a comment beside a key; a longer one is cut."""
_VALUE_MOST: Final = 80
"""Characters of a lost property's value; its reason and remedy are never cut."""


def written(made: Conversion) -> str:
    """Return the text of the policy configuration, with what is lost named at its head."""
    return "\n".join([*_head(made), *_queue(made.root, 0)]) + "\n"


def _head(made: Conversion) -> Iterator[str]:
    yield f"# {made.scheduler}'s {made.place}, converted by `loomcard policy import`."
    yield (
        f"# Of its properties {made.count('converted')} are converted, "
        f"{made.count('no effect')} have no effect, {made.count('lost')} are lost."
    )
    for outcome in made.outcomes:
        if outcome.became == "lost":
            said = _short(outcome.value, _VALUE_MOST)
            yield _line(f"# lost: {outcome.name} = {said}: {outcome.why}; {outcome.remedy}")
    yield "version: 1"


def _queue(queue: Draft, depth: int) -> Iterator[str]:
    inset = "  " * depth
    for key in sorted(queue.keys, key=lambda key: (key not in _FIRST, _rank(key))):
        origin = queue.origins.get(key, "")
        if key == "placement":
            yield f"{inset}placement:  {_short(f'# {origin}')}"
            yield from (f"{inset}  - {_flow(rule)}" for rule in queue.keys[key])
            continue
        text = f"{inset}{key}: {_flow(queue.keys[key])}"
        yield f"{text}  {_short(f'# {origin}')}" if origin else text
    if queue.queues:
        yield f"{inset}queues:"
    for name, below in queue.queues.items():
        lines = list(_queue(below, depth + 2))
        yield f"{inset}  {_flow(name)}:" + ("" if lines else " {}")
        yield from lines


def _rank(key: str) -> int:
    return _FIRST.index(key) if key in _FIRST else 0


def _flow(value: Any) -> str:
    text = yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, width=2**20, allow_unicode=True
    )
    return text.removesuffix("\n").removesuffix("\n...")


def _short(comment: str, most: int = _COMMENT_MOST) -> str:
    line = _line(comment)
    return line if len(line) <= most else f"{line[: most - 3]}..."


def _line(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())
