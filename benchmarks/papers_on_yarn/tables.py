"""The tables of docs/papers/experiments.md, from the parts' documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any, Final

_WHO = ("all four", "n1_1 done", "n2_2 done too")


def shares(document: dict[str, Any]) -> str:
    """Return the table of Figures 8 and 9: containers wanted and held, by phase, leaf and
    policy.
    """
    policies = list(document)
    rows = []
    for index, who in enumerate(_WHO):
        phases = [document[policy]["phases"][index] for policy in policies]
        for leaf, wanted in phases[0]["wanted"].items():
            held = [f"{phase['held'][leaf]:g}" for phase in phases]
            running = [f"{phase['running'][leaf]:g}" for phase in phases]
            cells = [f"{one} ({other})" for one, other in zip(held, running, strict=True)]
            rows.append([who, leaf, f"{wanted:g}", *cells])
    return _table(["who asks", "leaf", "wanted", *policies], rows)


def churn(document: dict[str, Any]) -> str:
    """Return the table of Figure 4 under churn: each leaf's guarantee and containers, by policy,
    and over time.
    """
    rows, minutes = [], []
    for policy, found in document.items():
        for name, leaf in found["leaves"].items():
            below = f"{leaf['below_half_ms'] / 1000:.0f} s"
            starves = "starves" if leaf["starves"] else ""
            counts = [f"{leaf[key]:g}" for key in ("guaranteed", "least", "median")]
            rows.append([policy, name, *counts, below, starves])
            series = leaf["series"]
            means = [mean(series[at : at + 6]) for at in range(0, len(series) - 5, 6)]
            minutes.append([policy, name, *(f"{value:.1f}" for value in means)])
    head = ["policy", "leaf", "guaranteed", "least", "median", "longest below half of it", ""]
    numbers = [str(number) for number in range(1, len(minutes[0]) - 1)]
    parts = [_table(head, rows), _table(["mean of minute", "", *numbers], minutes)]
    return "\n\n".join(parts)


def dress(document: dict[str, Any]) -> str:
    """Return the tables of both workloads: changes by seed, the paper's Table II, and a row per
    job.
    """
    return "\n\n".join(_workload(found) for found in document["workloads"])


def fig2(document: dict[str, Any]) -> str:
    """Return the completions of Figure 2's jobs, in its unit of time."""
    keys = ("j1", "j2", "mean")
    rows = [
        [name, f"{found['paper']:g}", *(_spread(found[key]) for key in keys)]
        for name, found in document.items()
    ]
    return _table(["", "the figure's mean", *keys], rows)


def fifty(document: dict[str, Any]) -> str:
    """Return the table of fifty applications at a time: how they ended, and what deciding cost."""
    labels = {
        "succeeded": "applications that succeeded",
        "containers": "containers",
        "fallback": "of them allocated by the fallback",
        "refused_percent": "refused decisions, %",
        "taken_back": "containers that were preempted, killed or lost",
        "deciding_percent": "policy process while they run, % of a core",
        "deciding_percent_whole": "over the whole run, % of a core",
        "makespan_s": "makespan, s",
    }
    rows = [[words, _spread(document[key])] for key, words in labels.items() if key in document]
    return _table([f"{document['applications']} applications", "min / median / max"], rows)


def compared(document: dict[str, Any]) -> str:
    """Return the table of Carbyne's jobs: seconds, and parts of drf's on YARN and in the simulator,
    by policy.
    """
    keys = tuple(next(iter(document["rows"].values())))
    rows = [[name, *(_spread(row[key]) for key in keys)] for name, row in document["rows"].items()]
    head = ["mean completion, s", "makespan, s"]
    head += [f"{what}{of}" for what in ("completion / drf's", "makespan / drf's")
             for of in ("", ", predicted")]  # fmt: skip
    return _table([f"{document['jobs']} jobs", *head], rows)


def coupled(document: dict[str, Any]) -> str:
    """Return the table of the paper's jobs under Coupling and the policies it is compared with, in
    the workload's seconds.
    """
    labels = {
        "completion_s": "mean completion, s",
        "completion_s_change": "to delay's",
        "starvation_s": "mean starvation, s",
        "makespan_s": "makespan, s",
        "makespan_s_change": "to delay's",
        "local_percent": "local maps, %",
        "refused_percent": "refused, %",
        "taken_back": "taken back",
    }
    rows = [
        [name, *(_spread(row[key]) for key in labels)] for name, row in document["rows"].items()
    ]
    return _table([document["workload"], *labels.values()], rows)


def _spread(values: Sequence[float]) -> str:
    """Return minimum, median and maximum as text."""
    return " / ".join(f"{value:g}" if value >= 100 else f"{value:.3g}" for value in values)


TABLES: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "hdrf-shares": shares,
    "hdrf-churn": churn,
    "dress": dress,
    "carbyne-fig2": fig2,
    "carbyne-fifty": fifty,
    "coupling-fifty": fifty,
    "coupling-table4": coupled,
    "coupling-table4-ramp": coupled,
    "coupling-fig13": coupled,
    "carbyne-offline": compared,
    "carbyne-online": compared,
    "carbyne-altruism": compared,
}
"""The function for the table of each part."""


def _workload(found: dict[str, Any]) -> str:
    keys = list(found["gains"]["dress"]["mean"])
    head = [f"{found['workload']}, seed", "", *(key.replace("_", " ") for key in keys)]
    rows = []
    for policy, gains in found["gains"].items():
        rows += [
            [str(each["seed"]), policy, *(f"{each[key]:+.1%}" for key in keys)]
            for each in gains["seeds"]
        ]
        means = [f"**{gains['mean'][key]:+.1%}**" for key in keys]
        rows.append(["**mean**", policy, *means])
    figures = found["table"]
    names = list(next(iter(figures.values())))
    overall = [[policy, *(f"{row[name]:.1f}" for name in names)] for policy, row in figures.items()]
    titles = [name.removesuffix("_s").replace("_", " ") for name in names]
    jobs = [[str(value) for value in job.values()] for job in found["jobs"]]
    columns = [key.removesuffix("_s").replace("_", " ") for key in found["jobs"][0]]
    parts = [_table(head, rows), _table(["seconds", *titles], overall), _table(columns, jobs)]
    return "\n\n".join(parts)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
