"""FairScheduler's allocation file as a policy configuration under `fair`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final
from xml.etree.ElementTree import Element

from loomcard.config.schema import QUEUE_NAME
from loomcard.install.convert.access import Access
from loomcard.install.convert.amounts import (
    Amounts,
    Percentages,
    fair_value,
    masters_share,
    number,
    of_whole,
    percent,
    plain,
)
from loomcard.install.convert.conversion import (
    ROOT,
    RUNNING,
    Conversion,
    ConversionError,
    Draft,
)
from loomcard.install.convert.fair_guarantees import fit_guarantees
from loomcard.install.convert.placement import fair_placement
from loomcard.install.convert.preemption import OFF, fair_preemption, preempts_fairly

_AM_SHARE: Final = Decimal("0.5")
"""FairScheduler's default of queueMaxAMShareDefault."""
_RULES: Final = {"fair": "fair", "fifo": "fifo", "drf": "drf", "FairSharePolicy": "fair",
                 "FifoPolicy": "fifo", "DominantResourceFairnessPolicy": "drf"}  # fmt: skip
_ACLS: Final = {"submit": "aclSubmitApps", "administer": "aclAdministerApps"}
_QUEUES: Final = ("queue", "pool")
_RESERVATIONS: Final = (
    "reservation", "reservation-planner", "reservation-agent", "reservation-policy",
    "aclAdministerReservations", "aclListReservations", "aclSubmitReservations",
)  # fmt: skip
_LOST: dict[str, tuple[str, str]] = {
    **dict.fromkeys(_RESERVATIONS, (
        "YARN's reservation system needs a scheduler of its own",
        "keep the reservable queue on the old cluster, or give it a guarantee",
    )),
}  # fmt: skip

_EXEMPT: Final = (
    "no queue is exempt, and all queues wait for one time",
    "choose preempt_after_ms for the queue that needs it soonest",
)
_OF_PREEMPTION: Final = dict.fromkeys(
    ("minSharePreemptionTimeout", "fairSharePreemptionTimeout", "allowPreemptionFrom"),
    _EXEMPT,
) | dict.fromkeys(
    ("fairSharePreemptionThreshold", "defaultFairSharePreemptionThreshold"),
    ("the whole fair share is taken back: the threshold is 1", "raise preempt_after_ms to wait"),
)
_LOST |= _OF_PREEMPTION
_SETTINGS: Final = {
    "sizebasedweight": ("an application's weight is 1", "choose srtf or tetris for job sizes"),
    "locality.threshold.node": (
        "fair does not wait for a better place", "use the policy coupling with maps: delay",
    ),
    "locality.threshold.rack": (
        "fair does not wait for a better place", "use the policy coupling with maps: delay",
    ),
}  # fmt: skip
"""Properties of yarn-site.xml below yarn.scheduler.fair."""


def convert_fair(
    allocations: Element, whole: Mapping[str, int], place: str, settings: Mapping[str, str]
) -> Conversion:
    """Return the policy configuration of a FairScheduler with this allocation file.

    ``whole`` is the cluster's capacity by resource, to turn percentages that differ by resource
    into amounts; empty if it is not known. ``settings`` are FairScheduler's properties of
    yarn-site.xml. Raises ConversionError for a file that FairScheduler
    refuses too.
    """
    if allocations.tag != "allocations":
        raise ConversionError(
            f"{place}: its outer element is {allocations.tag}, not allocations",
            "give FairScheduler's allocation file or capacity-scheduler.xml",
        )
    made = Conversion(place, "FairScheduler")
    return _Converter(whole, made, dict(settings)).convert(allocations)


