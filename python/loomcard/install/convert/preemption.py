"""Preemption of the stock schedulers as the options `preempt_...` of `capacity` and `fair`."""

from __future__ import annotations

from typing import Any, Final

from loomcard.install.convert.amounts import number
from loomcard.install.convert.conversion import Conversion

_MONITOR: Final = "yarn.resourcemanager.scheduler.monitor"
_CAPACITY: Final = "yarn.resourcemanager.monitor.capacity.preemption"
_WITHIN: Final = {"userlimit_first": "user_limit", "priority_first": "priority"}
_VALUES: Final = {
    f"{_CAPACITY}.monitoring_interval": ("preempt_after_ms", 3_000),
    f"{_CAPACITY}.max_wait_before_kill": ("preempt_grace_ms", 15_000),
    f"{_CAPACITY}.total_preemption_per_round": ("preempt_budget", 0.1),
    f"{_CAPACITY}.natural_termination_factor": ("preempt_queue_budget", 0.2),
}
"""By property: the option, and YARN's default."""
_INSIDE: Final = f"{_CAPACITY}.intra-queue-preemption"
_FAIR: Final = "yarn.scheduler.fair"


def capacity_preemption(made: Conversion, left: dict[str, str]) -> dict[str, Any]:
    """Return the options that CapacityScheduler's monitor amounts to; take its properties out."""
    switch = left.pop(f"{_MONITOR}.enable", None)
    policies = left.pop(f"{_MONITOR}.policies", None)
    on = switch is not None and switch.strip().lower() == "true"
    if switch is not None and on:
        made.converted(
            f"{_MONITOR}.enable", switch, made.root, "options: preempt_after_ms",
            "turn the monitor itself off: `loomcard install` refuses it",
        )  # fmt: skip
    elif switch is not None:
        made.idle(f"{_MONITOR}.enable", switch, "nothing is preempted")
    if policies is not None:
        made.idle(f"{_MONITOR}.policies", policies, "the policy itself preempts")
    options: dict[str, Any] = {}
    for name, (option, usual) in _VALUES.items():
        text = left.pop(name, None)
        found = usual if text is None else number(text, name)
        if on:
            options[option] = int(found) if option.endswith("_ms") else float(found)
            if option == "preempt_after_ms":
                # The monitor sees a queue after half an interval on average, we after 0.5 s.
                options |= {
                    option: max(1, int(found) // 2 - 500),
                    "preempt_cooldown_ms": int(found),
                }
        if text is not None and on:
            made.converted(name, text, made.root, f"options: {option}")
        elif text is not None:
            made.idle(name, text, "the monitor is off, so nothing is preempted")
    return options | _inside(made, left, on)


def _inside(made: Conversion, left: dict[str, str], on: bool) -> dict[str, Any]:
    enabled = left.pop(f"{_INSIDE}.enabled", None)
    order = left.pop(f"{_INSIDE}.preemption-order-policy", None)
    within = on and enabled is not None and enabled.strip().lower() == "true"
    for name, text in ((f"{_INSIDE}.enabled", enabled),
                       (f"{_INSIDE}.preemption-order-policy", order)):  # fmt: skip
        if text is not None and within:
            made.converted(name, text, made.root, "options: preempt_within")
        elif text is not None:
            made.idle(name, text, "nothing is preempted inside queues")
    return {"preempt_within": _WITHIN.get((order or "").strip(), "user_limit")} if within else {}


def fair_preemption(
    made: Conversion, settings: dict[str, str], defaults: dict[str, str]
) -> dict[str, Any]:
    """Return the options that FairScheduler's preemption amounts to; take out what is read.

    ``settings`` are its properties of yarn-site.xml, ``defaults`` the outer elements of the file.
    """
    switch = settings.pop(f"{_FAIR}.preemption", None)
    on = switch is not None and switch.strip().lower() == "true"
    options: dict[str, Any] = {}
    if switch is not None and on:
        made.converted(f"{_FAIR}.preemption", switch, made.root, "options: preempt_after_ms")
    elif switch is not None:
        made.idle(f"{_FAIR}.preemption", switch, "nothing is preempted")
    waits = []
    for tag in ("defaultMinSharePreemptionTimeout", "defaultFairSharePreemptionTimeout",
                "fairSharePreemptionTimeout"):  # fmt: skip
        text = defaults.pop(tag, None)
        if text is None:
            continue
        waits.append(int(number(text, tag) * 1000))
        if on:
            made.converted(tag, text, made.root, "options: preempt_after_ms",
                           "the shortest of the timeouts counts")  # fmt: skip
        else:
            made.idle(tag, text, "yarn.scheduler.fair.preemption is off: nothing is preempted")
    kill = settings.pop(f"{_FAIR}.waitTimeBeforeKill", None)
    if on and waits:
        options["preempt_after_ms"] = max(1, min(waits) - 500)  # it looks once a second
        grace_ms = 15_000 if kill is None else int(number(kill, "waitTimeBeforeKill"))
        options |= {"preempt_grace_ms": grace_ms, "preempt_cooldown_ms": 0}
        options["preempt_budget"] = 1.0  # an application gets all that it lacks at once
    if kill is not None and options:
        made.converted(f"{_FAIR}.waitTimeBeforeKill", kill, made.root, "options: preempt_grace_ms")
    elif kill is not None:
        made.idle(f"{_FAIR}.waitTimeBeforeKill", kill, "nothing is preempted")
    return options
