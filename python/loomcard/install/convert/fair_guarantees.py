"""Minimum shares of FairScheduler as guarantees, of which a parent's must cover its children's."""

from __future__ import annotations

from collections.abc import Mapping

from loomcard.install.convert.amounts import Amounts, of_percent
from loomcard.install.convert.conversion import Conversion, Draft


def fit_guarantees(made: Conversion, least: Mapping[str, Amounts]) -> None:
    """Write guarantees that can all be kept. ``least`` has the minimum shares by path.

    A parent's guarantee is raised to the sum of its children's; these are lowered in proportion
    where the sum is above what the parent may have at most.
    """
    _Guarantees(made, least).write(made.root)


class _Guarantees:
    def __init__(self, made: Conversion, least: Mapping[str, Amounts]) -> None:
        self._made = made
        self._least = least
        self._found: dict[Draft, Amounts] = {}

    def write(self, root: Draft) -> None:
        self._fit(root, None)
        for queue in root.all():
            own, found = self._least.get(queue.path, {}), self._found[queue]
            if queue.parent is None or found == own:
                continue
            if any(found.get(key, 0) < amount for key, amount in own.items()):
                why = "lowered to what fits into the parents' maximum"
                self._made.explain(f"{queue.path}: minResources", why)
            else:
                why = "the sum of its children's, which a parent must cover"
            queue.put("guaranteed", found, why)

    def _fit(self, queue: Draft, above: Amounts | None) -> None:
        """Find the guarantees of a queue and all below it; ``above``: its parent's maximum."""
        most = _most(queue, above)
        total: Amounts = {}
        for child in queue.queues.values():
            self._fit(child, most)
            for key, part in self._found[child].items():
                total[key] = total.get(key, 0) + part
        for key, limit in (most or {}).items():
            if total.get(key, 0) > limit:
                for child in queue.queues.values():
                    self._scale(child, key, limit, total[key])
                total[key] = limit
        own = self._least.get(queue.path, {})
        self._found[queue] = {
            key: min(max(own.get(key, 0), total.get(key, 0)), (most or {}).get(key, 2**63))
            for key in own | total
        }

    def _scale(self, queue: Draft, key: str, part: int, whole: int) -> None:
        for each in queue.all():
            if key in self._found[each]:
                self._found[each][key] = self._found[each][key] * part // whole


def _most(queue: Draft, above: Amounts | None) -> Amounts | None:
    """Return a queue's maximum in amounts; None if it is none, or a part of the cluster."""
    own = queue.keys.get("maximum")
    if isinstance(own, dict):
        return own
    if own is None or above is None:
        return above
    return {key: int(amount * of_percent(own) / 100) for key, amount in above.items()}
