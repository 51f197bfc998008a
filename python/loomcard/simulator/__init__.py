"""Engine 1: the same policies on a cluster of events, under a virtual clock."""

from loomcard.simulator.engine import Progress, Simulation, MismatchError, simulate
from loomcard.simulator.invariants import InvariantError
from loomcard.simulator.resourcemanager import PolicyFaultError

__all__ = [
    "InvariantError",
    "PolicyFaultError",
    "Progress",
    "Simulation",
    "MismatchError",
    "simulate",
]
