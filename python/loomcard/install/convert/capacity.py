"""capacity-scheduler.xml as a policy configuration under `capacity`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from loomcard.config.schema import QUEUE_NAME
from loomcard.install.convert.access import Access
from loomcard.install.convert.amounts import (
    amount,
    masters_share,
    number,
    percent,
    plain,
    resource,
    vector,
)
from loomcard.install.convert.capacity_lost import IDLE, LOST
from loomcard.install.convert.conversion import (
    ROOT,
    RUNNING,
    Conversion,
    ConversionError,
    Draft,
)
from loomcard.install.convert.placement import CapacityPlacement
from loomcard.install.convert.preemption import capacity_preemption

PREFIX: Final = "yarn.scheduler.capacity."
_WHOLE: Final = Decimal(100)
_CREATED: Final = 1_000
"""CapacityScheduler's default of the most queues that are created below one."""
_APPLICATIONS: Final = 10_000
"""CapacityScheduler's default of maximum-applications."""
_AM_SHARE: Final = Decimal("0.1")
"""CapacityScheduler's default of maximum-am-resource-percent."""
_DEFAULT: Final = "CapacityScheduler's default"
_ACLS: Final = {"submit": "acl_submit_applications", "administer": "acl_administer_queue"}
_STATES: Final = {"RUNNING": "running", "STOPPED": "stopped", "DRAINING": "draining"}
_ORDERINGS: Final = {
    "fifo": ("fifo", ""),
    "fair": ("fair", ""),
    "fifo-with-partitions": ("fifo", "orders by priority and submission, without the partition"),
    "fifo-for-pending-apps": ("fifo", "recovered applications get no precedence"),
}
_CALCULATORS: Final = {
    "DefaultResourceCalculator": "memory",
    "DominantResourceCalculator": "dominant",
}
LEAF_DEFAULTS: Final = {
    "ordering": "fifo",
    "minimum_user_limit_percent": 100,
    "user_limit_factor": 1.0,
}


def convert_capacity(properties: Mapping[str, str], place: str) -> Conversion:
    """Return the policy configuration of a CapacityScheduler with these properties.

    ``properties`` holds the file's own, with variables replaced. Raises ConversionError for a file
    that CapacityScheduler refuses too.
    """
    return _Converter(properties, Conversion(place, "CapacityScheduler")).convert()


