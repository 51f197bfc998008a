"""Which predicates Loomcard's own policies break by their definition, in which scenarios, and
why.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from loomcard.stress.run import Verdict

POLICIES: Final = (
    "fifo", "drf", "capacity", "fair", "strict", "slots", "sjf", "srtf", "tetris", "hdrf", "dress",
    "carbyne", "coupling",
)  # fmt: skip
"""The columns of the table, without the baselines of papers."""

OPTIONS: Final[dict[str, dict[str, Any]]] = {"capacity": {"user_limit_factor": -1}}
"""Options of policies in the table: by default one user of a queue stays within its guarantee under
``capacity``, as in YARN, and leaves the rest idle.
"""


class Design(NamedTuple):
    """``policies`` break ``predicate`` in ``scenarios`` for the reason ``why``."""

    policies: tuple[str, ...]
    predicate: str
    scenarios: tuple[str, ...]
    why: str


_SHORTEST = ("sjf", "srtf", "tetris")
_CAPPED = ("strict",)
_LIES = ("hints-too-small", "hints-too-large", "hints-refused")
_BELIEVED = "`sjf`, `srtf` and `tetris` believe a hint: who claims little goes first."
_LESS_WORK = "`sjf`, `srtf` and `tetris` serve who has less work first, however long others wait."
_RESERVE = (
    "Under `dress` a share of each queue is reserved for small jobs. While none comes it idles, and"
    " shrinks from tick to tick by as much of it as is free."
)

DESIGNS: Final[tuple[Design, ...]] = (
    Design(
        _CAPPED,
        "idle room",
        (
            "many-applications", "arrivals", "many-servers", "masters", "am-flood", "greedy-user",
            "tiny-shapes", "long-among-short", "node-sized", "too-large", "tiny-weights",
            "at-its-maximum", "labels", "third-branch", "late-queue", "vanishing-resource",
            "nodes-lost", "swap", *_LIES,
        ),
        "Under `strict` shares are hard caps, rounded down to whole containers: what a member does"
        " not use idles.",
    ),
    Design(
        _CAPPED,
        "guarantee",
        (
            "many-applications", "arrivals", "many-servers", "greedy-user", "tiny-weights",
            "at-its-maximum", "late-queue", "vanishing-resource", "nodes-lost", "swap", *_LIES,
        ),
        "Under `strict` a queue's share is divided among its applications as hard caps too: a queue"
        " whose few applications that still want more have theirs, or that has more applications"
        " than containers, stays below its own. It knows no users.",
    ),
    Design(
        _CAPPED,
        "starvation",
        ("masters",),
        "AMs may hold 30 % of a queue's maximum here, which is all of what `strict` lets one of the"
        " queues have: AMs that were let in wait for the room of others.",
    ),
    Design(
        ("fifo",),
        "guarantee",
        ("many-servers", "tiny-weights", "third-branch"),
        "`fifo` knows guarantees and no weights: who came first goes first.",
    ),
    Design(
        _SHORTEST,
        "starvation",
        (
            "many-applications", "arrivals", "masters", "long-among-short", "too-large",
            "tiny-weights", "at-its-maximum", "late-queue", "nodes-lost", "swap",
        ),
        _LESS_WORK,
    ),
    Design(_SHORTEST, "starvation", ("hints-too-small", "hints-too-large"), _LESS_WORK),
    Design(("sjf",), "starvation", ("hints-refused",), _LESS_WORK),
    Design(
        _SHORTEST,
        "in time",
        ("hints-too-small",),
        _BELIEVED,
    ),
    Design(("sjf",), "in time", ("hints-too-large",), _BELIEVED),
    Design(("sjf", "srtf"), "starvation", ("labels", "vanishing-resource"), _LESS_WORK),
    Design(
        _SHORTEST,
        "bounded wait",
        ("long-among-short",),
        "A long job waits as long as shorter ones come: the definition of `sjf`, `srtf` and, less"
        " strictly, `tetris`.",
    ),
    Design(
        ("sjf", "srtf"),
        "bounded wait",
        ("node-sized", "too-large"),
        "Room is reserved for who is first in line by the policy's own order, and under `sjf` and"
        " `srtf` the larger job stands behind all smaller ones.",
    ),
    Design(
        ("slots",),
        "idle room",
        ("too-large", "third-branch"),
        "`slots` runs eight containers on every node, whatever their size and the node's.",
    ),
    Design(
        ("slots",),
        "guarantee",
        ("third-branch",),
        "Eight containers a node are half of these nodes: nobody can have a third.",
    ),
    Design(
        ("dress",),
        "idle room",
        ("masters", "late-queue", "nodes-lost", "swap"),
        _RESERVE,
    ),
    Design(("dress",), "guarantee", ("many-servers",), _RESERVE),
)  # fmt: skip


def reason_of(verdict: Verdict, predicate: str) -> str | None:
    """Return why the policy's definition breaks a predicate in a scenario; None: that is a
    defect.
    """
    for design in DESIGNS:
        known = verdict.policy in design.policies and verdict.scenario in design.scenarios
        if known and predicate == design.predicate:
            return design.why
    return None
