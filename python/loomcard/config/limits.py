"""Guarantees and maxima: the wire's form of each, and whether they can all be kept."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from loomcard.config.schema import MILLION, ppm
from loomcard.config.tree import Branch
from loomcard.validation.reading import Document

Limit = dict[str, int] | str
"""As in the file: amounts by resource, or a percentage."""
Size = Fraction | dict[str, int]
"""The size of a limit: a part of the cluster, or amounts by resource."""
_ALL: Final = "100%"
_NONE: Final = "0%"


@dataclass(frozen=True)
class Limits:
    """One queue's guarantee and maximum as in the file, with defaults filled in."""

    guaranteed: Limit
    maximum: Limit


def check_limits(document: Document, tree: list[Branch]) -> list[Limits]:
    """Return each queue's limits; report guarantees that cannot all be kept.

    Percent of the cluster and amounts are not compared: the size of the cluster is not known yet.
    """
    found = [_limits(branch) for branch in tree]
    guaranteed: list[Size] = []
    maximum: list[Size] = []
    for branch, limits in zip(tree, found, strict=True):
        above = branch.parent
        guaranteed.append(
            _size(limits.guaranteed, Fraction(1) if above is None else guaranteed[above])
        )
        maximum.append(_size(limits.maximum, Fraction(1) if above is None else maximum[above]))
        if not branch.implied:
            _compare(document, branch, guaranteed[-1], maximum[-1])
    siblings = defaultdict[int, list[tuple[Branch, Limit]]](list)
    for branch, limits in zip(tree, found, strict=True):
        if branch.parent is not None and not branch.implied:
            siblings[branch.parent].append((branch, limits.guaranteed))
    for parent, children in siblings.items():
        _check_sum(document, children, guaranteed[parent])
    return found


def wire_form(limit: Limit) -> dict[str, object]:
    """Return a limit as the compiled configuration has it: millionths, or amounts."""
    if isinstance(limit, str):
        return {"ppm": ppm(limit)}
    return {"amounts": dict(sorted(limit.items()))}


def _limits(branch: Branch) -> Limits:
    if branch.implied:  # the only queue below root: all that root has
        return Limits(_ALL, _ALL)
    queue = branch.queue
    maximum = _ALL if queue.maximum is None else queue.maximum
    if queue.guaranteed is not None:
        return Limits(queue.guaranteed, maximum)
    if branch.parent is not None:
        return Limits(_NONE, maximum)
    return Limits(maximum if isinstance(maximum, str) else _ALL, maximum)  # root: all it may have


def _size(limit: Limit, above: Size) -> Size:
    if isinstance(limit, dict):
        return limit
    part = Fraction(ppm(limit), MILLION)
    if isinstance(above, Fraction):
        return above * part
    return {name: int(amount * part) for name, amount in above.items()}


def _compare(document: Document, branch: Branch, guaranteed: Size, maximum: Size) -> None:
    """Report a guarantee above the maximum, if both are of the same kind."""
    above = ""
    if isinstance(guaranteed, Fraction) and isinstance(maximum, Fraction):
        if guaranteed > maximum:
            above = f"{_percent(guaranteed)} of the cluster, its maximum {_percent(maximum)}"
    elif isinstance(guaranteed, dict) and isinstance(maximum, dict):
        for name in sorted(guaranteed.keys() & maximum.keys()):
            if guaranteed[name] > maximum[name]:
                above = f"{guaranteed[name]} {name}, its maximum {maximum[name]}"
                break
    if above:
        hint = "lower the guarantee or raise the maximum"
        document.report((*branch.place, "guaranteed"), f"the queue is guaranteed {above}", hint)


def _check_sum(document: Document, children: list[tuple[Branch, Limit]], own: Size) -> None:
    """Report the first sibling whose guarantee makes the sum exceed the parent's."""
    part, amounts = 0, dict[str, int]()
    for branch, limit in children:
        place = (*branch.place, "guaranteed")
        if not _positive(limit):
            continue
        if not _positive(own):
            message = "the parent guarantees nothing, so nothing of it can be guaranteed here"
            document.report(place, message, "give the parent a guarantee too, or use weight")
            continue
        if isinstance(limit, str):
            part += ppm(limit)
            if part > MILLION:
                message = f"with this the siblings' guarantees add up to {_percent(part)}"
                document.report(place, f"{message}; at most 100%", "lower some of them")
                return
        if isinstance(own, dict):
            _add(amounts, _size(limit, own))
            over = [name for name in sorted(amounts) if amounts[name] > own.get(name, 0)]
            if over:
                message = f"with this the siblings are guaranteed {amounts[over[0]]} {over[0]}"
                message += f", the parent only {own.get(over[0], 0)}"
                document.report(place, message, "lower some of them")
                return


def _add(total: dict[str, int], size: Size) -> None:
    assert isinstance(size, Mapping)
    for name, amount in size.items():
        total[name] = total.get(name, 0) + amount


def _positive(limit: Limit | Size) -> bool:
    if isinstance(limit, dict):
        return any(limit.values())
    return ppm(limit) > 0 if isinstance(limit, str) else limit > 0


def _percent(part: Fraction | int) -> str:
    value = part if isinstance(part, Fraction) else Fraction(part, MILLION)
    return f"{float(value * 100):.6g}%"
