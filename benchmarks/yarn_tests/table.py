"""docs/benchmarks/yarn-tests.md: YARN's own tests under three schedulers, and why tests fail."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

MARK = "<!-- From here on written by `make yarn-tests`. -->\n"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a test ended under a scheduler: passed, failed, skipped; cut: its class did not end."""

    scheduler: str
    name: str
    test: str
    outcome: str
    ms: int
    message: str = ""

    @property
    def key(self) -> str:
        """Return class and method."""
        return f"{self.name}#{self.test}"


def put(page: str, line: str, text: str) -> str:
    """Return the page with the tables of a Hadoop line in place of that line's earlier ones."""
    above, _, below = page.partition(MARK)
    parts = (part.partition("\n\n") for part in re.split("^## Hadoop ", below, flags=re.M)[1:])
    sections = {name: rest.strip("\n") for name, _, rest in parts} | {line: text.strip("\n")}
    order = sorted(sections, key=lambda name: [int(number) for number in name.split(".")])
    return above + MARK + "\n".join(f"## Hadoop {name}\n\n{sections[name]}\n" for name in order)


def tables(found: Sequence[Outcome], explained: Mapping[str, Mapping[str, str]]) -> str:
    """What the page has below MARK, in Markdown."""
    schedulers = list(dict.fromkeys(row.scheduler for row in found))
    parts = ["### Passed of those that ran\n", table(found, schedulers)]
    for scheduler in (each for each in schedulers if each != "fifo"):  # it lacks much by design
        rows = [r for r in found if r.scheduler == scheduler and r.outcome in ("failed", "cut")]
        parts.append(f"### What fails under {scheduler}\n")
        parts.append(failures(rows, explained.get(scheduler) or {}))
    return "\n".join(parts)


def table(found: Sequence[Outcome], schedulers: Sequence[str]) -> str:
    """A row for each class in which anything fails, the sum of the others, and two sums of all: of
    every test, and of the tests that ran under every scheduler.
    """
    lines = [f"| class | {' | '.join(schedulers)} |", "|---" * (len(schedulers) + 1) + "|"]
    bad = {row.name for row in found if row.outcome in ("failed", "cut")}
    for name in dict.fromkeys(row.name for row in found if row.name in bad):
        cells = [cell([r for r in found if (r.name, r.scheduler) == (name, s)]) for s in schedulers]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    good = [[r for r in found if r.name not in bad and r.scheduler == s] for s in schedulers]
    classes = len({row.name for row in found} - bad)
    lines.append(f"| {classes} other classes | {' | '.join(map(cell, good))} |")
    each = [[r for r in found if r.scheduler == scheduler] for scheduler in schedulers]
    lines.append(f"| **all** | {' | '.join(cell(rows) for rows in each)} |")
    ran = [{r.key for r in rows if r.outcome in ("passed", "failed")} for rows in each]
    same = set.intersection(*ran) if ran else set()
    shared = [cell([r for r in rows if r.key in same]) for rows in each]
    lines.append(f"| **the same tests** | {' | '.join(shared)} |")
    return "\n".join(lines) + "\n"


def cell(rows: Iterable[Outcome]) -> str:
    """Return how many passed of those that ran; skipped ones count as neither."""
    rows = list(rows)
    ran = [row for row in rows if row.outcome in ("passed", "failed")]
    text = f"{sum(row.outcome == 'passed' for row in ran)}/{len(ran)}" if rows else "-"
    return text + (" (cut)" if any(row.outcome == "cut" for row in rows) else "")


def failures(rows: Sequence[Outcome], explained: Mapping[str, str]) -> str:
    """Each reason with the tests that fail for it; one without says so, with the test's message."""
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        said = row.message.replace("|", "/").replace("\n", " ")[:100]
        why = explained.get(row.key) or explained.get(row.name) or f"**not explained**: {said}"
        by_reason.setdefault(why, []).append(f"`{row.key if row.test else row.name}`")
    lines = (f"- {why}: {', '.join(names)}\n" for why, names in by_reason.items())
    return "".join(lines) or "Nothing.\n"
