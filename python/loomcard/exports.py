"""What `loomcard` exports, imported on first use: `import loomcard` alone stays quick."""

from loomcard.api import PLAN_API
from loomcard.api.entitlement import potential
from loomcard.api.fill import ALL, RESERVED, SHARE, fill, take_turn
from loomcard.api.fill_tree import Level, fill_tree
from loomcard.api.headroom import EVERYBODY, Amounts, headroom_by_user
from loomcard.api.lazy_heap import Entry, LazyHeap
from loomcard.api.member_index import MemberIndex, Order, only_shape_of
from loomcard.api.orders import LazyOrder, by_priority
from loomcard.api.pending_plan import AT_ONCE_MS, RULE_MS
from loomcard.api.plan import Plan
from loomcard.api.plan_checks import PlanError
from loomcard.api.policy import ENDED_KEPT, Policy, saved_rows
from loomcard.api.random import draw, pick
from loomcard.api.registry import register
from loomcard.api.report import shown
from loomcard.api.reserve import (
    RESERVATION,
    RESERVE_AFTER_MS,
    ByShape,
    no_room,
    serve_reservations,
    want_first,
    want_room,
)
from loomcard.api.serve import Chooser, ExhaustedShapes, report_waiting, serve
from loomcard.api.shape_lines import OpenShapes, RoomIndex, ShapeLines
from loomcard.api.stages.dag_hint import Dag, DagStage, read_dag, write_dag
from loomcard.api.stages.earlier_runs import Runs, mean_of_runs, remember_run
from loomcard.api.stages.marked_asks import ALTRUISTIC_ASKS, DEFAULT_ASKS, unmarked
from loomcard.api.stages.remaining_work import UNKNOWN_STAGE, Estimates, Finished, WeighsWork
from loomcard.api.stages.stage_tasks import StageTasks
from loomcard.api.view import (
    NO_FIT,
    NOTHING,
    WITHHELD,
    ClusterView,
    TurnResult,
    applications_below,
    asks_below,
    members_of,
)
from loomcard.model.events import (
    ApplicationAdded,
    ApplicationRemoved,
    AskChanged,
    AttemptAdded,
    AttemptRegistered,
    AttemptRemoved,
    ContainerAdded,
    ContainerCompleted,
    ContainerResized,
    ContainerStarted,
    Event,
    NodeAdded,
    NodeHeartbeat,
    NodeRelabelled,
    NodeRemoved,
    NodeResized,
    Refused,
    TimerFired,
)
from loomcard.model.fit_index import SHAPES_KEPT, FirstFit, FitIndex, Shape
from loomcard.model.limits import own_limit
from loomcard.model.objects import (
    Application,
    Ask,
    AskKey,
    Attempt,
    Container,
    Member,
    Node,
    Partition,
    Reservation,
)
from loomcard.model.queue import Queue
from loomcard.model.reasons import Reason
from loomcard.model.reservations import why_never
from loomcard.model.resource import Resource, add_all, fits, room_for, share, subtract_all
from loomcard.model.topology import Topology

__all__ = [
    "ALL",
    "ALTRUISTIC_ASKS",
    "AT_ONCE_MS",
    "DEFAULT_ASKS",
    "ENDED_KEPT",
    "EVERYBODY",
    "NOTHING",
    "NO_FIT",
    "PLAN_API",
    "RESERVATION",
    "RESERVED",
    "RESERVE_AFTER_MS",
    "RULE_MS",
    "SHAPES_KEPT",
    "SHARE",
    "UNKNOWN_STAGE",
    "WITHHELD",
    "Amounts",
    "Application",
    "ApplicationAdded",
    "ApplicationRemoved",
    "Ask",
    "AskChanged",
    "AskKey",
    "Attempt",
    "AttemptAdded",
    "AttemptRegistered",
    "AttemptRemoved",
    "ByShape",
    "Chooser",
    "ClusterView",
    "Container",
    "ContainerAdded",
    "ContainerCompleted",
    "ContainerResized",
    "ContainerStarted",
    "Dag",
    "DagStage",
    "Entry",
    "Estimates",
    "Event",
    "ExhaustedShapes",
    "Finished",
    "FirstFit",
    "FitIndex",
    "LazyHeap",
    "LazyOrder",
    "Level",
    "Member",
    "MemberIndex",
    "Node",
    "NodeAdded",
    "NodeHeartbeat",
    "NodeRelabelled",
    "NodeRemoved",
    "NodeResized",
    "OpenShapes",
    "Order",
    "Partition",
    "Plan",
    "PlanError",
    "Policy",
    "Queue",
    "Reason",
    "Refused",
    "Reservation",
    "Resource",
    "RoomIndex",
    "Runs",
    "Shape",
    "ShapeLines",
    "StageTasks",
    "TimerFired",
    "Topology",
    "TurnResult",
    "WeighsWork",
    "add_all",
    "applications_below",
    "asks_below",
    "by_priority",
    "draw",
    "fill",
    "fill_tree",
    "fits",
    "headroom_by_user",
    "mean_of_runs",
    "members_of",
    "no_room",
    "only_shape_of",
    "own_limit",
    "pick",
    "potential",
    "read_dag",
    "register",
    "remember_run",
    "report_waiting",
    "room_for",
    "saved_rows",
    "serve",
    "serve_reservations",
    "share",
    "shown",
    "subtract_all",
    "take_turn",
    "unmarked",
    "want_first",
    "want_room",
    "why_never",
    "write_dag",
]
