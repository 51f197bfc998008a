"""Tetris (Grandl et al., SIGCOMM 2014): pack by alignment, prefer applications nearly done.

Left out: disk and network as separate resources (every resource type of the cluster counts), and
barrier hints. The order within an application is not the paper's: all its asks compete.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

from loomcard import (
    RESERVE_AFTER_MS,
    Application,
    Ask,
    Chooser,
    ClusterView,
    Estimates,
    ExhaustedShapes,
    Finished,
    Node,
    Plan,
    WeighsWork,
    fits,
    serve,
)
from loomcard.advanced import ByShape, report_waiting, want_first
from loomcard.policies.tetris.candidates import Candidates, Entry, Group
from loomcard.policies.tetris.paper import competing, score, work_price

WORK_UNIT = 1_000_000
"""Remaining work is an integer in millionths of a ms of the cluster, so that sums are exact in any
order."""

Choice = tuple[tuple[Any, ...], Ask, Node]
"""A candidate: its rank (negative score, remaining work, submission, number, key of the ask), its
ask, and the node.
"""


@dataclass(frozen=True)
class Tetris(WeighsWork):
    """Place the task that aligns best with a node, less the remaining work of its application.

    ``fairness``: the knob f; of the n applications that can be served now, only the
    max(1, ceil((1 - f) * n)) furthest below their fair share compete. ``remote_penalty``: the part
    of the alignment that is subtracted if a wish for a node is not met. ``work_weight``: multiplies
    the remaining work; 0 packs by alignment alone.
    ``assumed_ms``: the run time of tasks for which neither a hint nor a finished sibling gives one.
    ``reserve_after_ms``: as for ``fifo``; here, the first in line is the ask that has waited
    longest.
    """

    fairness: float = 0.0
    remote_penalty: float = 0.1
    work_weight: float = 1.0
    assumed_ms: float = 30_000.0
    reserve_after_ms: int = RESERVE_AFTER_MS

    leaf_only = True

    def __post_init__(self) -> None:
        for name in ("fairness", "remote_penalty"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} lies between 0 and 1")

    def decide(self, view: ClusterView, memory: Finished) -> tuple[Plan, Finished]:
        """Repeatedly place the candidate with the best score, alignment - m * eps * work."""
        plan = Plan(view)
        estimates = Estimates.of(view, memory, self.assumed_ms)

        def work(app: Application) -> int:
            return round(estimates.work(app) * WORK_UNIT)

        candidates = view.cache("candidates", lambda: Candidates(view, work))
        return serve(plan, _Packing(self, plan, candidates), self.reserve_after_ms), memory


class _Packing(Chooser):
    """One call: the price of work at its start, and the applications that it cannot serve."""

    def __init__(self, tetris: Tetris, plan: Plan, candidates: Candidates) -> None:
        super().__init__(plan.view.queue)
        self._tetris = tetris
        self._plan = plan
        self._candidates = candidates
        self._out: list[tuple[Group, Entry]] = []
        self._closed: set[tuple[Group, Application]] = set()  # no ask to allocate there
        self._groups: list[Group] | None = None
        self._price = 0.0
        self._node: Node | None = None  # of the candidate that is next

    def update(self) -> None:
        """Update the candidates that changed."""
        self._candidates.update()

    def next(self, full: ExhaustedShapes) -> Any:
        """Return the ask of the best candidate."""
        if self._groups is None:
            self._open(full)
        choice = self.best()
        if choice is None:
            return None
        _, ask, self._node = choice
        return ask

    def _open(self, full: ExhaustedShapes) -> None:
        """Find the shapes that fit somewhere, and the price of work at the start of the call."""
        asked = [g for s, g in self._candidates.groups.items() if g.entries and s not in full]
        open_ = [(group, best[0]) for group in asked if (best := group.best()) is not None]
        rows = [(aligned, len(group.entries)) for group, aligned in open_]
        price = work_price(rows, sum(group.work for group, _ in open_))
        self._price = self._tetris.work_weight * price
        self._groups = [group for group, _ in open_]

    def place(self, plan: Plan, ask: Ask) -> Node | None:
        """Return the node with which the candidate aligns best; any node for a reservation."""
        node, self._node = self._node, None
        return node or plan.place(ask)

    def allocated(self, chosen: Any, ask: Ask) -> None:  # noqa: ARG002
        """Update its application's place."""
        self._candidates.served(ask.application)

    def passed(self, chosen: Any, *, forbidden: bool) -> None:  # noqa: ARG002
        """Give its application nothing more of this shape in this call."""
        group = self._candidates.groups[chosen.size, chosen.label]
        self._closed.add((group, chosen.application))

    def best(self) -> Choice | None:
        """Return the candidate of the highest score; ties by less work, submission, number, and the
        order of an application's asks.
        """
        found: Choice | None = None
        among = self._furthest_below() if self._tetris.fairness else None
        for group in self._groups or ():
            best = group.best() if group.entries else None
            if best is not None:
                found = self._best_of(group, best, among, found)
        return found

    def _best_of(
        self, group: Group, best: tuple[float, Node], among: dict[Application, None] | None,
        found: Choice | None,
    ) -> Choice | None:  # fmt: skip
        """Return the better of ``found`` and the group's best, which has the least work; of its
        asks, the first counts.
        """
        passed: list[Entry] = []
        while (entry := group.top()) is not None:
            bound = score(best[0], self._price, entry[0])
            if found is not None and (-bound, *entry[:3]) >= found[0]:
                break
            passed.append(group.pop())
            if among is not None and entry[3] not in among:
                continue
            ask = self._ask(group, entry[3])
            if ask is None:
                self._out.append((group, passed.pop()))  # not in this call any more
                continue
            aligned = self._aligned(group, ask, best)
            found_score = score(aligned[0], self._price, entry[0])
            choice = ((-found_score, *entry[:3], ask.key), ask, aligned[1])
            if found is None or choice[0] < found[0]:
                found = choice
        group.put_back(passed)
        return found

    def _ask(self, group: Group, app: Application) -> Ask | None:
        """Return the application's first ask of the shape that may be allocated now, or None.

        During a call room and limits only shrink, so None remains true until its end.
        """
        if (group, app) in self._closed:
            return None
        for ask in app.asks:
            if ask.count > 0 and ask.size == group.size and ask.label == group.label:
                reason = self._plan.limited(ask)
                if reason is not None:
                    self._plan.wait(ask, reason)
                elif self._plan.allows(ask) and self._suited(ask):
                    return ask
        self._closed.add((group, app))
        return None

    def _suited(self, ask: Ask) -> bool:
        anywhere = ask.suits_all and not ask.attempt.blacklist
        return anywhere or self._plan.place(ask) is not None

    def _aligned(self, group: Group, ask: Ask, best: tuple[float, Node]) -> tuple[float, Node]:
        """Return the best node for an ask, and its alignment (less the penalty if it is remote)."""
        view, remote = self._plan.view, 1 - self._tetris.remote_penalty
        if not (ask.hosts or ask.racks or ask.attempt.blacklist) and ask.relax_locality:
            return best
        table, rows = (view.hosts, ask.hosts) if ask.hosts else (view.racks, ask.racks)
        wishes = [n for name, count in rows.items() if count for n in table.get(name, ())]
        near = {node: 1.0 for n in wishes if (node := view.node(n)) is not None}
        if ask.attempt.blacklist or not ask.suits_all:
            nodes = list(self._plan.nodes_fitting(ask))
        else:
            own = (n for n in near if view.offers(n, ask.label) and fits(ask.size, n.room))
            nodes = [best[1], *own]
        other = remote if near else 1.0
        scored = [(-group.alignment(n) * near.get(n, other), n.number, n) for n in nodes]
        least, _, node = min(scored)
        return -least, node

    def _furthest_below(self) -> dict[Application, None]:
        """Return the applications that compete by the knob.

        Only those that can be served count. Otherwise applications that a limit keeps below their
        share could be the only ones that compete, and no other would ever be served.
        """
        groups = [group for group in self._groups or () if group.entries and group.best()]
        able = (app for group in groups for app in group.entries if self._ask(group, app))
        apps = dict.fromkeys(able)
        count = competing(self._tetris.fairness, len(apps))
        order = self._plan.dominant_share
        key = lambda app: (order(app), app.submitted_ms, app.number)  # noqa: E731
        return dict.fromkeys(nsmallest(count, apps, key=key))

    def end(self) -> None:
        """Let those that were set aside try again in the next call."""
        for group, entry in self._out:
            group.put_back([entry])

    def report(self, plan: Plan) -> None:
        """Report that applications that changed wait for room."""
        report_waiting(plan, self._candidates.unreported)

    def reserve(self, plan: Plan, after_ms: int) -> None:
        """Reserve for the ask that has waited longest."""
        want_first(plan, ByShape(self._candidates.asks).of, after_ms)
