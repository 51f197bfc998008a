"""The properties of a CapacityScheduler while they are converted, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from loomcard.install.convert.conversion import Conversion, Draft

PREFIX: Final = "yarn.scheduler.capacity."


class Properties:
    """What is left of the file: each part of the conversion takes out what it reads."""

    def __init__(self, values: Mapping[str, str], made: Conversion) -> None:
        self.left = dict(values)
        self.made = made

    def take(self, queue: Draft | None, key: str) -> tuple[str, str | None]:
        """Return a property's full name and its value; None if the file does not state it."""
        name = f"{PREFIX}{queue.path}.{key}" if queue is not None else PREFIX + key
        value = self.left.pop(name, None)
        return name, value if value is None else value.strip()

    def put(self, queue: Draft, key: str, value: Any, name: str, text: str, why: str = "") -> None:
        """Set a queue's key, and record that this property became it."""
        queue.put(key, value, f"{name} = {text}" + (f"; {why}" if why else ""))
        self.made.converted(name, text, queue, key, why)