class _Converter:
    def __init__(
        self, whole: Mapping[str, int], made: Conversion, settings: dict[str, str]
    ) -> None:
        self.whole = whole
        self.settings = settings
        self.preempts = preempts_fairly(settings)
        self.made = made
        self.stated: dict[str, dict[str, str]] = {}
        """By path, what the file says of a queue."""
        self.defaults: dict[str, str] = {}
        self.least: dict[str, Amounts] = {}
        self.most: dict[str, Decimal] = {ROOT: Decimal(100)}
        """The maximum in percent of the cluster, where it is one percentage."""
        self.largest: dict[Draft, Amounts] = {}
        self.rules: dict[str, str] = {}
        self.running_of_users: dict[str, int] = {}
        self.access = Access(made)

    def convert(self, allocations: Element) -> Conversion:
        root = self.made.root
        placement: Element | None = None
        queues = []
        for element in allocations:
            if element.tag in _QUEUES:
                queues.append(element)
            elif element.tag == "user":
                self._user(element)
            elif element.tag == "queuePlacementPolicy":
                placement = element
            else:
                self.defaults[element.tag] = _text(element)
        self._queues(root, queues)
        if "default" not in root.queues:
            root.add("default")
        general = self.defaults.get("queueMaxAMShareDefault")
        share = _AM_SHARE if general is None else number(general, "queueMaxAMShareDefault")
        template = {} if share < 0 else {"am_share": masters_share(share)}
        fair_placement(self.made, placement, self.settings, template)
        for queue in list(root.all()):
            self._queue(queue)
        fit_guarantees(self.made, self.least)
        self._nearest_allocation(root)
        self._running()
        self._policy()
        self._rest()
        return self.made

    def _queues(self, root: Draft, elements: list[Element]) -> None:
        named_root = [each for each in elements if _name(each).lower() == ROOT]
        if named_root and len(elements) > 1:
            raise ConversionError(
                f"{self.made.place}: beside the queue root are other queues", "put them into root"
            )
        if named_root:
            self._inside(root, named_root[0])
            return
        self.stated[ROOT] = {}
        for element in elements:
            self._tree(root, element)

    def _tree(self, parent: Draft, element: Element) -> None:
        name = _name(element)
        if not re.fullmatch(QUEUE_NAME, name) or name == ROOT:
            raise ConversionError(
                f"{self.made.place}: the name {name!r} below {parent.path} cannot be kept",
                "rename it there first: letters, digits, _ and -",
            )
        if name in parent.queues:
            raise ConversionError(
                f"{self.made.place}: {parent.path} has two queues {name}", "leave one of them"
            )
        self._inside(parent.add(name), element)

    def _inside(self, queue: Draft, element: Element) -> None:
        self.stated[queue.path] = stated = {}
        if element.get("type") == "parent":
            self.made.open_parents.add(queue.path)
        for each in element:
            if each.tag in _QUEUES:
                self._tree(queue, each)
            else:
                stated[each.tag] = _text(each)

    # -- one queue

    def _queue(self, queue: Draft) -> None:
        stated = self.stated.get(queue.path, {})
        self._maximum(queue, stated.pop("maxResources", None))
        self._least(queue, stated.pop("minResources", None))
        text = stated.pop("weight", None)
        if text is not None:
            weight = number(text, self._name_of(queue, "weight"))
            if weight == 1:
                self.made.idle(self._name_of(queue, "weight"), text, "every queue's weight is 1")
            elif weight > 0:
                self._put(queue, "weight", plain(weight), "weight", text)
            else:
                self._lost(queue, "weight", text, "a weight is above 0",
                           "leave the queue out, or stop it: state: stopped")  # fmt: skip
        self._rule(queue, stated)
        text = stated.pop("maxRunningApps", None)
        if text is not None:
            limit = max(0, int(number(text, self._name_of(queue, "maxRunningApps"))))
            self._put(queue, RUNNING, limit, "maxRunningApps", text)
        self._masters(queue, stated.pop("maxAMShare", None))
        self._largest(queue, stated.pop("maxContainerAllocation", None))
        self._child_maximum(queue, stated.pop("maxChildResources", None))
        self._access(queue, stated)
        for tag, text in stated.items():
            if tag in _OF_PREEMPTION and not self.preempts:
                self.made.idle(self._name_of(queue, tag), text, OFF)
            else:
                self._lost(queue, tag, text, *_why_lost(tag))

    def _name_of(self, queue: Draft, tag: str) -> str:
        return f"{queue.path}: {tag}"

    def _put(self, queue: Draft, key: str, value: Any, tag: str, text: str, why: str = "") -> None:
        queue.put(key, value, f"{tag} = {text}" + (f"; {why}" if why else ""))
        self.made.converted(self._name_of(queue, tag), text, queue, key, why)

    def _lost(self, queue: Draft, tag: str, text: str, why: str, remedy: str) -> None:
        self.made.lost(self._name_of(queue, tag), text, why, remedy)

    def _maximum(self, queue: Draft, text: str | None, tag: str = "maxResources") -> None:
        general = self.defaults.get("queueMaxResourcesDefault")
        if (
            text is None
            and tag == "maxResources"
            and general is not None
            and queue.parent is not None
        ):
            text, tag = general, "queueMaxResourcesDefault"
        above = self.most.get(queue.parent.path) if queue.parent is not None else Decimal(100)
        if text is None:
            if above is not None:
                self.most.setdefault(queue.path, above)
            return
        value = fair_value(text, self._name_of(queue, tag))
        share = _one_percentage(value)
        if share is not None and above is not None:
            self.most[queue.path] = min(share, above)
            maximum, why = _of_parent(share, above)
            if maximum is not None:
                self._state(queue, "maximum", maximum, tag, text, why)
            elif tag == "maxResources":
                self.made.idle(self._name_of(queue, tag), text, "the parent may have no more")
            return
        self.most.pop(queue.path, None)
        amounts = self._amounts(value)
        if amounts is None:
            self._lost(queue, tag, text, "percentages that differ need the cluster's size",
                       "give --rm URL, or state maximum in amounts")  # fmt: skip
        else:
            self._state(queue, "maximum", amounts, tag, text, self._size(value))

    def _state(
        self, queue: Draft, key: str, value: Any, tag: str, text: str, why: str = ""
    ) -> None:
        """Set a key from a queue's own element, or from a default for all queues."""
        if tag in self.defaults:
            queue.put(key, value, f"{tag} = {text}")
        else:
            self._put(queue, key, value, tag, text, why)

    def _amounts(self, value: Amounts | Percentages) -> Amounts | None:
        if not any(isinstance(part, Decimal) for part in value.values()):
            return {key: int(part) for key, part in value.items()}
        if not self.whole:
            return None
        return of_whole({key: Decimal(part) for key, part in value.items()}, self.whole)

    def _size(self, value: Amounts | Percentages) -> str:
        shares = any(isinstance(part, Decimal) for part in value.values())
        return "of the cluster as it is now" if shares else ""

    def _least(self, queue: Draft, text: str | None) -> None:
        if text is None:
            return
        value = fair_value(text, self._name_of(queue, "minResources"))
        amounts = self._amounts(value)
        if amounts is None:
            self._lost(queue, "minResources", text, "a minimum in percent needs the cluster's size",
                       "give --rm URL, or state guaranteed")  # fmt: skip
        elif queue.parent is None:
            self.made.idle(self._name_of(queue, "minResources"), text, "root has the whole cluster")
        elif not any(amounts.values()):
            self.made.idle(self._name_of(queue, "minResources"), text, "nothing is guaranteed")
        else:
            self.least[queue.path] = amounts
            self._put(queue, "guaranteed", amounts, "minResources", text, self._size(value))
            self._raise_maximum(queue, amounts)

    def _raise_maximum(self, queue: Draft, least: Amounts) -> None:
        """Raise a maximum in amounts to the minimum: FairScheduler takes the larger of the two."""
        most = queue.keys.get("maximum")
        if isinstance(most, dict) and any(least.get(key, 0) > most[key] for key in most):
            raised = {key: max(amount, least.get(key, 0)) for key, amount in most.items()}
            why = "raised to minResources, as FairScheduler does"
            queue.put("maximum", raised, f"{queue.origins['maximum']}; {why}")
            self.made.explain(self._name_of(queue, "maxResources"), why)

    def _rule(self, queue: Draft, stated: dict[str, str]) -> None:
        for tag in ("schedulingPolicy", "schedulingMode"):
            text = stated.pop(tag, None)
            if text is None:
                continue
            rule = _rule_named(text)
            if rule is None:
                self._lost(queue, tag, text, "there are the rules fair, drf and fifo",
                           f"write a policy, and name it at {queue.path}")  # fmt: skip
            else:
                self.rules[queue.path] = rule
                self.made.converted(
                    self._name_of(queue, tag), text, self.made.root, "options: levels"
                )

    def _masters(self, queue: Draft, text: str | None) -> None:
        general = self.defaults.get("queueMaxAMShareDefault")
        if not queue.leaf:
            if text is not None:
                self.made.idle(self._name_of(queue, "maxAMShare"), text, "it holds at leaf queues")
            return
        given = text if text is not None else general
        share = _AM_SHARE if given is None else number(given, self._name_of(queue, "maxAMShare"))
        if share < 0:
            if text is not None:
                self.made.idle(self._name_of(queue, "maxAMShare"), text, "masters have no limit")
            return
        limit = masters_share(share)
        if text is not None:
            self._put(queue, "am_share", limit, "maxAMShare", text)
        else:
            queue.put(
                "am_share",
                limit,
                "queueMaxAMShareDefault = " + (general or "0.5, FairScheduler's default"),
            )

    def _largest(self, queue: Draft, text: str | None) -> None:
        if text is None:
            return
        amounts = self._amounts(fair_value(text, self._name_of(queue, "maxContainerAllocation")))
        if amounts and all(amounts.values()):
            self._put(queue, "maximum_allocation", amounts, "maxContainerAllocation", text)
            self.largest[queue] = amounts
        else:
            self._lost(queue, "maxContainerAllocation", text, "it has no amounts above 0",
                       "state maximum_allocation in amounts")  # fmt: skip

    def _nearest_allocation(self, queue: Draft, above: Draft | None = None) -> None:
        """Take the largest container from a queue that has one below with a larger one, to write it
        at the other queues there: FairScheduler reads the nearest, here the least of a path counts.
        ``above``: the queue from which it was taken.
        """
        key, tag = "maximum_allocation", "maxContainerAllocation"
        source = queue if queue in self.largest else above
        own = self.largest[source] if source is not None else {}
        below = [self.largest[each] for each in queue.all() if each in self.largest]
        taken: Draft | None = None
        if any(other.get(kind, most + 1) > most for other in below for kind, most in own.items()):
            taken = source
            queue.keys.pop(key, None)
            if "auto_create" in queue.keys:
                template = queue.keys["auto_create"].setdefault("template", {})
                queue.keys["auto_create"]["template"] = {key: own} | template
        elif source is not None and source is not queue:
            queue.put(key, own, f"{tag} of {source.path}")
        for child in queue.queues.values():
            self._nearest_allocation(child, taken)

    def _child_maximum(self, queue: Draft, text: str | None) -> None:
        """Limit what is created below a queue: by its maxChildResources, or as all queues."""
        created = queue.keys.get("auto_create")
        if created is None:
            if text is not None:
                self.made.idle(
                    self._name_of(queue, "maxChildResources"), text, "no queue is created"
                )
            return
        tag = "maxChildResources"
        if text is None:
            text, tag = self.defaults.get("queueMaxResourcesDefault"), "queueMaxResourcesDefault"
        if text is None:
            return
        name = self._name_of(queue, tag)
        value = fair_value(text, name)
        share, above = _one_percentage(value), self.most.get(queue.path)
        if share is not None and above is not None:
            maximum, why = _of_parent(share, above)
        else:
            maximum, why = self._amounts(value), self._size(value)
            if maximum is None:
                what = f"{tag} of created queues" if tag in self.defaults else tag
                self._lost(queue, what, text, "a percentage of the cluster needs its size here",
                           "give --rm URL, or state maximum in the template")  # fmt: skip
                return
        if maximum is not None:
            template = created.get("template", {}) | {"maximum": maximum}
            queue.keys["auto_create"] = created | {"template": template}
        if tag in self.defaults:
            return
        if maximum is None:
            self.made.idle(name, text, "the parent may have no more")
        else:
            self.made.converted(name, text, queue, "auto_create: template", why)

    def _access(self, queue: Draft, stated: dict[str, str]) -> None:
        given: dict[str, tuple[str, str] | None] = {}
        for key, tag in _ACLS.items():
            text = stated.pop(tag, None)
            given[key] = None if text is None else (self._name_of(queue, tag), text)
        self.access.convert(queue, given)

    def _running(self) -> None:
        """Convert the limits of running applications of queues without a number, and of users."""
        root = self.made.root
        tag = "queueMaxAppsDefault"
        if (text := self.defaults.pop(tag, None)) is not None:
            root.limit_running(max(0, int(number(text, tag))), f"{tag} = {text}")
            self.made.converted(tag, text, root, f"{RUNNING} of the queues without one")
        tag = "userMaxAppsDefault"
        if (text := self.defaults.pop(tag, None)) is not None:
            self.running_of_users["*"] = max(0, int(number(text, tag)))
            self.made.converted(tag, text, root, f"{RUNNING}_per_user")
        if self.running_of_users:
            origin = "maxRunningApps of the users, and userMaxAppsDefault"
            root.put(f"{RUNNING}_per_user", self.running_of_users, origin)

    # -- the policy, and what is left

    def _policy(self) -> None:
        root = self.made.root
        root.put("policy", "fair", "")
        options: dict[str, Any] = {}
        for tag in ("defaultQueueSchedulingPolicy", "defaultQueueSchedulingMode"):
            text = self.defaults.pop(tag, None)
            if text is None:
                continue
            rule = _rule_named(text)
            if rule in (None, "fifo"):
                self.made.lost(
                    tag, text, "the default rule is fair or drf", "choose one of the two"
                )
                continue
            options["default"] = rule
            self.made.converted(tag, text, root, "options: default")
        default = options.get("default", "fair")
        levels = {path: rule for path, rule in self.rules.items() if rule != default}
        if levels:
            options["levels"] = levels
        options |= fair_preemption(self.made, self.settings, self.defaults)
        if options:
            root.put("options", options, "schedulingPolicy of the queues")

    def _user(self, element: Element) -> None:
        name = _name(element)
        for each in element:
            tag, text = f"user {name}: {each.tag}", _text(each)
            if each.tag == "maxRunningApps":
                self.running_of_users[name] = max(0, int(number(text, tag)))
                self.made.converted(tag, text, self.made.root, f"{RUNNING}_per_user")
            else:
                self.made.lost(tag, text, *_why_lost(each.tag))

    def _rest(self) -> None:
        root = self.made.root
        for name, text in self.settings.items():
            why, remedy = _SETTINGS.get(
                name.removeprefix("yarn.scheduler.fair."),
                ("it tunes FairScheduler's own loop", "leave it"),
            )
            self.made.lost(name, text, why, remedy)
        for tag, text in self.defaults.items():
            if tag in ("queueMaxResourcesDefault", "queueMaxAMShareDefault"):
                key = "maximum" if "Resources" in tag else "am_share"
                self.made.converted(tag, text, root, f"{key} of the queues without one")
            elif tag == "defaultFairSharePreemptionThreshold" and number(text, tag) == 1:
                self.made.idle(tag, text, "the whole fair share is taken back")
            elif tag in _OF_PREEMPTION and not self.preempts:
                self.made.idle(tag, text, OFF)
            else:
                why, remedy = _why_lost(tag)
                self.made.lost(tag, text, why, remedy)


