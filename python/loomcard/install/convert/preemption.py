"""Preemption of the stock schedulers as the options `preempt_...` of `capacity` and `fair`."""

from __future__ import annotations

from typing import Any, Final

from loomcard.install.convert.amounts import number
from loomcard.install.convert.conversion import Conversion

_MONITOR: Final = "yarn.resourcemanager.scheduler.monitor"
_CAPACITY: Final = "yarn.resourcemanager.monitor.capacity.preemption"
_PREEMPTING: Final = "ProportionalCapacityPreemptionPolicy"
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
OFF: Final = f"{_FAIR}.preemption is off: nothing is preempted"
_MINIMUM_WAIT: Final = "defaultMinSharePreemptionTimeout"
_FAIR_WAITS: Final = ("defaultFairSharePreemptionTimeout", "fairSharePreemptionTimeout")


def capacity_preemption(made: Conversion, left: dict[str, str]) -> dict[str, Any]:
    """Return the options that CapacityScheduler's monitor amounts to; take its properties out."""
    why_off = _off(made, left)
    on = not why_off
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
            made.idle(name, text, why_off)
    options |= _inside(made, left, on)
    if not on:
        exempt = "disable_preemption"
        for name in list(left):
            if name.startswith(f"{_CAPACITY}.") or name.endswith(exempt):
                made.idle(name, left.pop(name), why_off)
    return options


def _off(made: Conversion, left: dict[str, str]) -> str:
    """Return why the monitor preempts nothing; empty if it does. Take out what decides it."""
    switch = left.pop(f"{_MONITOR}.enable", None)
    policies = left.pop(f"{_MONITOR}.policies", None)
    observes = left.pop(f"{_CAPACITY}.observe_only", None)
    classes = {each.strip().rpartition(".")[2] for each in (policies or "").split(",")}
    why = ""
    if switch is None or switch.strip().lower() != "true":
        why = "the monitor is off, so nothing is preempted"
    elif policies is not None and _PREEMPTING not in classes:
        why = f"the monitor's policies lack {_PREEMPTING}, so nothing is preempted"
    elif observes is not None and observes.strip().lower() == "true":
        why = "the monitor only observes, so nothing is preempted"
    if switch is not None and why:
        made.idle(f"{_MONITOR}.enable", switch, why)
    elif switch is not None:
        made.converted(
            f"{_MONITOR}.enable", switch, made.root, "options: preempt_after_ms",
            "turn the monitor itself off: `loomcard install` refuses it",
        )  # fmt: skip
    if policies is not None:
        made.idle(f"{_MONITOR}.policies", policies, why or "the policy itself preempts")
    if observes is not None:
        made.idle(f"{_CAPACITY}.observe_only", observes, why or "it is YARN's default")
    return why


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


def preempts_fairly(settings: dict[str, str]) -> bool:
    """Return whether FairScheduler's properties switch its preemption on."""
    return settings.get(f"{_FAIR}.preemption", "").strip().lower() == "true"


def fair_preemption(
    made: Conversion, settings: dict[str, str], defaults: dict[str, str]
) -> dict[str, Any]:
    """Return the options that FairScheduler's preemption amounts to; take out what is read.

    ``settings`` are its properties of yarn-site.xml, ``defaults`` the outer elements of the file.
    """
    on, switch = preempts_fairly(settings), settings.pop(f"{_FAIR}.preemption", None)
    for tag in [each for each in defaults if each == _MINIMUM_WAIT]:
        text = defaults.pop(tag)
        if on:
            made.lost(
                tag, text, "a minimum share alone is not taken back, only a fair share is",
                "state preempt_after_ms, for fair shares",
            )  # fmt: skip
        else:
            made.idle(tag, text, OFF)
    stated = [each for each in defaults if each in _FAIR_WAITS]
    wait_ms: int | None = None
    for tag in stated:
        text = defaults.pop(tag)
        if not on:
            made.idle(tag, text, OFF)
        elif tag != stated[-1]:
            made.idle(tag, text, f"{stated[-1]} goes before it")
        else:
            wait_ms = int(number(text, tag) * 1000)
            unstated = "defaultFairSharePreemptionThreshold" not in defaults
            why = "YARN's threshold, 0.5 unless stated, becomes 1" if unstated else ""
            made.converted(tag, text, made.root, "options: preempt_after_ms", why)
    options: dict[str, Any] = {}
    if switch is not None and wait_ms is not None:
        made.converted(f"{_FAIR}.preemption", switch, made.root, "options: preempt_after_ms")
    elif switch is not None:
        made.idle(
            f"{_FAIR}.preemption", switch,
            "no timeout of all queues' fair shares is stated" if on else "nothing is preempted",
        )  # fmt: skip
    kill = settings.pop(f"{_FAIR}.waitTimeBeforeKill", None)
    if wait_ms is not None:
        options["preempt_after_ms"] = max(1, wait_ms - 500)  # it looks once a second
        grace_ms = 15_000 if kill is None else int(number(kill, "waitTimeBeforeKill"))
        options |= {"preempt_grace_ms": grace_ms, "preempt_cooldown_ms": 0}
        options["preempt_budget"] = 1.0  # an application gets all that it lacks at once
    if kill is not None and options:
        made.converted(f"{_FAIR}.waitTimeBeforeKill", kill, made.root, "options: preempt_grace_ms")
    elif kill is not None:
        made.idle(f"{_FAIR}.waitTimeBeforeKill", kill, "nothing is preempted")
    return options
