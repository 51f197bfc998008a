"""The Coupling Scheduler (Tan, Meng, Zhang, 2013): its functions, one by one."""

from loomcard.policies.coupling.paper import (
    Tasks,
    Waiting,
    attempted,
    beta,
    cost,
    launch_fraction,
    mismatch,
    on_heartbeat,
    peek,
    probability,
    ranked,
    unit,
)  # fmt: skip

__all__ = [
    "Tasks", "Waiting", "attempted", "beta", "cost", "launch_fraction", "mismatch", "on_heartbeat",
    "peek", "probability", "ranked", "unit",
]  # fmt: skip
