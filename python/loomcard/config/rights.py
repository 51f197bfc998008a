"""Node labels, lifetimes and reservations: what is in force at each queue, and if it can be."""

from dataclasses import dataclass
from typing import Final

from loomcard.config.label_shares import check_label_shares
from loomcard.config.schema import UNLIMITED
from loomcard.config.tree import Branch
from loomcard.validation.reading import Document

ALL: Final = "*"


@dataclass(frozen=True)
class Rights:
    """What is in force at one queue; ``labels`` None: all. Lifetimes are in seconds, None: no
    limit. ``reservation_nodes``: on how many nodes room may be reserved for one application.
    """

    labels: tuple[str, ...] | None = None
    default_label: str = ""
    maximum_lifetime: int | None = None
    default_lifetime: int | None = None
    reservation_nodes: int = 1


def check_rights(document: Document, tree: list[Branch]) -> list[Rights]:
    """Return each queue's rights, inheritance resolved; report what contradicts them."""
    found: list[Rights] = []
    for branch in tree:
        above = Rights() if branch.parent is None else found[branch.parent]
        if branch.implied:
            found.append(above)
            continue
        labels = _labels(document, branch, above)
        maximum, default = _lifetimes(document, branch, above)
        label = _default_label(document, branch, above, labels)
        reservation_nodes = branch.queue.reservation_nodes or above.reservation_nodes
        found.append(Rights(labels, label, maximum, default, reservation_nodes))
    check_label_shares(document, tree, [rights.labels for rights in found])
    return found


def _labels(document: Document, branch: Branch, above: Rights) -> tuple[str, ...] | None:
    stated = branch.queue.labels
    if stated is None:
        return above.labels
    if ALL in stated:
        if above.labels is not None:
            message = f"the parent may use {_listed(above.labels)} only"
            document.report((*branch.place, "labels"), message, "name the labels")
        return above.labels
    for number, name in enumerate(stated):
        if above.labels is not None and name not in above.labels:
            message = f"the parent may not use the label {name}, only {_listed(above.labels)}"
            place = (*branch.place, "labels", number)
            document.report(place, message, "add it to the parent's labels")
    return tuple(sorted(set(stated)))


def _default_label(
    document: Document, branch: Branch, above: Rights, labels: tuple[str, ...] | None
) -> str:
    stated = branch.queue.default_label
    label = above.default_label if stated is None else stated
    if label and labels is not None and label not in labels:
        key = "labels" if stated is None else "default_label"
        message = f"asks go to the label {label}, but the queue may use {_listed(labels)} only"
        document.report((*branch.place, key), message, "add it to labels, or set default_label")
    return label


def _lifetimes(document: Document, branch: Branch, above: Rights) -> tuple[int | None, int | None]:
    stated = _seconds(branch.queue.maximum_lifetime)
    limits = [limit for limit in (stated, above.maximum_lifetime) if limit is not None]
    maximum = min(limits, default=None)
    default = branch.queue.default_lifetime
    own = above.default_lifetime if default is None else _seconds(default)
    if own is not None and maximum is not None and own > maximum:
        if default is not None:
            message = f"{own} s is more than the maximum lifetime here, {maximum} s"
            document.report((*branch.place, "default_lifetime"), message, "lower it")
        own = maximum
    return maximum, own


def _seconds(value: int | str) -> int | None:
    return None if value == UNLIMITED else int(value)


def _listed(labels: tuple[str, ...]) -> str:
    return ", ".join(labels) or "none"
