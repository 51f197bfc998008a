"""docs/benchmarks/yarn-tests.md: YARN's own tests under three schedulers, and why any fails."""

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
        """Class and method."""
        return f"{self.name}#{self.test}"


def tables(
    found: Sequence[Outcome], left_out: Mapping[str, str],
    explained: Mapping[str, Mapping[str, str]],
) -> str:  # fmt: skip
    """What the page has below MARK, in Markdown."""
    schedulers = list(dict.fromkeys(row.scheduler for row in found))
    parts = ["## Passed of those that ran\n", table(found, schedulers)]
    for scheduler in schedulers:
        rows = [r for r in found if r.scheduler == scheduler and r.outcome in ("failed", "cut")]
        parts.append(f"## What fails under {scheduler}\n")
        parts.append(failures(rows, explained.get(scheduler) or {}))
    parts.append("## Left out for all\n")
    parts.append("".join(f"- `{key}`: {why}\n" for key, why in left_out.items()) or "Nothing.\n")
    return "\n".join(parts)


def table(found: Sequence[Outcome], schedulers: Sequence[str]) -> str:
    """One row a class, and two sums: of all, and of the tests that ran under every scheduler."""
    lines = [f"| class | {' | '.join(schedulers)} |", "|---" * (len(schedulers) + 1) + "|"]
    for name in dict.fromkeys(row.name for row in found):
        cells = [cell([r for r in found if (r.name, r.scheduler) == (name, s)]) for s in schedulers]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    each = [[r for r in found if r.scheduler == scheduler] for scheduler in schedulers]
    lines.append(f"| **all** | {' | '.join(cell(rows) for rows in each)} |")
    ran = [{r.key for r in rows if r.outcome in ("passed", "failed")} for rows in each]
    same = set.intersection(*ran) if ran else set()
    shared = [cell([r for r in rows if r.key in same]) for rows in each]
    lines.append(f"| **the same tests** | {' | '.join(shared)} |")
    return "\n".join(lines) + "\n"


def cell(rows: Iterable[Outcome]) -> str:
    """Passed of those that ran; skipped ones count as neither."""
    rows = list(rows)
    ran = [row for row in rows if row.outcome in ("passed", "failed")]
    text = f"{sum(row.outcome == 'passed' for row in ran)}/{len(ran)}" if rows else "-"
    return text + (" (cut)" if any(row.outcome == "cut" for row in rows) else "")


def failures(rows: Sequence[Outcome], explained: Mapping[str, str]) -> str:
    """Each failure with its explanation; one that has none says so, with what the test said."""
    lines = []
    for row in rows:
        name = row.key if row.test else row.name
        said = row.message.replace("|", "/").replace("\n", " ")[:200]
        why = explained.get(row.key) or explained.get(row.name) or f"**not explained**: {said}"
        lines.append(f"- `{name}`: {why}\n")
    return "".join(lines) or "Nothing.\n"
