"""What a queue of CapacityScheduler states for itself: state, priority, running applications,
labels.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from loomcard.install.convert.amounts import WHOLE, number, of_percent, percent
from loomcard.install.convert.conversion import RUNNING, ConversionError, Draft
from loomcard.install.convert.properties import PREFIX, Properties

_STATES: Final = {"RUNNING": "running", "STOPPED": "stopped", "DRAINING": "draining"}


def convert_state(given: Properties, queue: Draft) -> None:
    """Convert the state. Raises ConversionError for one that YARN does not know."""
    name, text = given.take(queue, "state")
    if text is None:
        return
    state = _STATES.get(text.upper())
    if state is None:
        raise ConversionError(f"{name}: there is no state {text!r}", "RUNNING or STOPPED")
    if state == "running":
        given.made.idle(name, text, "every queue runs unless it says otherwise")
    else:
        given.put(queue, "state", state, name, text)


def convert_priority(given: Properties, queue: Draft) -> None:
    """Convert the priority of applications that ask for none."""
    name, text = given.take(queue, "default-application-priority")
    if text is None:
        return
    priority = int(number(text, name))
    if not queue.leaf:
        given.made.idle(name, text, "CapacityScheduler reads it at leaf queues only")
    elif priority < 0:
        given.put(queue, "default_priority", 0, name, text, "no priority is below 0")
    else:
        given.put(queue, "default_priority", priority, name, text)


def convert_running(given: Properties, queue: Draft) -> None:
    """Convert the number of applications that may run; YARN lets none run below 0, too."""
    name, text = given.take(queue, "max-parallel-apps")
    if text is not None:
        given.put(queue, RUNNING, max(0, int(number(text, name))), name, text)


def convert_labels(given: Properties, queue: Draft, copies: int = 0) -> None:
    """Convert the labels, and what the queue has of each; a template stands for ``copies``."""
    name, text = given.take(queue, "accessible-node-labels")
    if text is not None and queue.parent is None:
        given.made.idle(name, text, "root may always use all labels")
    elif text is not None:
        labels = sorted({each.strip() for each in text.split(",") if each.strip()})
        given.put(queue, "labels", ["*"] if "*" in labels else labels, name, text)
    name, text = given.take(queue, "default-node-label-expression")
    if text is not None:
        given.put(queue, "default_label", text, name, text)
    elif _loses_default_label(queue):
        queue.put(
            "default_label", "", "not the parent's, all of whose labels it would have to have"
        )
    start = f"{PREFIX}{queue.path}.accessible-node-labels."
    for name in [each for each in given.left if each.startswith(start)]:
        label, _, key = name.removeprefix(start).rpartition(".")
        if label and key in ("capacity", "maximum-capacity"):
            _of_label(given, queue, label, key, name, given.left.pop(name).strip(), copies)


def _of_label(
    given: Properties, queue: Draft, label: str, key: str, name: str, text: str, copies: int
) -> None:
    made = given.made
    ours = "label_guaranteed" if key == "capacity" else "label_maximum"
    if queue.parent is None:
        made.idle(name, text, "root always has all nodes of a label")
        return
    if not _may_use(queue, label):
        made.idle(name, text, f"the queue may not use the label {label}")
        return
    if text.startswith("[") or text.endswith("w"):
        made.lost(
            name, text, "what a queue has of a label is a percentage",
            f"state {ours} of {queue.path} in percent",
        )  # fmt: skip
        return
    share = number(text, name)
    if key == "maximum-capacity" and share in (-1, WHOLE):
        made.idle(name, text, "a queue may use all that its parent may")
        return
    if key == "maximum-capacity" and share == 0:
        made.lost(name, text, f"{ours} is above 0%", f"leave {label} out of {queue.path}'s labels")
        return
    root = queue.parent.parent is None
    if key == "capacity" and share and not root and not label_share(queue.parent, label):
        above = f"{PREFIX}{queue.parent.path}.accessible-node-labels.{label}.capacity"
        if any(each.name == above and each.became == "lost" for each in made.outcomes):
            made.lost(
                name, text, "the parent is guaranteed nothing on these nodes",
                f"state {ours} of {queue.parent.path}, too",
            )  # fmt: skip
        else:
            made.idle(name, text, "the parent is guaranteed nothing on these nodes")
        return
    wanted = _of_children(queue.parent, label) + share * copies
    if copies and key == "capacity" and wanted > WHOLE:
        made.lost(
            name, text, f"{copies} queues cannot all have it",
            "lower maximum_queues, and state label_guaranteed in the template",
        )  # fmt: skip
        return
    known = dict(queue.keys.get(ours, {}))
    before = queue.origins.get(ours)
    given.put(queue, ours, known | {label: percent(share)}, name, text)
    if before is not None:
        queue.origins[ours] = f"{before}, {name} = {text}"


def _default_label(queue: Draft) -> str:
    """Return the default label that a queue would have from the queues above."""
    above = queue.parent
    while above is not None and "default_label" not in above.keys:
        above = above.parent
    return above.keys["default_label"] if above is not None else ""


def _loses_default_label(queue: Draft) -> bool:
    """Whether YARN hands no default label down: a queue's own list lacks a label of its parent."""
    if "labels" not in queue.keys or "default_label" in queue.keys or not _default_label(queue):
        return False
    above = queue.parent
    while above is not None and "labels" not in above.keys:
        above = above.parent
    parents = ["*"] if above is None else above.keys["labels"]
    return not set(parents) <= set(queue.keys["labels"])


def _may_use(queue: Draft, label: str) -> bool:
    """Whether a queue may use a label: by its own list, or the nearest above that states one."""
    above: Draft | None = queue
    while above is not None and "labels" not in above.keys:
        above = above.parent
    return above is None or bool({"*", label} & set(above.keys["labels"]))


def label_share(queue: Draft, label: str) -> Decimal:
    """Return the percentage of a label's nodes that a queue is guaranteed of its parent's."""
    return of_percent(queue.keys.get("label_guaranteed", {}).get(label, "0%"))


def _of_children(queue: Draft, label: str) -> Decimal:
    return sum((label_share(child, label) for child in queue.queues.values()), Decimal())
