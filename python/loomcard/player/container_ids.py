"""The identity of a container, in whatever form a source writes it. A container is the triple
(application id, attempt's number, container's number with the epoch in its upper bits).
"""

import re

ContainerKey = tuple[str, int, int]

_ID = re.compile(r"container_(?:e(\d+)_)?(\d+)_(\d+)_(\d+)_(\d+)")
_EPOCH_BITS = 40


def container_key(container: str) -> ContainerKey:
    """Return a container's key from its YARN id. Raises ValueError for a text that is not one."""
    found = _ID.fullmatch(container)
    if found is None:
        raise ValueError(f"{container!r} is not an id like container_1700000000000_0001_01_000001")
    epoch, cluster, application, attempt, number = found.groups()
    return (
        f"application_{cluster}_{application}",
        int(attempt),
        (int(epoch or 0) << _EPOCH_BITS) + int(number),
    )