class _Converter:
    """Takes one property after the other; what nobody takes is named as lost at the end."""

    def __init__(self, properties: Mapping[str, str], made: Conversion) -> None:
        self.left = dict(properties)
        self.made = made
        self.parts: dict[Draft, Decimal] = {}
        """Each queue's part of the cluster, where it is a percentage."""
        self.access = Access(made)
        self.created: dict[str, dict[str, Any]] = {}
        """By the path of a parent, the rules of the leaf queues that are created below it."""

    def convert(self) -> Conversion:
        """Convert all properties; the outcomes have the order of the file."""
        order = {name: index for index, name in enumerate(self.left)}
        root = self.made.root
        self._tree(root)
        if root.leaf and not any("auto" in name for name in self.left):
            raise ConversionError(
                f"{self.made.place}: {PREFIX}root.queues names no queue",
                "give the file of a CapacityScheduler: capacity-scheduler.xml",
            )
        for queue in list(root.all()):
            self._shares(queue)
        for queue in list(root.all()):
            self._auto_create(queue)
        for queue in list(root.all()):
            self._access(queue)
            self._lifetimes(queue)
            self._labels(queue)
            self._others(queue)
        self._applications()
        self._masters()
        self._running()
        self._policy()
        CapacityPlacement(self.made, PREFIX, self.left).convert()
        self._rest()
        self.made.outcomes.sort(key=lambda outcome: order[outcome.name])
        return self.made

    def _take(self, queue: Draft | None, key: str) -> tuple[str, str | None]:
        """Return a property's full name and its value; None if the file does not state it."""
        name = f"{PREFIX}{queue.path}.{key}" if queue is not None else PREFIX + key
        value = self.left.pop(name, None)
        return name, value if value is None else value.strip()

    def _put(self, queue: Draft, key: str, value: Any, name: str, text: str, why: str = "") -> None:
        queue.put(key, value, f"{name} = {text}" + (f"; {why}" if why else ""))
        self.made.converted(name, text, queue, key, why)

    # -- the tree, and what each queue may use

    def _tree(self, queue: Draft) -> None:
        name, text = self._take(queue, "queues")
        children = [each.strip() for each in (text or "").split(",") if each.strip()]
        if text is not None:
            self.made.converted(name, text, queue, "queues")
        for child in children:
            if not re.fullmatch(QUEUE_NAME, child) or child == ROOT:
                raise ConversionError(
                    f"{self.made.place}: {name} has a queue {child!r}, a name that cannot be kept",
                    "rename it there first: letters, digits, _ and -",
                )
            self._tree(queue.add(child))

    def _shares(self, parent: Draft) -> None:
        """Give the queues of one level their guarantees and weights, then their maxima."""
        if parent.parent is None:
            self.parts[parent] = _WHOLE
            for key in ("capacity", "maximum-capacity"):
                name, text = self._take(parent, key)
                if text is not None:
                    self.made.idle(name, text, "root always has the whole cluster")
        stated = {queue: self._capacity(queue) for queue in parent.queues.values()}
        weights = sum((_weight(text, name) for name, text in stated.values()), Decimal())
        percents = sum((_percentage(text, name) for name, text in stated.values()), Decimal())
        amounts = any(text is not None and text.startswith("[") for _, text in stated.values())
        for queue, (name, text) in stated.items():
            weight = _weight(text, name)
            share = _percentage(text, name)
            if text is not None and text.startswith("["):
                self._vector(queue, "guaranteed", name, text)
                continue
            if weight and not amounts and weights:
                share = (_WHOLE - percents) * weight / weights
                queue.put("weight", plain(weight), f"{name} = {text}")
            self.parts[queue] = self.parts.get(parent, Decimal()) * share / _WHOLE
            if not weight:
                origin = f"{name} = {text}" if text else f"{_DEFAULT}: 0"
                queue.put("guaranteed", percent(share), origin)
            elif percents:
                queue.put("guaranteed", percent(share), "what percentages leave, by weight")
            if text is not None:
                self.made.converted(name, text, queue, "weight" if weight else "guaranteed")
        for queue in parent.queues.values():
            self._maximum(queue)

    def _capacity(self, queue: Draft) -> tuple[str, str | None]:
        """Return the capacity; ``[memory=10%,vcores=10%]`` is the percentage 10."""
        name, text = self._take(queue, "capacity")
        if text is not None and text.startswith("["):
            parts = set(vector(text, name).values())
            if len(parts) == 1 and (share := parts.pop()).endswith("%"):
                return name, share.rstrip("%")
        return name, text

    def _maximum(self, queue: Draft) -> None:
        name, text = self._take(queue, "maximum-capacity")
        if text is None:
            return
        if text.startswith("["):
            self._vector(queue, "maximum", name, text)
            return
        most = number(text, name)
        if most in (-1, _WHOLE):
            self.made.idle(name, text, "a queue may use all of its parent's maximum")
        elif not 0 < most < _WHOLE:
            raise ConversionError(f"{name}: {text} is no percentage above 0", "YARN refuses it too")
        else:
            self._put(queue, "maximum", percent(most), name, text)

    def _vector(self, queue: Draft, key: str, name: str, text: str) -> None:
        """Convert ``[memory=10240,vcores=10]``, or percentages that are all alike."""
        parts = vector(text, name)
        if len(set(parts.values())) == 1 and all(part.endswith("%") for part in parts.values()):
            share = number(next(iter(parts.values())).rstrip("%"), name)
            self._put(queue, key, percent(share), name, text)
        elif any(part.endswith(("%", "w")) for part in parts.values()):
            self.made.lost(
                name, text, "a share is one percentage, or amounts, for all resources together",
                f"state {key} of {queue.path} as amounts, or as one percentage",
            )  # fmt: skip
        else:
            found = {kind: amount(kind, part, name) for kind, part in parts.items()}
            if any(found.values()) or key == "guaranteed":
                self._put(queue, key, found, name, text)
            else:
                self.made.idle(name, text, "nothing is stated")

    def _auto_create(self, queue: Draft) -> None:
        """Convert the queues that CapacityScheduler makes below a parent, in both of its forms."""
        for form, template in (
            ("auto-create-child-queue", ["leaf-queue-template"]),
            ("auto-queue-creation-v2", [f"auto-queue-creation-v2.{part}" for part in
             ("template", "leaf-template")]),
        ):  # fmt: skip
            name, text = self._take(queue, f"{form}.enabled")
            if text is None:
                continue
            if text.lower() != "true":
                self.made.idle(name, text, "no queue is created")
                continue
            names = [f"{name} = {text}"]
            made: dict[str, Any] = {}
            name, text = self._take(queue, f"{form}.max-queues")
            if text is not None:
                made["maximum_queues"] = int(number(text, name))
                names.append(f"{name} = {text}")
                self.made.converted(name, text, queue, "auto_create: maximum_queues")
            made["template"] = self._template(queue, template, made.get("maximum_queues", _CREATED))
            if form == "auto-create-child-queue":
                made["remove_after"] = "unlimited"
            else:
                made |= self._depth_and_removal(queue)
            queue.put("auto_create", made, ", ".join(names))
            said, value = names[0].split(" = ", 1)
            self.made.converted(said, value, queue, "auto_create")

    def _depth_and_removal(self, queue: Draft) -> dict[str, Any]:
        form = "auto-queue-creation-v2"
        found: dict[str, Any] = {"depth": 2}
        name, text = self._take(queue, f"{form}.maximum-queue-depth")
        general = self.left.get(f"{PREFIX}{form}.maximum-queue-depth")
        if text is not None or general is not None:
            found["depth"] = int(number(text or general or "", name))
        if text is not None:
            self.made.converted(name, text, queue, "auto_create: depth")
        name, text = self._take(queue, f"{form}.queue-auto-removal.enable")
        general = self.left.get(f"{PREFIX}{form}.queue-expiration-time")
        if text is not None and text.lower() == "false":
            found["remove_after"] = "unlimited"
        elif general is not None:
            found["remove_after"] = int(number(general, name))
        if text is not None:
            self.made.converted(name, text, queue, "auto_create: remove_after")
        return found

    def _template(self, queue: Draft, parts: list[str], most: int) -> dict[str, Any]:
        """Convert the templates of created leaves; a later one goes before an earlier one."""
        keys: dict[str, Any] = {}
        for part in parts:
            leaf = Draft(f"{queue.path}.{part}", parent=queue)
            name, text = self._take(leaf, "capacity")
            if text is not None and text.startswith("["):
                self._vector(leaf, "guaranteed", name, text)
            elif weight := _weight(text, name):
                self._put(leaf, "weight", plain(weight), name, text or "")
            elif text is not None and number(text, name) * most <= _WHOLE:
                self._put(leaf, "guaranteed", percent(number(text, name)), name, text)
            elif text is not None:
                self.made.lost(
                    name, text, f"{most} queues cannot all have it; they share by weight",
                    "lower maximum_queues, and state guaranteed in the template",
                )  # fmt: skip
            self._maximum(leaf)
            self._lifetimes(leaf)
            self._labels(leaf)
            self._others(leaf)
            name, text = self._take(leaf, "maximum-applications")
            if text is not None and number(text, name) > 0:
                self._put(leaf, "maximum_applications", int(number(text, name)), name, text)
            self._running_of(leaf)
            name, text = self._take(leaf, "maximum-am-resource-percent")
            if text is not None:
                self._put(leaf, "am_share", masters_share(number(text, name)), name, text)
            rules = {
                key: value
                for key, value in self._rules(leaf).items()
                if value != LEAF_DEFAULTS[key]
            }
            self.created.setdefault(queue.path, {}).update(rules)
            keys |= leaf.keys
        return keys

    # -- who may use it, and for how long

    def _access(self, queue: Draft) -> None:
        stated: dict[str, tuple[str, str] | None] = {}
        for key, suffix in _ACLS.items():
            name = f"{PREFIX}{queue.path}.{suffix}"
            text = self.left.pop(name, None)  # not trimmed: a space parts users and groups
            stated[key] = None if text is None else (name, text)
        self.access.convert(queue, stated)

    def _lifetimes(self, queue: Draft) -> None:
        for suffix, key in (("maximum", "maximum_lifetime"), ("default", "default_lifetime")):
            name, text = self._take(queue, f"{suffix}-application-lifetime")
            if text is None:
                continue
            seconds = int(number(text, name))
            if seconds > 0:
                self._put(queue, key, seconds, name, text)
            else:
                self.made.idle(name, text, "no lifetime is set")

    # -- labels

    def _labels(self, queue: Draft) -> None:
        name, text = self._take(queue, "accessible-node-labels")
        if text is not None and queue.parent is None:
            self.made.idle(name, text, "root may always use all labels")
        elif text is not None:
            labels = sorted({each.strip() for each in text.split(",") if each.strip()})
            self._put(queue, "labels", ["*"] if "*" in labels else labels, name, text)
        name, text = self._take(queue, "default-node-label-expression")
        if text is not None:
            self._put(queue, "default_label", text, name, text)
        start = f"{PREFIX}{queue.path}.accessible-node-labels."
        for name in [each for each in self.left if each.startswith(start)]:
            label, _, key = name.removeprefix(start).rpartition(".")
            if label and key in ("capacity", "maximum-capacity"):
                self._of_label(queue, label, key, name, self.left.pop(name).strip())

    def _of_label(self, queue: Draft, label: str, key: str, name: str, text: str) -> None:
        ours = "label_guaranteed" if key == "capacity" else "label_maximum"
        if queue.parent is None:
            self.made.idle(name, text, "root always has all nodes of a label")
            return
        if text.startswith("[") or text.endswith("w"):
            self.made.lost(
                name, text, "what a queue has of a label is a percentage",
                f"state {ours} of {queue.path} in percent",
            )  # fmt: skip
            return
        share = number(text, name)
        if key == "maximum-capacity" and share in (-1, _WHOLE):
            self.made.idle(name, text, "a queue may use all that its parent may")
            return
        if key == "maximum-capacity" and share == 0:
            self.made.lost(
                name, text, f"{ours} is above 0%", f"leave {label} out of {queue.path}'s labels"
            )
            return
        known = dict(queue.keys.get(ours, {}))
        before = queue.origins.get(ours)
        self._put(queue, ours, known | {label: percent(share)}, name, text)
        if before is not None:
            queue.origins[ours] = f"{before}, {name} = {text}"

    # -- containers, states, priorities

    def _others(self, queue: Draft) -> None:
        name, text = self._take(queue, "state")
        if text is not None:
            state = _STATES.get(text.upper())
            if state is None:
                raise ConversionError(f"{name}: there is no state {text!r}", "RUNNING or STOPPED")
            if state == "running":
                self.made.idle(name, text, "every queue runs unless it says otherwise")
            else:
                self._put(queue, "state", state, name, text)
        name, text = self._take(queue, "default-application-priority")
        if text is not None:
            self._put(queue, "default_priority", int(number(text, name)), name, text)
        largest: dict[str, int] = {}
        names = []
        for suffix in ("maximum-allocation-mb", "maximum-allocation-vcores", "maximum-allocation"):
            name, text = self._take(queue, suffix)
            if not text:
                continue
            if suffix == "maximum-allocation":
                parts = vector(text, name)
                largest |= {key: amount(key, part, name) for key, part in parts.items()}
            else:
                key = resource(suffix.rpartition("-")[2])
                largest.setdefault(key, int(number(text, name)))
            names.append(f"{name} = {text}")
            self.made.converted(name, text, queue, "maximum_allocation")
        if largest:
            queue.put("maximum_allocation", largest, ", ".join(names))

    # -- applications and their masters

    def _applications(self) -> None:
        """A leaf takes its part of the system's number, unless it states its own."""
        root = self.made.root
        name, text = self._take(None, "maximum-applications")
        system = _APPLICATIONS if text is None else int(number(text, name))
        origin = f"{_DEFAULT}: {system}" if text is None else f"{name} = {text}"
        root.put("maximum_applications", system, origin)
        if text is not None:
            self.made.converted(name, text, root, "maximum_applications")
        name, text = self._take(None, "global-queue-max-application")
        general = 0 if text is None else int(number(text, name))
        if text is not None and general > 0:
            self.made.converted(name, text, root, "maximum_applications of the leaf queues")
        elif text is not None:
            self.made.idle(name, text, "no number is set")
        for queue in list(root.all()):
            name, text = self._take(queue, "maximum-applications")
            own = -1 if text is None else int(number(text, name))
            if not queue.leaf:
                if text is not None:
                    self.made.idle(name, text, "CapacityScheduler reads it at leaf queues only")
                continue
            part = self.parts.get(queue, Decimal())
            if own > 0:
                self._put(queue, "maximum_applications", own, name, text or "")
            elif general > 0:
                queue.put(
                    "maximum_applications", min(general, system), "global-queue-max-application"
                )
            elif int(system * part / _WHOLE) > 0:
                number_of = int(system * part / _WHOLE)
                queue.put("maximum_applications", number_of, f"{percent(part)} of {system}")
            if text is not None and own <= 0:
                self.made.idle(name, text, "no number is set")

    def _masters(self) -> None:
        name, text = self._take(None, "maximum-am-resource-percent")
        general = _AM_SHARE if text is None else number(text, name)
        said = f"{_DEFAULT}: {general}" if text is None else f"{name} = {text}"
        if text is not None:
            self.made.converted(name, text, self.made.root, "am_share of the leaf queues")
        for queue in self.made.root.all():
            name, text = self._take(queue, "maximum-am-resource-percent")
            if text is not None and not queue.leaf:
                self.made.idle(name, text, "CapacityScheduler reads it at leaf queues only")
            if not queue.leaf:
                continue
            share = general if text is None else number(text, name)
            queue.put(
                "am_share", masters_share(share), said if text is None else f"{name} = {text}"
            )
            if text is not None:
                self.made.converted(name, text, queue, "am_share")

    def _running(self) -> None:
        """A queue's limit is its own, or the general one; a user's likewise, in all queues."""
        root = self.made.root
        for queue in root.all():
            self._running_of(queue)
        name, text = self._take(None, "max-parallel-apps")
        if text is not None:
            root.limit_running(int(number(text, name)), f"{name} = {text}")
            self.made.converted(name, text, root, f"{RUNNING} of the queues without one")
        start, end = f"{PREFIX}user.", "max-parallel-apps"
        users: dict[str, int] = {}
        for name in [each for each in self.left if each.startswith(start) and each.endswith(end)]:
            text = self.left.pop(name)
            user = name.removeprefix(start).removesuffix(end).removesuffix(".")
            users[user or "*"] = int(number(text, name))
            self.made.converted(name, text, root, f"{RUNNING}_per_user")
        if users:
            root.put(f"{RUNNING}_per_user", users, f"{start}...{end}")

    def _running_of(self, queue: Draft) -> None:
        name, text = self._take(queue, "max-parallel-apps")
        if text is not None:
            self._put(queue, RUNNING, int(number(text, name)), name, text)

    # -- the policy's options

    def _policy(self) -> None:
        root = self.made.root
        root.put("policy", "capacity", "")
        options: dict[str, Any] = {}
        name, text = self._take(None, "resource-calculator")
        calculator = "memory"
        if text is not None:
            calculator = _CALCULATORS.get(text.rpartition(".")[2], "")
            if calculator:
                self.made.converted(name, text, root, "options: calculator")
            else:
                self.made.lost(name, text, "there are two calculators: by memory, and dominant",
                               "choose calculator: dominant or memory")  # fmt: skip
        options["calculator"] = calculator or "dominant"
        rules = {queue.path: self._rules(queue) for queue in list(root.all())}
        leaves = {queue.path: rules[queue.path] for queue in root.leaves()}
        common = (
            {
                key: Counter(rule[key] for rule in leaves.values()).most_common(1)[0][0]
                for key in LEAF_DEFAULTS
            }
            if leaves
            else dict(LEAF_DEFAULTS)
        )
        options |= {key: value for key, value in common.items() if value != LEAF_DEFAULTS[key]}
        created = {path: LEAF_DEFAULTS | rule for path, rule in self.created.items()}
        levels = {
            path: {key: value for key, value in rule.items() if value != common[key]}
            for path, rule in (leaves | created).items()
        }
        levels = {path: rule for path, rule in levels.items() if rule}
        for queue in root.leaves():
            self._applications_per_user(queue, leaves[queue.path])
        if levels:
            options["levels"] = levels
        options |= capacity_preemption(self.made, self.left)
        root.put("options", options, "ordering, user limits, calculator and preemption of the file")

    def _applications_per_user(self, queue: Draft, rules: Mapping[str, Any]) -> None:
        """A user's part of a leaf's applications is that of its capacity, unless it has none."""
        most, factor = queue.keys.get("maximum_applications"), float(rules["user_limit_factor"])
        if most is None or factor < 0:
            return
        part = int(most * rules["minimum_user_limit_percent"] * factor / 100)
        if part < most:
            queue.put("maximum_applications_per_user", max(1, part), "a user's part of the queue")

    def _rules(self, queue: Draft) -> dict[str, Any]:
        rules = dict(LEAF_DEFAULTS)
        name, text = self._take(queue, "ordering-policy")
        if text is not None:
            self._ordering(queue, name, text, rules)
        for suffix, key in (
            ("minimum-user-limit-percent", "minimum_user_limit_percent"),
            ("user-limit-factor", "user_limit_factor"),
        ):
            general = self.left.get(PREFIX + suffix)
            name, text = self._take(queue, suffix)
            if text is not None and not queue.leaf:
                self.made.idle(name, text, "CapacityScheduler reads it at leaf queues only")
                continue
            given = text if text is not None else general
            if given is None:
                continue
            found = number(given, name)
            if key == "minimum_user_limit_percent":
                rules[key] = min(int(found), 100)
            else:
                rules[key] = plain(found)
            if text is not None:
                why = "rounded down to a whole percent" if found != rules[key] else ""
                self.made.converted(name, text, self.made.root, f"options: {key}", why)
        return rules

    def _ordering(self, queue: Draft, name: str, text: str, rules: dict[str, Any]) -> None:
        if not queue.leaf:
            if text == "utilization":
                self.made.idle(name, text, "capacity orders the queues by utilization, too")
            else:
                self.made.lost(
                    name, text, "it orders queues by utilization and knows no queue's priority",
                    "give the urgent queue a larger guarantee, or a policy of your own at the root",
                )  # fmt: skip
            return
        ordering, why = _ORDERINGS.get(text, ("", ""))
        if not ordering:
            self.made.lost(name, text, "a class of your own orders this queue's applications",
                           f"write it as a policy and name it at {queue.path}")  # fmt: skip
            return
        rules["ordering"] = ordering
        self.made.converted(name, text, self.made.root, "options: ordering", why)

    # -- what is left

    def _rest(self) -> None:
        for suffix, key in (
            ("minimum-user-limit-percent", "options: minimum_user_limit_percent"),
            ("user-limit-factor", "options: user_limit_factor"),
            ("auto-queue-creation-v2.maximum-queue-depth", "auto_create: depth of the queues"),
            ("auto-queue-creation-v2.queue-expiration-time", "auto_create: remove_after"),
        ):
            name, text = self._take(None, suffix)
            if text is not None:
                self.made.converted(name, text, self.made.root, key)
        known = {queue.path for queue in self.made.root.all()}
        for name, text in list(self.left.items()):
            del self.left[name]
            key = name.removeprefix(PREFIX)
            of_queue = key.startswith(f"{ROOT}.") and not any(
                key.startswith(f"{path}.") for path in known if path != ROOT
            )
            for pattern, why in IDLE:
                if re.search(pattern, key):
                    self.made.idle(name, text, why)
                    break
            else:
                for pattern, why, remedy in LOST:
                    if re.search(pattern, key):
                        self.made.lost(name, text, why, remedy)
                        break
                else:
                    if of_queue and key.count(".") > 1:
                        self.made.idle(name, text, "the file names no such queue")
                    else:
                        self.made.lost(name, text, "Loomcard does not know it",
                                       "see whether your cluster relies on it")  # fmt: skip


def _weight(text: str | None, name: str) -> Decimal:
    if text is None or text.startswith("[") or not text.endswith("w"):
        return Decimal()
    return number(text.removesuffix("w"), name)


def _percentage(text: str | None, name: str) -> Decimal:
    if text is None or text.startswith("[") or text.endswith("w"):
        return Decimal()
    return number(text, name)
