"""Files of stock schedulers for tests of `loomcard policy import`, and what becomes of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from loomcard.config import compile_config
from loomcard.install.convert import Conversion, Outcome, convert, written

PREFIX = "yarn.scheduler.capacity."
TWO = {"root.queues": "a,b", "root.a.capacity": "60", "root.b.capacity": "40"}
"""Two leaves of a CapacityScheduler."""


def properties(values: Mapping[str, str]) -> str:
    """Return a configuration file of Hadoop's with these properties."""
    lines = [
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in values.items()
    ]
    return f"<configuration>{''.join(lines)}</configuration>"


def capacity(
    folder: Path, values: Mapping[str, str], site: Mapping[str, str] | None = None
) -> Conversion:
    """Convert a capacity-scheduler.xml with these properties below the common prefix, unless they
    begin with ``yarn.``; ``site`` is the yarn-site.xml beside it.
    """
    file = folder / "capacity-scheduler.xml"
    whole = {
        name if name.startswith("yarn.") else PREFIX + name: text for name, text in values.items()
    }
    file.write_text(properties(whole))
    if site is not None:
        (folder / "yarn-site.xml").write_text(properties(site))
    return convert(file)


def fair(
    folder: Path,
    text: str,
    whole: Mapping[str, int] | None = None,
    site: Mapping[str, str] | None = None,
) -> Conversion:
    """Convert an allocation file with this content."""
    file = folder / "fair-scheduler.xml"
    file.write_text(f"<allocations>{text}</allocations>")
    if site is not None:
        (folder / "yarn-site.xml").write_text(properties(site))
    return convert(file, whole)


def queue(made: Conversion, path: str) -> dict[str, Any]:
    """Return what the written file states of a queue; `policy check` must accept the file."""
    text = written(made)
    assert compile_config(text, "converted.yml")["queues"]
    found: dict[str, Any] = yaml.safe_load(text)
    for name in path.split(".")[1:]:
        found = found["queues"][name]
    return found


def outcome(made: Conversion, name: str) -> Outcome:
    """Return what became of the property whose name ends like this."""
    (found,) = [each for each in made.outcomes if each.name.endswith(name)]
    return found