def _why_lost(tag: str) -> tuple[str, str]:
    """Return why an element is lost, and the remedy."""
    return _LOST.get(tag, ("Loomcard does not know it", "see whether you rely on it"))


def _rule_named(text: str) -> str | None:
    """Return the rule with that name, in any case, or of that class; None for another."""
    return _RULES.get(text) or _RULES.get(text.lower()) or _RULES.get(text.rpartition(".")[2])


def _one_percentage(value: Amounts | Percentages) -> Decimal | None:
    """Return the percentage if it is the same for all resources; None for anything else."""
    shares = {part for part in value.values() if isinstance(part, Decimal)}
    for_all = "" in value or {"memory_mb", "vcores"} <= set(value)
    return next(iter(shares)) if for_all and len(shares) == 1 else None


def _of_parent(share: Decimal, above: Decimal) -> tuple[str | Amounts | None, str]:
    """Return a percentage of the cluster as one of the parent's, and how it differs.

    None: the parent may have no more. A maximum of 0% is written as amounts.
    """
    if share >= above:
        return None, ""
    of_parent = percent(share * 100 / above)
    if of_parent == "0%":
        return {"memory_mb": 0, "vcores": 0}, ""
    return of_parent, "" if above == 100 else f"{percent(share)} of the cluster"


def _name(element: Element) -> str:
    return element.get("name", "").strip()


def _text(element: Element) -> str:
    return (element.text or "").strip(" \t\r\n") if element.tag[:3] != "acl" else element.text or ""
