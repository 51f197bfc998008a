"""The checks of ``make chaos`` on states that were read; they use no process, no clock, no file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

State = dict[str, Any]
MAX_NAMED = 5
HEAP_GROWTH_MB = 96
THREADS_GROWTH = 40
FILES_GROWTH = 80
MAX_CAPSULES = 10


def differences(rm: State, load: State, mirror: State) -> list[str]:
    """Return where the ResourceManager, the nodes and the policy's mirror differ; empty if they
    agree. Each line begins with the name of the invariant.
    """
    return [
        *_accounts(rm),
        *_nodes_differ(rm, load),
        *_mirror_differs(rm, mirror),
        *_asks_differ(rm, load),
    ]


def _some(what: str, found: Iterable[str]) -> list[str]:
    listed = list(found)
    more = f" and {len(listed) - MAX_NAMED} more" if len(listed) > MAX_NAMED else ""
    return [f"{what}: {'; '.join(listed[:MAX_NAMED])}{more}"] if listed else []


def _sum(sizes: Iterable[Sequence[int]]) -> list[int]:
    total = [0, 0]
    for size in sizes:
        total = [a + b for a, b in zip(total, size, strict=True)]
    return total


def _accounts(rm: State) -> list[str]:
    """Check the ResourceManager against itself: nodes and queues must show the sum of the
    containers.
    """
    containers, apps = rm["containers"], rm["applications"]
    found = []
    for name, node in rm["nodes"].items():
        here = [c["size"] for c in containers.values() if c["node"] == name]
        used = [a - b for a, b in zip(node["capacity"], node["free"], strict=True)]
        if used != _sum(here):
            found.append(f"{name} uses {used}, its containers {_sum(here)}")
    result = _some("usage of nodes", found)
    found, negative = [], []
    for path, queue in rm["queues"].items():
        inside = [
            (c["size"], apps[c["application"]]["user"])
            for c in containers.values()
            if f"{apps[c['application']]['queue']}.".startswith(f"{path}.")
        ]
        if queue["used"] != _sum(size for size, _ in inside) or queue["containers"] != len(inside):
            found.append(
                f"{path} uses {queue['used']} in {queue['containers']} containers, its "
                f"applications {_sum(size for size, _ in inside)} in {len(inside)}"
            )
        for user, used in queue["users"].items():
            if used != _sum(size for size, owner in inside if owner == user):
                found.append(f"{path} counts {used} for {user}")
            if min(used) < 0:
                negative.append(f"{path} has {used} of {user}")
        if min(queue["used"]) < 0 or min(queue["used_by_masters"]) < 0:
            negative.append(f"{path} has {queue['used']}")
    return [*result, *_some("usage of queues", found), *_some("negative usage", negative)]


def _nodes_differ(rm: State, load: State) -> list[str]:
    ours, theirs = rm["containers"], load["containers"]
    lost = (f"{name} is on no node" for name in ours if name not in theirs)
    extra = (f"{name} is on a node only" for name in theirs if name not in ours)
    other = (
        f"{name} is {ours[name]['size']} on {ours[name]['node']} here, "
        f"{theirs[name]['size']} on {theirs[name]['node']} there"
        for name in ours
        if name in theirs and any(ours[name][key] != theirs[name][key] for key in ("size", "node"))
    )
    return _some("containers of the nodes", [*lost, *extra, *other])


def _mirror_differs(rm: State, mirror: State) -> list[str]:
    def key(one: State) -> str:
        return f"{one['application']} #{one['number']}"

    def facts(one: State) -> tuple[str, list[int]]:
        return one["node"], list(one["size"])

    ours = {key(c): facts(c) for c in rm["containers"].values()}
    theirs = {key(c): facts(c) for c in mirror["containers"]}
    found = [
        f"{name}: {ours.get(name)} here, {theirs.get(name)} in the mirror"
        for name in sorted(ours.keys() | theirs.keys())
        if ours.get(name) != theirs.get(name)
    ]
    result = _some("containers of the mirror", found)
    for what in ("capacity", "free", "label", "shared"):
        here = {name: node[what] for name, node in rm["nodes"].items()}
        there = {name: node[what] for name, node in mirror["nodes"].items()}
        found = [
            f"{name}: {here.get(name)} here, {there.get(name)} in the mirror"
            for name in sorted(here.keys() | there.keys())
            if here.get(name) != there.get(name)
        ]
        result += _some(f"{what} of the mirror's nodes", found)
    here = {name: app["pending"] for name, app in rm["applications"].items() if app["pending"]}
    there = {name: count for name, count in mirror["pending"].items() if count}
    found = [
        f"{name} waits for {here.get(name, 0)} here, {there.get(name, 0)} in the mirror"
        for name in sorted(here.keys() | there.keys())
        if here.get(name) != there.get(name)
    ]
    return result + _some("pending of the mirror", found)


def _asks_differ(rm: State, load: State) -> list[str]:
    here = {name: app["pending"] for name, app in rm["applications"].items()}
    return _some(
        "asks",
        (
            f"{name} waits for {count} by its master, for {here.get(name)} here"
            for name, count in load["outstanding"].items()
            if here.get(name, 0) != count
        ),
    )


def leftovers(rm: State, load: State, mirror: State) -> list[str]:
    """Return what is left after all applications ended; empty if all is zero."""
    result = _some("containers left", [*rm["containers"], *load["containers"]])
    result += _some("asks left", (n for n, a in rm["applications"].items() if a["pending"]))
    used = (
        f"{path}: {queue['used']}"
        for path, queue in rm["queues"].items()
        if any(queue["used"]) or any(queue["used_by_masters"]) or queue["containers"]
    )
    result += _some("usage left in queues", used)
    full = (n for n, node in rm["nodes"].items() if node["free"] != node["capacity"])
    result += _some("usage left on nodes", full)
    kept = [f"{c['application']} #{c['number']}" for c in mirror["containers"]]
    return result + _some("containers left in the mirror", kept)


def growth(first: State, now: State, children: int) -> list[str]:
    """Return the heap, threads, files and child processes that exceed their bounds over the first
    figures.
    """
    found = []
    for name, most in (
        ("heap_mb", HEAP_GROWTH_MB), ("threads", THREADS_GROWTH), ("files", FILES_GROWTH)
    ):  # fmt: skip
        if now[name] > first[name] + most:
            found.append(f"growth of {name}: {first[name]} at first, {now[name]} now")
    if children > 1:
        found.append(f"growth of children: {children} processes of the ResourceManager, not 1")
    return found


def allowed_wait_ms(kinds: Iterable[str], stall: int, deadline: int, longest: int) -> int:
    """Return how long the cluster may stand still during faults of these kinds: with a silent
    policy until the watchdog has found it, with a policy that states a rule until the rule is no
    longer believed.
    """
    silent = [kind for kind in kinds if kind.startswith("silent.")]
    lies = any(kind.startswith("silent.lies") for kind in silent)
    return stall + (deadline if silent else 0) + (longest if lies else 0)


def capsules(found: Mapping[str, int]) -> list[str]:
    """Return what is wrong with the capsules of one ResourceManager, by name and mode."""
    wrong = [f"{name} has mode {mode:o}" for name, mode in sorted(found.items()) if mode != 0o600]
    if len(found) > MAX_CAPSULES:
        wrong.append(f"{len(found)} are kept, not {MAX_CAPSULES}")
    return _some("capsules", wrong)


def net_wait_ms(
    since: int, until: int, down: Sequence[tuple[int, int]], pauses: Iterable[Sequence[int]]
) -> int:
    """Return how long the cluster stood still between two times, less the machine's ``pauses``
    (start, length) and what follows the ``down`` times of the ResourceManager.
    """
    for begin, end in down:
        if begin < until and end > since:
            since = end
    spans = sorted((max(since, at), min(until, at + length)) for at, length in pauses)
    machine, reached = 0, since
    for begin, end in spans:
        if end > max(begin, reached):
            machine += end - max(begin, reached)
            reached = end
    return max(0, until - since - machine)


def violation_kinds(violations: Iterable[State]) -> Counter[str]:
    """Return the violations by kind, for the report."""
    return Counter(str(v["kind"]) for v in violations)
