"""Scheduling policies written in Python, run on a real Apache Hadoop YARN cluster."""

from loomcard.api import PLAN_API
from loomcard.api.fill import fill
from loomcard.api.plan import Plan
from loomcard.api.plan_checks import PlanError
from loomcard.api.policy import Policy
from loomcard.api.registry import register
from loomcard.api.report import shown
from loomcard.api.view import NO_FIT, NOTHING, WITHHELD, ClusterView, TurnResult
from loomcard.model.objects import Application, Ask, AskKey, Attempt, Container, Member, Node, Queue
from loomcard.model.reasons import Reason
from loomcard.model.resource import Resource

__version__ = "0.1.0"

__all__ = [
    "NOTHING",
    "NO_FIT",
    "PLAN_API",
    "WITHHELD",
    "Application",
    "Ask",
    "AskKey",
    "Attempt",
    "ClusterView",
    "Container",
    "Member",
    "Node",
    "Plan",
    "PlanError",
    "Policy",
    "Queue",
    "Reason",
    "Resource",
    "TurnResult",
    "fill",
    "register",
    "shown",
]
