"""Fair shares over a run: the part of the cluster that is due to each queue that demands, however
much it demands. What queues are entitled to now, by use and demand in units, is
``api.entitlement``.

Top down, each queue's part is divided among its children below which somebody demands: first what
they are guaranteed, then the rest by weight on top of it, nobody beyond its maximum or beyond what
those who demand below it may use. As in the configuration, a guarantee in percent is of the
parent's guarantee and a maximum in percent of the parent's maximum; amounts count as the largest
part of the cluster that one of them is, at its capacity of the moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from loomcard.results.containers import Floats, Integers
from loomcard.results.record import Limit, QueueShare

Flags = npt.NDArray[np.bool_]
TINY = 1e-9
"""Rounding errors of sums, as a part of the cluster; no queue gets them."""
_MILLION = 1_000_000
_WHOLE: Floats = np.ones(1)


def queue_shares(config: Mapping[str, Any]) -> dict[str, QueueShare]:
    """Return what a compiled configuration says about every queue's share, by path; {} if it has no
    queues.
    """
    return {
        queue["path"]: QueueShare(
            queue["weight"],
            _limit(queue.get("guaranteed"), 1.0 if queue["parent"] is None else 0.0),
            _limit(queue.get("maximum"), 1.0),
        )
        for queue in config.get("queues", ())
    }


def _limit(wire: Mapping[str, Any] | None, absent: float) -> Limit:
    if not wire:
        return absent
    return wire["ppm"] / _MILLION if "ppm" in wire else dict(wire["amounts"])


def fair_shares(
    queues: Mapping[str, QueueShare],
    leaves: Sequence[str],
    demanding: Flags,
    cluster: Mapping[str, Integers],
) -> Floats:
    """Return the part of the cluster that is due to each leaf queue: one row per leaf, one column
    per moment. ``demanding``: whether an application demands there, in the same form; ``cluster``:
    its capacity at each moment, by resource type. A queue that ``queues`` does not name has weight
    1 and no limits.
    """
    if not demanding.size:
        return np.zeros(demanding.shape)
    amounts = list(cluster.values())
    kinds = np.vstack([np.packbits(demanding, axis=0), *amounts]).astype(np.int64)
    _, first, kind = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
    now = {name: column[first] for name, column in cluster.items()}  # each kind of moment once
    return _Tree(queues, leaves, now).parts(demanding[:, first])[:, kind.reshape(-1)]


class _Tree:
    """Some leaves and the queues above them, with what each is promised and may have at most."""

    def __init__(
        self,
        queues: Mapping[str, QueueShare],
        leaves: Sequence[str],
        cluster: Mapping[str, Integers],
    ) -> None:
        self.leaves = leaves
        self.paths = sorted({path for leaf in leaves for path in _upwards(leaf)})  # parents first
        self.children: dict[str, list[str]] = {}
        self.weight: dict[str, float] = {}
        self.promised: dict[str, Floats] = {"": _WHOLE}
        self.most: dict[str, Floats] = {"": _WHOLE}
        for path in self.paths:
            above = path.rpartition(".")[0]
            own = queues.get(path) or QueueShare(guaranteed=0.0 if above else 1.0)
            self.children.setdefault(above, []).append(path)
            self.weight[path] = own.weight
            self.promised[path] = _part(own.guaranteed, self.promised[above], cluster, 0.0)
            most = _part(own.maximum, self.most[above], cluster, 1.0)
            self.most[path] = np.minimum(most, self.most[above])

    def parts(self, demanding: Flags) -> Floats:
        """Return each leaf's part of the cluster, at each moment."""
        room = {
            leaf: row * self.most[leaf] for leaf, row in zip(self.leaves, demanding, strict=True)
        }
        for path in reversed(["", *self.paths]):
            if path in self.children:
                below = sum(room[child] for child in self.children[path])
                room[path] = np.minimum(self.most[path], below)
        part = {"": room[""]}
        for path in ["", *self.paths]:
            names = self.children.get(path, [])
            if names:
                promised = [np.minimum(self.promised[name], room[name]) for name in names]
                weights = np.array([[self.weight[name]] for name in names])
                rows = _poured(part[path], promised, [room[name] for name in names], weights)
                part.update(zip(names, rows, strict=True))
        found = np.stack([part[leaf] for leaf in self.leaves])
        return np.where(found > TINY, found, 0.0)


def _upwards(path: str) -> list[str]:
    """Return the queue and those above it."""
    names = path.split(".")
    return [".".join(names[:length]) for length in range(1, len(names) + 1)]


def _part(limit: Limit, above: Floats, cluster: Mapping[str, Integers], absent: float) -> Floats:
    """Return a limit as a part of the cluster, at each moment."""
    if not isinstance(limit, dict):
        return above * limit
    parts = [
        np.divide(limit[name], whole, out=np.zeros(len(whole)), where=whole > 0)
        for name, whole in cluster.items()
        if name in limit
    ]
    return np.max(parts, axis=0) if parts else np.full(1, absent)


def _poured(
    whole: Floats, promised: Sequence[Floats], room: Sequence[Floats], weights: Floats
) -> Floats:
    """Divide ``whole``: first what is promised, then the rest by weight until nothing is left or
    all are full.
    """
    most, shares = np.stack(room), np.stack(promised)
    total = shares.sum(axis=0)  # above the whole if a cluster has shrunk below its amounts
    shares *= np.divide(whole, total, out=np.ones_like(whole), where=total > whole)
    while True:
        rest = whole - shares.sum(axis=0)
        thirsty = weights * (most - shares > TINY)
        total = thirsty.sum(axis=0)
        going = (rest > TINY) & (total > 0)
        if not going.any():
            return shares
        each = np.divide(rest, total, out=np.zeros_like(rest), where=going)
        shares += np.minimum(thirsty * each, np.maximum(most - shares, 0.0))
