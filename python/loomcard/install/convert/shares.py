"""What the queues of CapacityScheduler have of the cluster: guarantees, weights and maxima."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from loomcard.install.convert.amounts import (
    WHOLE,
    amount,
    number,
    of_percent,
    percent,
    plain,
    vector,
)
from loomcard.install.convert.conversion import ConversionError, Draft
from loomcard.install.convert.own_keys import label_share
from loomcard.install.convert.properties import Properties

DEFAULT: Final = "CapacityScheduler's default"
_LEAST_WEIGHT: Final = 0.000001


class Shares:
    """Converts capacities; ``parts`` has each queue's part of the cluster in percent, where it is
    known without the cluster's size.
    """

    def __init__(self, given: Properties) -> None:
        self._given = given
        self._made = given.made
        self.parts: dict[Draft, Decimal] = {}

    def level(self, parent: Draft) -> None:
        """Give the queues of one level their guarantees and weights, then their maxima."""
        if parent.parent is None:
            self.parts[parent] = WHOLE
            name, text = self._given.take(parent, "capacity")
            if text is not None:
                self._made.idle(name, text, "root always has the whole cluster")
            self.maximum(parent)
        stated = {queue: self._capacity(queue) for queue in parent.queues.values()}
        weights = sum((_weight(text, name) for name, text in stated.values()), Decimal())
        percents = sum((_percentage(text, name) for name, text in stated.values()), Decimal())
        amounts = any(text is not None and text.startswith("[") for _, text in stated.values())
        for queue, (name, text) in stated.items():
            if text is not None and text.startswith("["):
                self._vector(queue, "guaranteed", name, text)
            elif text is not None and text.endswith("w"):
                self._weighted(queue, name, text, weights, WHOLE - percents, amounts)
            else:
                share = _percentage(text, name)
                self._part(queue, share)
                origin = f"{name} = {text}" if text else f"{DEFAULT}: 0"
                # Of a parent that has a weight, a percentage is one, too.
                key = "guaranteed" if _guarantees(parent) else "weight"
                value = percent(share) if key == "guaranteed" else _as_weight(share)
                queue.put(key, value, origin)
                if text is not None:
                    self._made.converted(name, text, queue, key)
        for queue in parent.queues.values():
            self.maximum(queue)

    def _weighted(
        self, queue: Draft, name: str, text: str, weights: Decimal, rest: Decimal, amounts: bool
    ) -> None:
        """Convert a weight: a part of the ``rest``, in percent, that percentages leave."""
        weight = _weight(text, name)
        why = "" if weight else "a weight is above 0"
        queue.put("weight", _as_weight(weight), f"{name} = {text}")
        self._made.converted(name, text, queue, "weight", why)
        if amounts:
            return
        share = rest * weight / weights if weights else Decimal()
        self._part(queue, share)
        if rest != WHOLE and queue.parent is not None and not _guarantees(queue.parent):
            queue.put("weight", _as_weight(share), "what percentages leave, by weight")
        elif rest != WHOLE:
            queue.put("guaranteed", percent(share), "what percentages leave, by weight")

    def _part(self, queue: Draft, share: Decimal) -> None:
        """Keep the queue's part of the cluster, if its parent's is known."""
        if queue.parent in self.parts:
            self.parts[queue] = self.parts[queue.parent] * share / WHOLE

    def of_applications(self, queue: Draft) -> Decimal | None:
        """Return the part of the system's applications in percent; None if it is not known.

        It is that of the cluster, or of the nodes of a label, where the queue has most.
        """
        if queue not in self.parts:
            return None
        labels = queue.keys.get("label_guaranteed", {})
        return max([self.parts[queue], *(_part_of_label(queue, label) for label in labels)])

    def _capacity(self, queue: Draft) -> tuple[str, str | None]:
        """Return the capacity; ``[memory=10%,vcores=10%]`` is the percentage 10."""
        name, text = self._given.take(queue, "capacity")
        if text is not None and text.startswith("["):
            parts = set(vector(text, name).values())
            if len(parts) == 1 and (share := parts.pop()).endswith("%"):
                return name, share.rstrip("%")
        return name, text

    def maximum(self, queue: Draft) -> None:
        """Convert the maximum of a queue, or of a template. Nothing may be used: it is stopped."""
        name, text = self._given.take(queue, "maximum-capacity")
        if text is None:
            return
        if text.startswith("["):
            self._vector(queue, "maximum", name, text)
            return
        most = number(text, name)
        if most in (-1, WHOLE):
            self._made.idle(name, text, "a queue may use all of its parent's maximum")
        elif not 0 <= most < WHOLE:
            raise ConversionError(f"{name}: {text} is no percentage", "YARN refuses it too")
        elif percent(most) == "0%":
            self._given.put(queue, "state", "stopped", name, text, "it may use nothing")
        else:
            self._given.put(queue, "maximum", percent(most), name, text)

    def _vector(self, queue: Draft, key: str, name: str, text: str, copies: int = 0) -> None:
        """Convert ``[memory=10240,vcores=10]``, or percentages that are all alike."""
        parts = vector(text, name)
        found: Any
        if len(set(parts.values())) == 1 and all(part.endswith("%") for part in parts.values()):
            found = percent(number(next(iter(parts.values())).rstrip("%"), name))
        elif any(part.endswith(("%", "w")) for part in parts.values()):
            self._made.lost(
                name, text, "a share is one percentage, or amounts, for all resources together",
                f"state {key} of {queue.path} as amounts, or as one percentage",
            )  # fmt: skip
            return
        else:
            found = {kind: amount(kind, part, name) for kind, part in parts.items()}
            if not any(found.values()) and key != "guaranteed":
                self._made.idle(name, text, "nothing is stated")
                return
        self._put_fitting(queue, key, found, name, text, copies)

    # -- created queues

    def of_template(self, leaf: Draft, copies: int) -> Decimal | None:
        """Convert a template's capacity. Return its percentage of the parent, if it is one; that
        of a weight of 0 is 0.
        """
        name, text = self._given.take(leaf, "capacity")
        if text is None:
            return None
        if text.startswith("["):
            self._vector(leaf, "guaranteed", name, text, copies)
            return None
        if text.endswith("w"):
            weight = _weight(text, name)
            why = "" if weight else "a weight is above 0"
            self._given.put(leaf, "weight", _as_weight(weight), name, text, why)
            return None if weight else Decimal()
        share = number(text, name)
        self._put_fitting(leaf, "guaranteed", percent(share), name, text, copies)
        return share

    def _put_fitting(
        self, queue: Draft, key: str, value: Any, name: str, text: str, copies: int
    ) -> None:
        """Set a key; a guarantee of a template only if all the queues made from it can have it."""
        if key == "guaranteed" and copies and not _fits(queue, value, copies):
            self._made.lost(
                name, text, f"{copies} queues cannot all have it; they share by weight",
                "lower maximum_queues, and state guaranteed in the template",
            )  # fmt: skip
        else:
            self._given.put(queue, key, value, name, text)


def _fits(leaf: Draft, value: Any, copies: int) -> bool:
    """Whether a parent can guarantee this to each of so many created queues."""
    parent = leaf.parent
    assert parent is not None
    if not _any(value):
        return True
    if not _guarantees(parent):
        return False
    others = [each.keys["guaranteed"] for each in parent.queues.values()
              if "guaranteed" in each.keys]  # fmt: skip
    wanted = [*others, *[value] * copies]
    whole = sum((of_percent(each) for each in wanted if isinstance(each, str)), Decimal())
    if whole > WHOLE:
        return False
    own = _amounts_of(parent)
    if own is None:
        return True
    return all(
        sum(_of_size(each, own).get(kind, 0) for each in wanted) <= own.get(kind, 0)
        for kind in {kind for each in wanted for kind in _of_size(each, own)}
    )


def _as_weight(found: Decimal) -> float:
    """Return a weight, which is above 0 here."""
    return plain(found) if found else _LEAST_WEIGHT


def _any(value: Any) -> bool:
    return any(value.values()) if isinstance(value, dict) else of_percent(value) > 0


def _guarantees(queue: Draft) -> bool:
    """Whether a queue is guaranteed anything at all."""
    above: Draft | None = queue
    while above is not None and above.parent is not None:
        own = above.keys.get("guaranteed", "0%")
        if not _any(own):
            return False
        if isinstance(own, dict):
            return True
        above = above.parent
    return True


def _amounts_of(queue: Draft) -> dict[str, int] | None:
    """Return a queue's guarantee in amounts; None if it is a part of the cluster."""
    own = queue.keys.get("guaranteed", "0%")
    if isinstance(own, dict) or queue.parent is None:
        return own if isinstance(own, dict) else None
    above = _amounts_of(queue.parent)
    return None if above is None else _of_size(own, above)


def _of_size(value: Any, whole: dict[str, int]) -> dict[str, int]:
    if isinstance(value, dict):
        return value
    return {kind: int(most * of_percent(value) / WHOLE) for kind, most in whole.items()}


def _part_of_label(queue: Draft, label: str) -> Decimal:
    """Return a queue's part of the nodes of a label, in percent of them all."""
    part, above = WHOLE, queue
    while above.parent is not None:
        part = part * label_share(above, label) / WHOLE
        above = above.parent
    return part


def _weight(text: str | None, name: str) -> Decimal:
    if text is None or text.startswith("[") or not text.endswith("w"):
        return Decimal()
    return number(text.removesuffix("w"), name)


def _percentage(text: str | None, name: str) -> Decimal:
    if text is None or text.startswith("[") or text.endswith("w"):
        return Decimal()
    return number(text, name)
