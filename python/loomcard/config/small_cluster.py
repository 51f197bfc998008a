"""A small cluster on which a configuration is tried before it governs a real one: a policy that
answers but allocates nothing passes every other check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from loomcard.api.registry import built_in
from loomcard.config import rules
from loomcard.config.fit import place_of
from loomcard.config.isolated import FIRST_ROUND_S, ChildEndedError, resource_types, run_isolated
from loomcard.engine.far_end import FarEnd
from loomcard.model.objects import Ask
from loomcard.model.placement import place
from loomcard.model.queue import Queue
from loomcard.model.state import ClusterState
from loomcard.validation.findings import Finding
from loomcard.validation.reading import read
from loomcard.wire import messages as r

SECONDS: Final = 30
AMOUNT: Final = 65_536
"""The amount of each resource type on each node."""
SIZE: Final = 1024
"""The memory of a container in MB; it has 1 of each other type."""
COUNT: Final = 3
NODES: Final = 2
"""The count of nodes of each label."""


def left_waiting(
    text: str, config: Mapping[str, Any], search: Sequence[Path] | None
) -> list[Finding]:
    """Return a warning for each leaf queue that gets nothing on a small cluster although it could.
    The configuration was compiled from ``text``. Only policies that are not Loomcard's own are
    tried.
    """
    policies = {queue["policy"] for queue in config["queues"]} - {None}
    if policies <= built_in().keys():
        return []
    try:
        waiting = run_isolated(lambda notify: [*map(notify, _play(config, search))], FIRST_ROUND_S)
    except ChildEndedError as ended:
        return _warnings(text, config, {0: _ended(ended)})
    said = (
        f"its policy allocates nothing: {COUNT} containers of {SIZE} MB are asked for on {NODES}"
        f" empty nodes of {AMOUNT} MB, wait for {SECONDS} s, and no rule is stated for it"
    )
    return _warnings(text, config, dict.fromkeys(waiting, said))


def _ended(ended: ChildEndedError) -> str:
    how = f"ended {ended.how}" if ended.how else f"did not answer within {FIRST_ROUND_S:g} s"
    return f"the process of its policies {how} on a small cluster of {NODES} nodes"


def _warnings(text: str, config: Mapping[str, Any], said: Mapping[int, str]) -> list[Finding]:
    document = read(text)
    for number, what in said.items():
        queue = config["queues"][number]
        document.report(
            place_of(queue["path"]),
            f"{queue['path']}: {what}",
            "see that decide allocates what fits, or state the rule with plan.wait(..., until_ms)",
            rule=rules.ALLOCATES_NOTHING,
            severity=rules.RULES[rules.ALLOCATES_NOTHING].severity,
        )
    return sorted(document.findings)


def _play(config: Mapping[str, Any], search: Sequence[Path] | None) -> list[int]:
    """The leaf queues that got nothing, although they could be served at the end."""
    types = resource_types(config)
    leaves = [n for n, queue in enumerate(config["queues"]) if queue["leaf"]]
    far_end, served = FarEnd("check", types, config, {"policy_path": search}), set[int]()
    far_end.on_allocated = lambda container: served.add(container.application.queue.number)
    for record in _cluster(config, leaves, types):
        far_end.send(record)
    beating = far_end.state.nodes if "heartbeats" in config["needs"] else ()
    for second in range(SECONDS + 1):
        now_ms = 1000 * second
        for node in beating:
            far_end.send(r.NodeHeartbeatRecord(now_ms, node))
        far_end.ring(now_ms)
        far_end.carry_out(far_end.next_plan(now_ms))
    state = far_end.session.mirror.state
    asks = {app.queue: app.asks[0] for app in state.applications.values() if app.asks}
    return [
        queue.number
        for queue, ask in asks.items()
        if queue.number not in served and _could_be_served(state, ask)
    ]


def _could_be_served(state: ClusterState, ask: Ask) -> bool:
    """Whether it is within all limits, fits on a node, and no stated rule keeps it waiting."""
    rules_until = [state.rule_waits.until_ms(ask)]
    queue: Queue | None = ask.application.queue
    while queue is not None:
        rules_until.append(state.rule_waits.until_ms(queue))
        queue = queue.parent
    fits = ask.count > 0 and state.limited(ask) is None and place(state, ask) is not None
    return fits and max(rules_until) <= state.shape_waits.now_ms


def _cluster(
    config: Mapping[str, Any], leaves: Sequence[int], types: Sequence[str]
) -> list[r.AnyRecord]:
    """Nodes of each label that a leaf asks for by default, and an application in each leaf."""
    labels = {n: str(config["queues"][n].get("default_label") or "") for n in leaves}
    size = (SIZE, *[1] * (len(types) - 1))
    records: list[r.AnyRecord] = []
    for label in sorted({*labels.values(), ""}):
        for _ in range(NODES):
            number = len(records) + 1
            capacity = tuple([AMOUNT] * len(types))
            records.append(r.NodeAddedRecord(0, number, f"n{number}:1", "/rack", capacity, label))
    for app, leaf in enumerate(leaves, 1):
        id_ = f"application_1_{app:04d}"
        records += [
            r.ApplicationAddedRecord(0, app, id_, leaf, "someone", "check", "CHECK", [], 0, 0, {}),
            r.AttemptAddedRecord(0, app, app, 1, True),
            r.AttemptRegisteredRecord(0, app),
            r.AskChangedRecord(0, app, 20, 0, False, size, COUNT, {}, {}, True, labels[leaf]),
        ]
    return records
