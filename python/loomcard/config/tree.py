"""The queues of a configuration as a list, depth first, each with its parent and place."""

from dataclasses import dataclass

from loomcard.config.schema import PolicyConfig, Queue
from loomcard.validation.reading import Path


@dataclass(frozen=True)
class Branch:
    """A queue in its tree: ``name`` is its YARN path, ``place`` its path in the file.

    ``parent`` is the parent's index in the list of branches, None for root. ``implied`` marks
    ``root.default`` of a file without ``queues``, which the file's own keys govern.
    """

    name: str
    place: Path
    queue: Queue
    parent: int | None
    leaf: bool
    implied: bool = False


def branches(config: PolicyConfig) -> list[Branch]:
    """Return all queues depth first, siblings by name: their order in the file does not matter."""
    if not config.queues:
        root = Branch("root", (), config, None, leaf=False)
        return [root, Branch("root.default", (), config, 0, leaf=True, implied=True)]
    found: list[Branch] = []
    _collect(Branch("root", (), config, None, leaf=False), found)
    return found


def _collect(branch: Branch, found: list[Branch]) -> None:
    index = len(found)
    found.append(branch)
    for name, queue in sorted(branch.queue.queues.items()):
        place = (*branch.place, "queues", name)
        child = Branch(f"{branch.name}.{name}", place, queue, index, leaf=not queue.queues)
        _collect(child, found)
