"""What `loomcard` exports, imported on first use: `import loomcard` alone stays quick."""

from loomcard.api import PLAN_API
from loomcard.api.fill import SHARE, fill
from loomcard.api.fill_tree import Level, fill_tree
from loomcard.api.headroom import EVERYBODY, headroom_by_user
from loomcard.api.member_index import Order
from loomcard.api.orders import by_priority
from loomcard.api.pending_plan import RULE_MS
from loomcard.api.plan import Plan
from loomcard.api.plan_checks import PlanError
from loomcard.api.policy import Policy, saved_rows
from loomcard.api.registry import register
from loomcard.api.report import shown
from loomcard.api.reserve import RESERVE_AFTER_MS, no_room
from loomcard.api.serve import Chooser, ExhaustedShapes, serve
from loomcard.api.stages.remaining_work import Estimates, Finished, WeighsWork
from loomcard.api.view import ClusterView, asks_below, members_of
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
from loomcard.model.fit_index import Shape
from loomcard.model.objects import Application, Ask, Container, Member, Node, Reservation
from loomcard.model.queue import Queue
from loomcard.model.reasons import Reason
from loomcard.model.resource import Resource, add_all, fits, share, subtract_all

__all__ = [
    "EVERYBODY",
    "PLAN_API",
    "RESERVE_AFTER_MS",
    "RULE_MS",
    "SHARE",
    "Application",
    "ApplicationAdded",
    "ApplicationRemoved",
    "Ask",
    "AskChanged",
    "AttemptAdded",
    "AttemptRegistered",
    "AttemptRemoved",
    "Chooser",
    "ClusterView",
    "Container",
    "ContainerAdded",
    "ContainerCompleted",
    "ContainerResized",
    "ContainerStarted",
    "Estimates",
    "Event",
    "ExhaustedShapes",
    "Finished",
    "Level",
    "Member",
    "Node",
    "NodeAdded",
    "NodeHeartbeat",
    "NodeRelabelled",
    "NodeRemoved",
    "NodeResized",
    "Order",
    "Plan",
    "PlanError",
    "Policy",
    "Queue",
    "Reason",
    "Refused",
    "Reservation",
    "Resource",
    "Shape",
    "TimerFired",
    "WeighsWork",
    "add_all",
    "asks_below",
    "by_priority",
    "fill",
    "fill_tree",
    "fits",
    "headroom_by_user",
    "members_of",
    "no_room",
    "register",
    "saved_rows",
    "serve",
    "share",
    "shown",
    "subtract_all",
]
