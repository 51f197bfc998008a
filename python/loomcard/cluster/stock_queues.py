"""A configuration's queues in the form of YARN's own schedulers, for runs that compare the two.

Properties of a queue that CapacityScheduler and FairScheduler can express are taken over:
guarantee, weight, maximum, AM share, the users that may submit, and the options of our `capacity`
and `fair`, which have YARN's own names. Others are refused (amounts where YARN expects percentages)
or left out (a user's limit as a part of the queue's maximum).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from loomcard.cluster.hadoop_config import RenderError

_MILLION = 1_000_000


@dataclass(frozen=True)
class StockQueue:
    """One queue, in the terms of capacity-scheduler.xml and of FairScheduler's allocation file.

    `capacity`: percent of the parent's. `least` and `most`: FairScheduler's minResources and
    maxResources, "" if not set.
    """

    path: str
    children: tuple[StockQueue, ...]
    capacity: str
    maximum: str
    least: str
    most: str
    weight: float
    am_share: float
    submit: str
    administer: str
    rule: str

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]

    @property
    def all(self) -> list[StockQueue]:
        """The queue and all below it."""
        return [self, *(each for child in self.children for each in child.all)]


def stock_queues(
    config: Mapping[str, Any],
    resource_types: Sequence[str],
    capacity: Sequence[int],
    *,
    whole: bool,
) -> StockQueue:
    """Return the tree of a compiled configuration, from the root, on a cluster with `capacity`.

    `whole`: the guarantees stated at a level must add up to 100 %, as CapacityScheduler requires.
    Raises RenderError when YARN's terms cannot express a level.
    """
    amounts = list(zip(resource_types, capacity, strict=True))
    return _Tree(config, amounts, whole).queue(0, _MILLION, 1.0)


def config_of_queues(paths: Sequence[str]) -> dict[str, Any]:
    """Return a compiled configuration with only these leaf queues, all equal."""
    from loomcard.config import compile_config

    root: dict[str, Any] = {"version": 1, "kind": "policy", "policy": "fair"}
    for path in sorted(set(paths)):
        at = root
        for name in path.split(".")[1:]:
            at = at.setdefault("queues", {}).setdefault(name, {})
    return compile_config(yaml.safe_dump(root), "queues")


def stock_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of our `capacity` or `fair` at the root; none, which stands for YARN's
    defaults, for another policy.
    """
    root = config["queues"][0]
    return dict(root["options"]) if root["policy"] in ("capacity", "fair") else {}


class _Tree:
    def __init__(
        self, config: Mapping[str, Any], capacity: list[tuple[str, int]], whole: bool
    ) -> None:
        self.whole = whole
        self.queues = config["queues"]
        self.capacity = capacity
        root = self.queues[0]
        fair = root["policy"] == "fair"
        self.default_rule = root["options"].get("default", "fair") if fair else "fair"
        self.rules = root["options"].get("levels", {}) if fair else {}

    def queue(self, index: int, guaranteed_ppm: float, maximum_part: float) -> StockQueue:
        """Return one queue; the guarantee is in ppm of the cluster, the maximum a part of it."""
        queue = self.queues[index]
        below = [i for i, each in enumerate(self.queues) if each["parent"] == index]
        shares = self._shares(queue["path"], [self.queues[i] for i in below])
        children = []
        for i, text in zip(below, shares, strict=True):
            least = guaranteed_ppm * _ppm(self.queues[i], "guaranteed") / _MILLION
            most = maximum_part * _ppm(self.queues[i], "maximum") / _MILLION
            children.append((i, text, least, most))
        return self._stock(
            queue,
            tuple(
                _with_capacity(self.queue(i, least, most), text)
                for i, text, least, most in children
            ),
            guaranteed_ppm / _MILLION,
            maximum_part,
        )

    def _stock(
        self, queue: Any, children: tuple[StockQueue, ...], least: float, most: float
    ) -> StockQueue:
        path, leaf = queue["path"], queue["leaf"]
        return StockQueue(
            path=path,
            children=children,
            capacity="100",
            maximum=_percent(_ppm(queue, "maximum")),
            least=self._amounts(least) if queue["parent"] is not None and least else "",
            most=self._amounts(most) if most < 1 else "",
            weight=queue["weight"],
            am_share=queue["am_share_ppm"] / _MILLION,
            # YARN adds the parent's lists to a queue's own, so only leaves list users.
            submit=_acl(queue["submit"]) if leaf else " ",
            administer=_acl(queue["administer"]) if leaf else " ",
            rule=self.rules.get(path, self.default_rule),
        )

    def _shares(self, parent: str, level: Sequence[Any]) -> list[str]:
        stated = [_ppm(queue, "guaranteed") for queue in level]
        if not any(stated):
            # Percent, since CapacityScheduler knows weights only from Hadoop 3.4 on.
            total = sum(queue["weight"] for queue in level)
            return [f"{100 * queue['weight'] / total:g}" for queue in level]
        if self.whole and sum(stated) != _MILLION:
            raise RenderError(
                f"the queues below {parent} are guaranteed {_percent(sum(stated))} % of it: "
                "stock:capacity wants 100 %",
                "let their guarantees add up to 100%, or give weights alone",
            )
        return [_percent(ppm) for ppm in stated]

    def _amounts(self, part: float) -> str:
        words = {"memory_mb": "memory-mb"}
        return ", ".join(f"{words.get(n, n)}={int(whole * part)}" for n, whole in self.capacity)


def _with_capacity(queue: StockQueue, capacity: str) -> StockQueue:
    return StockQueue(**{**queue.__dict__, "capacity": capacity})


def _ppm(queue: Any, limit: str) -> int:
    found = queue[limit].get("ppm")
    if found is None:
        raise RenderError(
            f"queue {queue['path']}: {limit} is stated in amounts, which stock schedulers are not "
            "given here",
            "state it in percent",
        )
    return int(found)


def _percent(ppm: int) -> str:
    return f"{ppm / 10_000:g}"


def _acl(names: Sequence[str]) -> str:
    if "*" in names:
        return "*"
    users = [name for name in names if not name.startswith("group:")]
    groups = [name.removeprefix("group:") for name in names if name.startswith("group:")]
    return f"{','.join(users)} {','.join(groups)}"
