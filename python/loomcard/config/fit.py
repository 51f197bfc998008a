"""Whether a compiled configuration fits a cluster: size, smallest container, live applications."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from loomcard.config import rules
from loomcard.config.queue_names import ALL_LEVELS, QueueNames
from loomcard.validation.findings import Finding, nearest
from loomcard.validation.reading import Document, Path, read

Amounts = dict[str, int]
_MILLION: Final = 1_000_000


@dataclass(frozen=True)
class ClusterFacts:
    """What a configuration is compared with: ``capacity`` of all nodes together, by resource, {} if
    there is no node yet; ``smallest`` container, by resource; ``living``: live applications by
    queue.
    """

    capacity: Amounts
    smallest: Amounts = field(default_factory=dict)
    living: Mapping[str, int] = field(default_factory=dict)


def misfits(text: str, config: Mapping[str, Any], cluster: ClusterFacts) -> list[Finding]:
    """What in the configuration, compiled from ``text``, does not fit the cluster, by line."""
    document = read(text)
    _vanishing(document, config, cluster.living)
    if not cluster.capacity:
        _report(document, (), rules.NO_NODE, "the cluster has no node yet", "check again later")
        return sorted(document.findings)
    sizes: list[tuple[Amounts, Amounts]] = []
    for queue in config["queues"]:
        above = cluster.capacity if queue["parent"] is None else sizes[queue["parent"]][0]
        most_above = cluster.capacity if queue["parent"] is None else sizes[queue["parent"]][1]
        _unknown(document, queue, cluster.capacity)
        guaranteed = _amounts(queue["guaranteed"], above, 0)
        maximum = _amounts(queue["maximum"], most_above, None)
        sizes.append((guaranteed, maximum))
        _guarantee(document, queue, guaranteed, cluster)
        _largest(document, queue, cluster.smallest)
        if queue["leaf"]:
            _leaf(document, queue, guaranteed, maximum, cluster.smallest)
    return sorted(document.findings)


def _amounts(limit: Mapping[str, Any], above: Amounts, left_out: int | None) -> Amounts:
    if "ppm" in limit:
        return {name: amount * int(limit["ppm"]) // _MILLION for name, amount in above.items()}
    named: Amounts = limit["amounts"]
    return {n: named.get(n, a if left_out is None else left_out) for n, a in above.items()}


def _unknown(document: Document, queue: Mapping[str, Any], capacity: Amounts) -> None:
    amounts = {key: queue[key].get("amounts", ()) for key in ("guaranteed", "maximum")}
    amounts["maximum_allocation"] = queue.get("maximum_allocation", ())
    for key, named in amounts.items():
        for name in sorted(set(named) - set(capacity)):
            place = (*place_of(queue["path"]), key, name)
            message = f"the cluster has no resource {name!r}"
            _report(document, place, rules.UNKNOWN_RESOURCE, message, nearest(name, capacity))


def _guarantee(
    document: Document, queue: Mapping[str, Any], guaranteed: Amounts, cluster: ClusterFacts
) -> None:
    """Report a guarantee in amounts above the whole cluster: it can never be kept."""
    for name, amount in guaranteed.items():
        if "amounts" in queue["guaranteed"] and amount > cluster.capacity[name]:
            message = f"{amount} {name} are guaranteed; the cluster has {cluster.capacity[name]}"
            place = (*place_of(queue["path"]), "guaranteed", name)
            _report(
                document, place, rules.GUARANTEE_ABOVE_CLUSTER, message, "lower it or add nodes"
            )


def _largest(document: Document, queue: Mapping[str, Any], smallest: Amounts) -> None:
    """Report a largest container below the smallest one: no container could be requested."""
    for name, most in queue.get("maximum_allocation", {}).items():
        if most < smallest.get(name, 0):
            message = f"at most {most} {name}; the smallest container has {smallest[name]}"
            place = (*place_of(queue["path"]), "maximum_allocation", name)
            hint = "raise it, or nothing ever runs here"
            _report(document, place, rules.MAXIMUM_BELOW_CONTAINER, message, hint)


def _leaf(
    document: Document,
    queue: Mapping[str, Any],
    guaranteed: Amounts,
    maximum: Amounts,
    smallest: Amounts,
) -> None:
    for name in sorted(smallest.keys() & maximum.keys()):
        least = smallest[name]
        place = place_of(queue["path"])
        if maximum[name] < least:
            message = f"at most {maximum[name]} {name}; the smallest container has {least}"
            hint = "raise the maximum, or nothing ever runs here"
            _report(document, (*place, "maximum"), rules.MAXIMUM_BELOW_CONTAINER, message, hint)
        elif 0 < guaranteed[name] < least:
            message = f"{guaranteed[name]} {name} are guaranteed; the smallest container has"
            hint = "raise the guarantee, or use weight"
            _report(
                document,
                (*place, "guaranteed"),
                rules.GUARANTEE_BELOW_CONTAINER,
                f"{message} {least}",
                hint,
            )


def _vanishing(document: Document, config: Mapping[str, Any], living: Mapping[str, int]) -> None:
    names = QueueNames(config["queues"])
    for path in sorted(living):
        if not names.why_not(path, ALL_LEVELS):
            continue  # a leaf, or created again there
        count = living[path]
        what = "1 application lives" if count == 1 else f"{count} applications live"
        message = f"{what} in {path}, which is not a leaf queue here"
        hint = "keep the queue, or let its applications end or move first"
        rule = rules.QUEUE_VANISHES
        severity = rules.RULES[rule].severity
        document.report(("queues",), message, hint, at_key=True, rule=rule, severity=severity)


def place_of(path: str) -> Path:
    """The place of a queue in the text."""
    place: list[str] = []
    for name in path.split(".")[1:]:
        place += ["queues", name]
    return tuple(place)


def _report(document: Document, place: Path, rule: str, message: str, hint: str) -> None:
    document.report(place, message, hint, rule=rule, severity=rules.RULES[rule].severity)
