"""A round: the scopes of the queue tree, the turns between them, and one plan. It is the same for
both engines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from loomcard.api import registry
from loomcard.api.entitlement import entitlements
from loomcard.api.fill import ALL
from loomcard.api.pending_plan import PendingPlan
from loomcard.api.plan import Plan
from loomcard.api.view import (
    NO_FIT,
    NOTHING,
    Allowance,
    ClusterView,
    RoundTime,
    TurnOver,
    TurnResult,
)
from loomcard.engine.instance import Instance
from loomcard.engine.left_room import LeftRoom, could_lend
from loomcard.engine.mirror import Mirror
from loomcard.engine.place_reservation import place_reservation
from loomcard.engine.timers import Timers
from loomcard.engine.waits import end_rule_waits, wake_for_waits
from loomcard.model.events import Changes
from loomcard.model.partitions import Stage
from loomcard.model.queue import Queue
from loomcard.model.resource import Resource
from loomcard.validation import error_text
from loomcard.wire.messages import write

Fault = tuple[int, str, str]
"""An instance's number, what it raised, and the traceback."""

REPORT_EVERY_MS = 1_000
"""After how many ms ``plan.report_due`` is True again."""
UNREAD_REPORT_EVERY_MS = 10_000
"""The same while nobody reads reports: whoever begins to read finds none that is older."""

CUT_AGAIN_MS = 1_000
"""How many ms later the next round follows, if a round ran out of time for a second time and
allocated nothing.
"""

SAVED_AT_ONCE = 1 << 16
"""After so many characters of durable parts the others go with the next plan: asks wait for a plan.
"""


