"""The demo's picture: how many containers each job had, over time, under each policy."""

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from loomcard.cluster.container_times import containers_over_time
from loomcard.demo.demo import Phase

# Okabe and Ito's palette: distinguishable in all common forms of colour vision.
_COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#999999",
)
# A second sign beside the colour, for prints in grey.
_HATCHES = ("", "//", "..", "xx", "\\\\", "--", "++", "oo")
_BLOCKS = " ▁▂▃▄▅▆▇█"


def interval(phase: Phase) -> tuple[int, int]:
    """From the phase's first submission to the end of its last container; ms since 1970."""
    from_ms = min(job.submitted_ms for job in phase.jobs)
    ends = [run.ended_ms for run in phase.runs if run.ended_ms is not None]
    return from_ms, max(ends, default=from_ms + 1)


def labels(phase: Phase) -> dict[str, str]:
    """Application id to a short name, equal in every phase: jobs of one name are numbered."""
    names = [job.name for job in phase.jobs]
    seen: dict[str, int] = {}
    found = {}
    for job in phase.jobs:
        seen[job.name] = seen.get(job.name, 0) + 1
        many = names.count(job.name) > 1
        found[job.id] = f"{job.name} {seen[job.name]}" if many else job.name
    return found


def terminal(phases: Sequence[Phase], width: int = 48) -> Text:
    """One row a job, one column a moment; a bar's height is the job's running containers."""
    longest = max(to_ms - from_ms for from_ms, to_ms in map(interval, phases))
    text = Text()
    for phase in phases:
        from_ms, to_ms = interval(phase)
        # The same scale for every policy, so that lengths compare.
        points = max(width * (to_ms - from_ms) // longest, 2)
        counts = containers_over_time(phase.runs, from_ms, to_ms, points)
        text.append(f"{phase.policy}: containers over {(to_ms - from_ms) / 1000:.0f} s\n", "bold")
        highest = max((max(row) for row in counts.values()), default=1)
        for i, (application, label) in enumerate(labels(phase).items()):
            row = counts.get(application, [0] * points)
            bars = "".join(_BLOCKS[-(-count * 8 // max(highest, 1))] for count in row)
            text.append(f"  {label:<12}")
            text.append(f"{bars:<{width}}", _COLOURS[i % len(_COLOURS)])
            text.append(f" max {max(row)}\n")
        text.append("\n")
    return text


def png(phases: Sequence[Phase], file: Path, points: int = 400) -> None:
    """Writes the same as stacked areas, one panel a policy with common axes, to `file`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 2.6 * len(phases)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(phases), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for panel, phase in zip(panels, phases, strict=True):
        from_ms, to_ms = interval(phase)
        counts = containers_over_time(phase.runs, from_ms, to_ms, points)
        seconds = [(to_ms - from_ms) * i / (points - 1) / 1000 for i in range(points)]
        names = labels(phase)
        rows = [counts.get(application, [0] * points) for application in names]
        panel.stackplot(
            seconds,
            rows,
            labels=names.values(),
            colors=_COLOURS,
            hatch=_HATCHES[: len(rows)],
            edgecolor="white",
            linewidth=0.4,
        )
        panel.set_title(phase.policy, loc="left")
        panel.set_ylabel("containers")
        panel.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel("seconds since the first submission")
    panels[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=120)
