"""Parts of the built-in policies: indexes, lines by shape, stages, single rules of the loop.

Use them as you like. They may change with any version, unlike what `loomcard` exports.
"""

from loomcard.api.entitlement import potential
from loomcard.api.fill import ALL, RESERVED, InOrder, take_turn
from loomcard.api.headroom import Amounts
from loomcard.api.lazy_heap import Entry, LazyHeap
from loomcard.api.member_index import MemberIndex, only_shape_of, shapes_of
from loomcard.api.orders import LazyOrder
from loomcard.api.past_use import LiveLevel, PastUse, PastUseOptions
from loomcard.api.pending_plan import AT_ONCE_MS
from loomcard.api.policy import ENDED_KEPT
from loomcard.api.preempt.guarantees import guarantees, stated
from loomcard.api.preempt.owed import OwedTasks, asks_of, by_submission, for_first
from loomcard.api.preempt.queue_trees import (
    QueueNode,
    QueuePartition,
    QueueTrees,
    fill_and_take_back,
)
from loomcard.api.preempt.rules import (
    EVERY_MS,
    Preemption,
    PreemptionOptions,
    PreemptionRules,
)
from loomcard.api.preempt.search import Search, take_back
from loomcard.api.random import draw, pick
from loomcard.api.reserve import (
    RESERVATION,
    ByShape,
    last_turns,
    serve_reservations,
    want_first,
    want_room,
)
from loomcard.api.serve import report_waiting
from loomcard.api.shape_lines import OpenShapes, RoomIndex, ShapeLines
from loomcard.api.stages.dag_hint import Dag, DagStage, read_dag, write_dag
from loomcard.api.stages.earlier_runs import Runs, mean_of_runs, remember_run
from loomcard.api.stages.marked_asks import ALTRUISTIC_ASKS, DEFAULT_ASKS, unmarked
from loomcard.api.stages.remaining_work import UNKNOWN_STAGE
from loomcard.api.stages.stage_tasks import StageTasks
from loomcard.api.view import NO_FIT, NOTHING, WITHHELD, TurnResult, applications_below
from loomcard.model.fit_index import SHAPES_KEPT, FirstFit, FitIndex
from loomcard.model.limits import own_limit
from loomcard.model.objects import AskKey, Attempt, Partition
from loomcard.model.reservations import why_never
from loomcard.model.resource import room_for
from loomcard.model.topology import Topology

__all__ = [
    "ALL",
    "ALTRUISTIC_ASKS",
    "AT_ONCE_MS",
    "DEFAULT_ASKS",
    "ENDED_KEPT",
    "EVERY_MS",
    "NOTHING",
    "NO_FIT",
    "RESERVATION",
    "RESERVED",
    "SHAPES_KEPT",
    "UNKNOWN_STAGE",
    "WITHHELD",
    "Amounts",
    "AskKey",
    "Attempt",
    "ByShape",
    "Dag",
    "DagStage",
    "Entry",
    "FirstFit",
    "FitIndex",
    "InOrder",
    "LazyHeap",
    "LazyOrder",
    "LiveLevel",
    "MemberIndex",
    "OpenShapes",
    "OwedTasks",
    "Partition",
    "PastUse",
    "PastUseOptions",
    "Preemption",
    "PreemptionOptions",
    "PreemptionRules",
    "QueueNode",
    "QueuePartition",
    "QueueTrees",
    "RoomIndex",
    "Runs",
    "Search",
    "ShapeLines",
    "StageTasks",
    "Topology",
    "TurnResult",
    "applications_below",
    "asks_of",
    "by_submission",
    "draw",
    "fill_and_take_back",
    "for_first",
    "guarantees",
    "last_turns",
    "mean_of_runs",
    "only_shape_of",
    "own_limit",
    "pick",
    "potential",
    "read_dag",
    "remember_run",
    "report_waiting",
    "room_for",
    "serve_reservations",
    "shapes_of",
    "stated",
    "take_back",
    "take_turn",
    "unmarked",
    "want_first",
    "want_room",
    "why_never",
    "write_dag",
]