class PolicyTree:
    """The instances of a configuration and the order in which a round calls them."""

    def __init__(
        self,
        mirror: Mirror,
        search: Sequence[Path] | None,
        copies: Path | None = None,
        *,
        build_later: bool = False,
    ) -> None:
        """``build_later``: build the policies at the start of a round, when a policy that cannot be
        built is a fault of its queue alone; otherwise build them now, and raise what they raise.
        """
        self.mirror = mirror
        self.instances: dict[int, Instance] = {}
        self.timers = Timers()
        applied = None
        if search is not None and mirror.config is not None:
            applied = registry.Applied(mirror.config.get("files", {}), copies)
        for queue in mirror.state.queues:
            if queue.policy is not None:
                make = partial(
                    registry.build, queue.policy, queue.spec["options"],
                    search=search, applied=applied,
                )  # fmt: skip
                instance = self.instances[queue.number] = Instance(queue, make, mirror)
                if not build_later:
                    self._build(instance)
                instance.view._turn = self._turns(instance)
                instance.view._entitlement = self._entitlement
        self._shares: dict[Queue, Resource] | None = None
        self._pending: PendingPlan  # of the round
        self._left = LeftRoom(mirror.state)

    def is_built(self) -> bool:
        """Whether every instance has its policy."""
        return all(instance.policy is not None for instance in self.instances.values())

    def _build(self, instance: Instance) -> None:
        """Build its policy. If that asks again, note it in those above: they too may take nothing
        now and something in the next round.
        """
        instance.build()
        above = instance.queue.parent
        while above is not None and instance.asks_again:
            if above.number in self.instances:
                self.instances[above.number].asks_below = True
            above = above.parent

    def save(self, unsaved: list[int], faults: list[Fault]) -> dict[str, Any]:
        """Return the durable parts of the first of the ``unsaved`` instances, by key, up to
        ``SAVED_AT_ONCE``, and remove those looked at from the list; add a fault for each that
        cannot save.
        """
        saved: dict[str, Any] = {}
        size = 0
        while unsaved and size < SAVED_AT_ONCE:
            instance = self.instances[unsaved.pop(0)]
            try:
                part = instance.save()
                text = write(part)
            except BaseException as error:
                if error_text.is_interrupt(error):
                    raise
                faults.append(self._rest(instance, error))
                continue
            if part is not None:
                self.mirror.saved[instance.key] = msgspec.json.decode(text)  # not what may change
                saved[instance.key] = msgspec.Raw(text.encode())
                size += len(text)
        return saved

    def forget(self, numbers: Sequence[int] | None = None) -> None:
        """Drop stale memories: all, or those of the instances with these ``numbers``. ``initial``
        makes new ones.
        """
        for number in self.instances if numbers is None else numbers:
            if number in self.instances:
                self.instances[number].has_memory = False

    def run(self, most: int | None = None, time: RoundTime | None = None) -> PendingPlan:
        """Run one round over what the mirror shows now. It allocates at most ``most`` containers,
        and ends when its ``time`` has ended: a plan for a large backlog on an empty cluster must
        not take longer than a plan may.
        """
        mirror = self.mirror
        self._pending = pending = PendingPlan(mirror.state, mirror.now_ms)
        self._shares = None
        self._left.forget()
        end_rule_waits(mirror)
        reservations, ended = mirror.state.reservations, mirror.state.reservations.ended
        for instance in self.instances.values():
            self._prepare(instance, pending)
        again = any(instance.view._was_cut for instance in self.instances.values())
        allowance = None
        if most is not None or time is not None:
            allowance = Allowance(ALL if most is None else most, None, None, time)
        self._stages(self.instances[0], allowance)
        for instance in self.instances.values():
            if not instance.called and self._concerned(instance):
                self._call(instance, Allowance(0, None, allowance))
            if (
                instance.untried
                and instance.policy is not None
                and instance.queue.pending_count <= 0
            ):
                self._try(instance)
            instance.view._unread = []
            instance.drop_plan()
        self.mirror.state.enter(Stage.OVER)
        if pending.wants:
            place_reservation(pending)
        wake_for_waits(pending, given_back=reservations.ended != ended)
        if time is not None and time.cuts:
            pending.cuts = time.cuts
            pending.wake_root(1 if pending.steps or not again else CUT_AGAIN_MS)
        pending.wakes = self.timers.take_over(pending.wakes)
        return pending

    def _stages(self, root: Instance, allowance: Allowance | None) -> None:
        """Let the root's policy decide, in stages with one allowance for all. It is called again
        while guarantees on labels keep an ask that fits waiting: first with the queues below their
        guarantee served first, then, if nothing was allocated, without that order. It is called
        once more if shared partitions could lend what is left.
        """
        state = self.mirror.state
        state.enter(Stage.GUARANTEED)
        self._call(root, allowance)
        stage = Stage.GUARANTEED
        while stage is Stage.GUARANTEED and state.label_limits.could_go_on(state):
            before = state.pending_total
            if not self._again(stage, root, allowance):
                break
            if state.pending_total == before:
                stage = Stage.OWN
                self._again(stage, root, allowance)
        if state.partitions.shared:
            # A maximum on a label bounds what is lent: then each label lends in its own stage.
            bounded = state.label_limits.bounds_lending
            for lender in state.partitions.lenders if bounded else [""]:
                if could_lend(state, lender):
                    self._again(Stage.LENT, root, allowance, lender)

    def _again(
        self, stage: Stage, root: Instance, allowance: Allowance | None, lender: str = ""
    ) -> bool:
        """Call the root in another stage, after forgetting what was found to be full. Return False
        if it may not be called again.
        """
        if root.faulty or (allowance is not None and allowance.spent()):
            return False
        self.mirror.state.enter(stage, lender)
        self._left.forget()
        self._pending.reasons_reported = True
        self._pending.exhausted.clear()
        for instance in self.instances.values():
            instance.exhausted = False
            instance.drop_plan()
            self.mirror.state.asks_again(instance.queue)
        self._call(root, allowance)
        return True

    def _prepare(self, instance: Instance, pending: PendingPlan) -> None:
        view = instance.view
        if instance.called:
            view._was_cut, instance.cut = instance.cut, False
        instance.faulty = instance.called = instance.exhausted = False
        instance.drop_plan()
        view._pending = pending
        view._state = self.mirror.state
        view.now_ms, view.version = self.mirror.now_ms, self.mirror.sequence
        view.epoch_ms = self.mirror.epoch_ms
        if self.mirror.changes.every:
            view._unread.append(self.mirror.changes)
        due = self.mirror.timers_due.get(instance.queue.number)
        if due is not None:
            view._unread.append(Changes(due))
            self.timers.put(instance.queue.number, None)
            self.mirror.state.asks_again(instance.queue)
        if instance.policy is None and not instance.fallback.is_serving(view.now_ms):
            try:
                self._build(instance)
            except BaseException as error:
                if error_text.is_interrupt(error):
                    raise
                pending.faults.append(self._rest(instance, error))

    def _concerned(self, instance: Instance) -> bool:
        if instance.queue.number in self.mirror.timers_due:
            return True
        if not instance.takes_memory:
            return False
        if not instance.has_memory:
            return True
        if self.mirror.reader_came and instance.reported_ms is not None:
            return True
        keeps = instance.memory is not None or not hasattr(instance.policy, "initial")
        return keeps and any(each.concern(instance.queue) for each in instance.view._unread)

    def _entitlement(self, queue: Queue) -> Resource:
        if self._shares is None:
            state = self.mirror.state
            self._shares = entitlements(state.queues[0], state.capacity)
        return self._shares[queue]

    def _call(self, instance: Instance, allowance: Allowance | None) -> None:
        view = instance.view
        view._allowance = allowance
        view._reports_are_read = read = self.mirror.reports_are_read
        if instance.reported_ms is not None:
            every_ms = REPORT_EVERY_MS if read else UNREAD_REPORT_EVERY_MS
            view._report_due_ms = instance.reported_ms + every_ms
        try:
            if instance.fallback.is_serving(view.now_ms):
                instance.fallback.decide(view)
            else:
                self._decide(instance)
                instance.fallback.worked()
        except TurnOver:
            self._stop(instance)
        except BaseException as error:  # it may raise anything; the round continues
            if error_text.is_interrupt(error):
                raise
            self._fault(instance, error)
        instance.called, instance.untried = True, False
        view._unread = []
        if allowance is not None and allowance.over:
            instance.cut = True
        if instance.queue.number in self._pending.reporters:
            instance.reported_ms = instance.view.now_ms

    def _decide(self, instance: Instance) -> None:
        view = instance.view
        if instance.takes_memory and not instance.has_memory:
            initial = getattr(instance.policy, "initial", None)
            # A copy: what memory keeps of it may change, and what was saved must not.
            saved = deepcopy(self.mirror.saved.get(instance.key))
            instance.memory = initial(view, saved) if initial is not None else None
            instance.has_memory = True
        if instance.takes_memory:
            plan, instance.memory = instance.policy.decide(view, instance.memory)
        else:
            plan = instance.policy.decide(view)
        if not isinstance(plan, Plan):
            raise TypeError(f"decide must return its Plan, and returned {plan!r}")
        instance.plan = plan if plan.go_on is not None else None

    def _go_on(self, instance: Instance, plan: Plan, allowance: Allowance) -> None:
        """Do as ``_call`` in a later turn, with the plan's own ``go_on``."""
        instance.view._allowance = plan._allowance = allowance
        assert plan.go_on is not None
        try:
            plan.go_on()
            instance.fallback.worked()
        except TurnOver:
            self._stop(instance)
        except BaseException as error:
            if error_text.is_interrupt(error):
                raise
            self._fault(instance, error)
        if allowance is not None and allowance.over:
            instance.cut = True
        if instance.queue.number in self._pending.reporters:
            instance.reported_ms = instance.view.now_ms

    def _stop(self, instance: Instance) -> None:
        """Clean up after a policy was stopped in the middle: its decisions count, its cached values
        may be wrong.
        """
        instance.drop_plan()
        instance.view._cache.drop()

    def _try(self, instance: Instance) -> None:
        """Call a policy that had no reason for a turn yet, with an empty allowance, and drop what
        it decides. So a policy that cannot work fails in the first round of its configuration.
        """
        instance.untried = False
        state, pending = self.mirror.state, PendingPlan(self.mirror.state, self.mirror.now_ms)
        view = ClusterView(state, instance.queue, pending)
        view._allowance = Allowance(0, None, None)
        view._turn = lambda *_: TurnResult(0, NOTHING, state.zero, state.zero)
        view._entitlement = self._entitlement
        try:
            plan = instance.policy.decide(view)
            if not isinstance(plan, Plan):
                raise TypeError(f"decide must return its Plan, and returned {plan!r}")
        except BaseException as error:
            if error_text.is_interrupt(error):
                raise
            self._fault(instance, error)
        pending.drop(instance.queue.number)
        view._cache.drop()

    def _fault(self, instance: Instance, error: BaseException) -> None:
        instance.faulty = True
        instance.drop_plan()
        self._left.forget()
        self._pending.drop(instance.queue.number)
        self._pending.faults.append(self._rest(instance, error))

    def _rest(self, instance: Instance, error: BaseException) -> Fault:
        """Let the fallback serve for a while after a policy raised; drop the policy's memory and
        cached values, which may be wrong.
        """
        self.forget([instance.queue.number])
        instance.view._cache.drop()
        rest_ms = instance.fallback.fault(self.mirror.now_ms)
        message = f"{instance.key}: {error_text.message(error)}"
        rests = f"Its queue is served first in, first out for {rest_ms} ms, then it is tried again."
        return instance.queue.number, message, f"{error_text.trace()}{rests}"

    def _turns(self, parent: Instance) -> Callable[[Queue, int, Resource | None], TurnResult]:
        def turn(child: Queue, count: int, limit: Resource | None) -> TurnResult:
            before = tuple(child.used)
            instance = self.instances.get(child.number)
            if instance is None or instance.faulty or instance.cut or child.pending_count <= 0:
                return TurnResult(0, NOTHING, before, before)
            if instance.exhausted and self.mirror.state.wants_only(self._pending.exhausted):
                # its own answer would be the same, if it were called again
                return TurnResult(0, NO_FIT, before, before)
            allowance = Allowance(count, limit, parent.view._allowance)
            offered = allowance.count
            if instance.plan is None:
                self._call(instance, allowance)
            else:
                self._go_on(instance, instance.plan, allowance)
            taken = offered - allowance.count
            if instance.faulty or (allowance.over and not taken):
                return TurnResult(0, NOTHING, before, before)
            instance.exhausted = allowance.count > 0
            if taken:
                return TurnResult(taken, None, before, tuple(child.used))
            stopped = self._left.stopped(instance, self._pending.exhausted)
            return TurnResult(0, stopped, before, before)

        return turn
