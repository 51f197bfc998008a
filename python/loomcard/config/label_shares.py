"""What queues are guaranteed and allowed on the nodes of each label; whether it can be kept."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

from loomcard.config.schema import MILLION, ppm
from loomcard.config.tree import Branch
from loomcard.validation.reading import Document

KEY = "label_guaranteed"
Shares = dict[str, Fraction]
"""The part of the nodes of each label, by label."""


def check_label_shares(
    document: Document, tree: Sequence[Branch], labels: Sequence[tuple[str, ...] | None]
) -> None:
    """Report shares of labels that a queue may not use, and guarantees that cannot all be kept.

    ``labels``: what each queue of ``tree`` may use; None: all.
    """
    most: list[Shares] = []
    own: list[Shares] = []
    siblings: dict[tuple[int, str], int] = defaultdict(int)
    for branch, usable in zip(tree, labels, strict=True):
        stated = {} if branch.implied else branch.queue.label_guaranteed
        bounds = {} if branch.implied else branch.queue.label_maximum
        for key, names in (("label_maximum", bounds), (KEY, stated)):
            _check_names(document, branch, key, names, usable)
        above = None if branch.parent is None else most[branch.parent]
        most.append(_within(above, bounds))
        promised = None if branch.parent in (None, 0) else own[branch.parent or 0]
        own.append({})
        for name, text in sorted(stated.items()):
            if usable is not None and name not in usable:
                continue
            whole = _whole(branch, name, tree, own, most)
            own[-1][name] = whole * ppm(text) / MILLION
            _check(document, branch, name, (own[-1][name], most[-1].get(name, Fraction(1))))
            if branch.parent is not None:
                siblings[branch.parent, name] += ppm(text)
                _check_place(document, branch, name, promised, siblings[branch.parent, name])
        if branch.parent is None:  # what root does not state is all that it may use
            own[0] = {**most[0], **own[0]}


def _within(above: Shares | None, bounds: Mapping[str, str]) -> Shares:
    found = dict(above or {})
    for name, text in bounds.items():
        found[name] = found.get(name, Fraction(1)) * ppm(text) / MILLION
    return found


def _whole(
    branch: Branch, name: str, tree: Sequence[Branch], own: list[Shares], most: list[Shares]
) -> Fraction:
    """What the parent is guaranteed."""
    if branch.parent is None:
        return Fraction(1)
    if tree[branch.parent].parent is None:
        return own[branch.parent].get(name, most[branch.parent].get(name, Fraction(1)))
    return own[branch.parent].get(name, Fraction(0))


def _check_names(
    document: Document, branch: Branch, key: str, names: Mapping[str, str],
    usable: tuple[str, ...] | None,
) -> None:  # fmt: skip
    for name in names:
        if usable is not None and name not in usable:
            listed = ", ".join(usable) or "none"
            message = f"the queue may not use the label {name}, only {listed}"
            document.report((*branch.place, key, name), message, "add it to labels", at_key=True)


def _check(
    document: Document, branch: Branch, name: str, shares: tuple[Fraction, Fraction]
) -> None:
    guaranteed, most = shares
    if guaranteed > most:
        message = f"the queue is guaranteed {_percent(guaranteed)} of the nodes with the label"
        message += f" {name}, its maximum there {_percent(most)}"
        hint = "lower the guarantee or raise label_maximum"
        document.report((*branch.place, KEY, name), message, hint)


def _check_place(
    document: Document, branch: Branch, name: str, promised: Shares | None, together: int
) -> None:
    place = (*branch.place, KEY, name)
    if not ppm(branch.queue.label_guaranteed[name]):
        return
    if promised is not None and not promised.get(name):
        message = f"the parent is guaranteed nothing on the nodes with the label {name}"
        document.report(place, message, f"give the parent {KEY} there too")
    elif together > MILLION:
        message = f"with this the siblings' guarantees on {name} add up to"
        message += f" {_percent(Fraction(together, MILLION))}; at most 100%"
        document.report(place, message, "lower some of them")


def _percent(part: Fraction) -> str:
    return f"{float(part * 100):.6g}%"
