"""The commands in the documents: which ones the tests run, and why they do not run the others."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

RUN = (
    "README.md",
    "docs/start/quickstart.md",
    "docs/operate/embedded.md",
    "docs/operate/from-stock.md",
    "docs/policies/overview.md",
    "docs/simulate/dag.md",
    "docs/simulate/simulator.md",
    "docs/simulate/workload.md",
    "docs/simulate/experiments.md",
    "docs/operate/configuration.md",
    "docs/policies/stress.md",
    "docs/write/testing.md",
    "docs/benchmarks/suite.md",
)
"""tests/test_document_commands.py runs these pages in this order, in one folder."""
ELSEWHERE = {"docs/write/tutorial.md": "tests/cluster/test_tutorial.py"}
"""Pages whose commands are run by another test."""

# (page, lines, reason); page and lines are regular expressions that match the whole text.
NOT_RUN = (
    (".*", r"export .*", "sets the reader's shell; the test sets it for all"),
    ("docs/benchmarks/yarn-tests.md", r"classes=.*", "of make yarn-tests"),
    (".*", r"make .*", "CI runs make test and make rest, with setup, lint, docs and java"),
    (".*", r"docker .*", "tests/cluster/test_compose*.py drive the same compose files"),
    (".*", r"loomcard .*--on docker.*", "tests/cluster/test_compose*, suite/test_on_compose.py"),
    ("docs/operate/compose.md", r"loomcard status.*", "tests/cluster/test_compose_ha.py"),
    ("docs/operate/rest.md", r"curl .*", "a cluster of that name; CallerTest, test_kerberos.py"),
    (".*", r"\S*python -m benchmarks\..*", "minutes to hours; tests/benchmarks runs them small"),
    (".*", r"python -m loomcard.cluster.hadoop_property_names .*", "writes into the sources"),
    (".*", r"loomcard suite (setup|try|run)\b.*", "pyspark, 700 MB; tests/suite/test_on_local.py"),
    ("docs/operate/install.md", r".*", "changes a Hadoop; tests/install does it on one of its own"),
    ("docs/operate/metrics.md", r"loomcard .*", "of another machine; tests/cli/test_usage.py"),
    ("docs/operate/hadoop-lines.md", r"loomcard .*", "80 MB of jars; tests/cli/test_cluster_up.py"),
    ("docs/benchmarks/hibench.md", r".*", "needs one; see tests/suite/test_hibench.py"),
    ("docs/operate/bridge.md", r"loomcard replay .*", "of a fault; tests/cluster/test_embedded.py"),
    ("docs/simulate/player.md", r"loomcard cluster launch-rate.*", "loads the machine"),
    ("docs/benchmarks/suite.md", r"loomcard report .*", "of a suite's run"),
    (".*", r"loomcard run (baselines|hdrf-fig9|dress-ablations|papers).*", "hours; tests/cli"),
    (".*", r"loomcard report run/(baselines|hdrf-fig9).*", "of such a run"),
    (".*", r"loomcard run my-experiment.yml .*", "the reader's file; tests/cli/test_run.py"),
    ("docs/simulate/experiments.md", r"loomcard run .*--on local", "minutes; tests/player"),
    ("docs/policies/stress.md", r"loomcard stress( my_policy.*| --write .*)?", "tests/stress"),
    ("docs/simulate/workload.md", r"loomcard trace .*(day.tsv|jobs.json).*", "the reader's file"),
    ("docs/simulate/experiments.md", r"dask .*", "serve until they are ended; test_over_dask.py"),
    ("docs/simulate/notebooks.md", r"\S*(pip|jupyter) .*", "tests/notebook/test_example.py"),
    ("docs/simulate/dag.md", r"loomcard dag spark .*", "the reader's file; tests/cli/test_dag.py"),
)  # fmt: skip


@dataclass(frozen=True)
class Command:
    """One command of a shell block: its continuation lines joined, its comment removed."""

    page: str
    line: str

    def why_not_run(self) -> str:
        """Return the reason why no test runs the command; empty if a test runs it."""
        found = [reason for *patterns, reason in NOT_RUN if self.matches(*patterns)]
        if self.page in ELSEWHERE:
            return ""
        return found[0] if found else ""

    def matches(self, page: str, line: str) -> bool:
        """Return whether an entry of NOT_RUN matches this command."""
        return bool(re.fullmatch(page, self.page) and re.fullmatch(line, self.line))

    def is_run(self) -> bool:
        """Return whether a test runs the command."""
        return not self.why_not_run() and self.page in (*RUN, *ELSEWHERE)


def commands(page: str) -> list[Command]:
    """Return the commands of a page, in order."""
    text = (ROOT / page).read_text()
    blocks = re.findall(r"^```(?:sh|console|bash)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in re.sub(r"\\\n\s*", "", block).splitlines()]
    bare = [re.sub(r"(^|\s+)#.*", "", line).strip().removeprefix("$ ") for line in lines]
    return [Command(page, line) for line in bare if line]


def all_commands() -> list[Command]:
    """Return the commands of all pages of the repository."""
    return [each for path in PAGES for each in commands(str(path.relative_to(ROOT)))]
