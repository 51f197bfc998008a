"""Whether guarantees can all be kept: of the cluster, and of the nodes of each label."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

from loomcard.config.queues import ResolvedQueue
from loomcard.config.schema import MILLION
from loomcard.validation.reading import Document, Path

Limit = Mapping[str, Any]
"""As in the compiled form: millionths, or amounts by resource."""
Size = Fraction | dict[str, int]
"""The size of a limit: a part of the nodes, or amounts by resource."""


class _Nodes(NamedTuple):
    """Nodes that guarantees divide: those of a label, or, without one, all; and words for them."""

    label: str
    whole: str
    there: str
    siblings: str
    maximum: str
    nothing: str
    remedy: str

    def limits(self, queue: ResolvedQueue) -> tuple[Limit, Limit]:
        """What the queue is guaranteed, and its maximum; root is guaranteed all that it may use."""
        if not self.label:
            return queue.guaranteed, queue.maximum
        most = (queue.label_maximum_ppm or {}).get(self.label, MILLION)
        unstated = most if queue.parent is None else 0
        guaranteed = (queue.label_guaranteed_ppm or {}).get(self.label, unstated)
        return {"ppm": guaranteed}, {"ppm": most}

    def place(self, queue: ResolvedQueue) -> Path:
        """The place of the queue's guarantee in the file."""
        key = ("label_guaranteed", self.label) if self.label else ("guaranteed",)
        return *queue.place, *key


_ALL: Final = _Nodes(
    label="",
    whole="of the cluster",
    there="",
    siblings="the siblings' guarantees",
    maximum="the maximum",
    nothing="the parent guarantees nothing, so nothing of it can be guaranteed here",
    remedy="give the parent a guarantee too, or use weight",
)


def _of(label: str) -> _Nodes:
    return _Nodes(
        label,
        whole=f"of the nodes with the label {label}",
        there=" there",
        siblings=f"the siblings' guarantees on {label}",
        maximum="label_maximum",
        nothing=f"the parent is guaranteed nothing on the nodes with the label {label}",
        remedy="give the parent label_guaranteed there too",
    )


def check_limits(document: Document, queues: Sequence[ResolvedQueue]) -> None:
    """Report guarantees above the queue's maximum, above the parent's guarantee, or of nothing.

    Percent of the cluster and amounts are not compared: the size of the cluster is not known yet.
    """
    labels = {
        label
        for queue in queues
        for stated in (queue.label_maximum_ppm, queue.label_guaranteed_ppm)
        for label in stated or ()
    }
    for nodes in (_ALL, *map(_of, sorted(labels))):
        _check(document, queues, nodes)


def _check(document: Document, queues: Sequence[ResolvedQueue], nodes: _Nodes) -> None:
    guaranteed: list[Size] = []
    maximum: list[Size] = []
    siblings = defaultdict[int, list[ResolvedQueue]](list)
    for queue in queues:
        promised, most = nodes.limits(queue)
        parent = queue.parent
        guaranteed.append(_size(promised, Fraction(1) if parent is None else guaranteed[parent]))
        maximum.append(_size(most, Fraction(1) if parent is None else maximum[parent]))
        above = _above(guaranteed[-1], maximum[-1], nodes)
        if above:
            hint = f"lower the guarantee or raise {nodes.maximum}"
            document.report(nodes.place(queue), f"the queue is guaranteed {above}", hint)
        if parent is not None and queue.place:  # not root.default of a file without queues
            siblings[parent].append(queue)
    for number, children in siblings.items():
        _check_sum(document, children, guaranteed[number], nodes)


def _size(limit: Limit, above: Size) -> Size:
    if "amounts" in limit:
        return dict(limit["amounts"])
    part = Fraction(limit["ppm"], MILLION)
    if isinstance(above, Fraction):
        return above * part
    return {name: int(amount * part) for name, amount in above.items()}


def _above(guaranteed: Size, maximum: Size, nodes: _Nodes) -> str:
    """Say how far a guarantee is above the maximum, if it is and both are of the same kind."""
    if isinstance(guaranteed, Fraction) and isinstance(maximum, Fraction):
        if guaranteed > maximum:
            part = f"{_percent(guaranteed)} {nodes.whole}"
            return f"{part}, its maximum{nodes.there} {_percent(maximum)}"
    elif isinstance(guaranteed, dict) and isinstance(maximum, dict):
        for name in sorted(guaranteed.keys() & maximum.keys()):
            if guaranteed[name] > maximum[name]:
                return f"{guaranteed[name]} {name}, its maximum {maximum[name]}"
    return ""


def _check_sum(
    document: Document, children: Sequence[ResolvedQueue], own: Size, nodes: _Nodes
) -> None:
    """Report the first sibling whose guarantee makes the sum exceed the parent's."""
    part, amounts = 0, defaultdict[str, int](int)
    for queue in children:
        limit, _ = nodes.limits(queue)
        place = nodes.place(queue)
        if not any(limit.get("amounts", limit).values()):
            continue
        if not (any(own.values()) if isinstance(own, dict) else own):
            document.report(place, nodes.nothing, nodes.remedy)
            continue
        part += limit.get("ppm", 0) * queue.copies
        many = "" if queue.copies == 1 else f" ({queue.copies} queues)"
        remedy = "lower some of them" if queue.copies == 1 else "lower it, or maximum_queues"
        if part > MILLION:
            total = _percent(Fraction(part, MILLION))
            message = f"with this{many} {nodes.siblings} add up to {total}"
            document.report(place, f"{message}; at most 100%", remedy)
            return
        if not isinstance(own, dict):
            continue
        size = _size(limit, own)
        assert isinstance(size, dict)
        for name, amount in size.items():
            amounts[name] += amount * queue.copies
        over = [name for name in sorted(amounts) if amounts[name] > own.get(name, 0)]
        if over:
            message = f"with this{many} the siblings are guaranteed {amounts[over[0]]} {over[0]}"
            message += f", the parent only {own.get(over[0], 0)}"
            document.report(place, message, remedy)
            return


def _percent(part: Fraction) -> str:
    return f"{float(part * 100):.6g}%"
