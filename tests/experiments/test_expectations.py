"""The papers' figures that an experiment states: wrong entries are named with their line, right
ones are judged.
"""

import json
from pathlib import Path

import pytest

from loomcard.experiments.run import Request, prepare, run
from loomcard.experiments.schema import read_experiment
from loomcard.report.runs import read_study
from loomcard.report.terminal import numbers
from loomcard.validation.findings import FindingsError

HEAD = """version: 1
kind: experiment
policies: [fifo, sets/mine.yml, drf]
workloads: [small.yml]
vary: {workload.tasks: [2, 6]}
expect:
"""
PLAIN = "figure: F, paper: 1"
WAIT = f"{PLAIN}, measure: waiting, policy: drf, against: fifo"
SPEEDUP = f"{PLAIN}, measure: speedup, policy: drf, against: fifo"
SHARE = f"{PLAIN}, measure: share, policy: drf, as: value"


@pytest.mark.parametrize(
    ("entry", "at", "said"),
    [
        (PLAIN, "F,", "the key 'sign' is missing (less, equal or more)"),
        (f"{PLAIN}, sign: less, of: x", "x}", "'of' says how it is measured, and there is no"),
        (f"{PLAIN}, sign: less, as: value", "value}", "'as' says how it is measured, and"),
        (f"{PLAIN}, measure: speed", "speed", "expected 'completion', 'waiting',"),
        (f"{WAIT}, statistics: mean", "statistics", "unknown key 'statistics' (did you mean 'stat"),
        (f"{WAIT}, of: 7", "7}", "expected text, found the number 7"),
        (f"{WAIT}, ass: ratio", "ass:", "unknown key 'ass' (did you mean 'as'?)"),
        (f"{WAIT}, as: percent", "percent", "expected 'value', 'difference',"),
        (f"{WAIT}, within: -1", "-1}", "expected a number greater than or equal to 0"),
        (f"{WAIT}, workload: smal", "smal}", "'smal' is none of the workloads (did you mean"),
        (f"{WAIT}, where: {{workload.task: 2}}", "{workload", "'workload.task' is not varied (did"),
        (
            f"{WAIT}, where: {{workload.tasks: 3}}",
            "{workload",
            "workload.tasks is never 3 (its val",
        ),
        (
            f"{WAIT}, from_s: 3",
            "3}",
            "'from_s' is of a share (leave it out, or say measure: share)",
        ),
        (f"{WAIT}, above: 1", "1}", "'above' is of a speedup (leave it out, or say measure: speed"),
        (f"{SPEEDUP}, as: ratio", "ratio}", "a speedup is against / policy already (leave it out"),
        (f"{SPEEDUP}, above: 1, below: 2", "2}", "above or below, not both (write two entries)"),
        (f"{SPEEDUP}, statistic: p33", "p33}", "expected 'mean', 'median',"),
        (f"{PLAIN}, measure: jain, policy: drf, as: value, of: x", "x}", "Jain's index is of all"),
        (
            f"{PLAIN}, measure: speedup, policy: drf, as: value",
            "F,",
            "there is nothing to compare with (say a",
        ),
        (f"{SHARE}, from_s: 9, to_s: 3", "3}", "3 is not after 9 (swap them)"),
        (
            f"{PLAIN}, measure: waiting, policy: drf",
            "F,",
            "there is nothing to compare with (say a",
        ),
        (f"{PLAIN}, measure: waiting, against: drf", "F,", "it does not say whose figure it is (s"),
        (WAIT.replace("policy: drf", "policy: dr"), "dr,", "'dr' is none of the policies (did you"),
        (
            WAIT.replace("paper: 1", "paper: x"),
            "x,",
            "expected a number to compare with (or say si",
        ),
    ],
)
def test_a_wrong_entry_is_named_with_its_line(entry: str, at: str, said: str) -> None:
    """Each error has its place and the remedy."""
    line = f"  - {{{entry}}}"
    with pytest.raises(FindingsError) as caught:
        read_experiment(f"{HEAD}{line}\n", Path("try.yml"))
    [finding] = caught.value.findings
    assert str(finding).startswith(f"line 7, column {line.index(at) + 1}: expect[0]"), finding
    assert said in str(finding)


def test_entries_keep_the_names_that_results_bear(experiment: Path) -> None:
    """A configuration's file is named by its stem, the baseline is what others are compared with,
    and an entry may leave out the name of the only policy.
    """
    folder = experiment.parent / "sets"
    folder.mkdir()
    (folder / "mine.yml").write_text("version: 1\npolicy: drf\n")
    experiment.write_text(
        HEAD.replace(", drf]", "]").replace("expect:", "baseline: fifo\nexpect:")
        + "  - {figure: A, paper: -5, measure: waiting, workload: small.yml, of: small}\n"
        + "  - {figure: B, paper: 2, sign: more}\n"
        + "  - {figure: C, paper: 3, measure: makespan, policy: sets/mine.yml, as: value}\n"
        + "  - {figure: D, paper: 2, measure: speedup, policy: mine}\n"
        + "  - {figure: E, paper: 80, measure: speedup, policy: mine, above: 1}\n"
    )
    said = prepare(Request(str(experiment))).manifest["experiment"]["expect"]
    assert said == [
        {"figure": "A", "paper": -5, "measure": "waiting", "of": "small", "policy": "mine",
         "against": "fifo", "as": "change_percent", "workload": "small"},
        {"figure": "B", "paper": 2, "sign": "more"},
        {"figure": "C", "paper": 3, "measure": "makespan", "policy": "mine", "as": "value"},
        {"figure": "D", "paper": 2, "measure": "speedup", "policy": "mine", "as": "ratio",
         "against": "fifo"},
        {"figure": "E", "paper": 80, "measure": "speedup", "policy": "mine", "as": "value",
         "above": 1, "against": "fifo"},
    ]  # fmt: skip
    assert json.loads(json.dumps(said)) == said
    other = prepare(Request(str(experiment), policies=("fifo",))).manifest["experiment"]["expect"]
    assert (other[0]["against"], other[2]["policy"]) == ("fifo", "sets/mine.yml")
    alone = prepare(Request(str(experiment), policies=("drf",))).manifest["experiment"]
    assert (alone["baseline"], alone["expect"][0]["against"]) == ("", "fifo")


def test_a_run_experiment_is_judged(experiment: Path, tmp_path: Path) -> None:
    """An entry is judged from the file to the report, over its parameters and seeds."""
    text = experiment.read_text()
    experiment.write_text(
        text + "expect:\n"
        "  - {figure: A, paper: -5, measure: completion, of: b}\n"
        "  - {figure: B, paper: 2, measure: running, of: root, as: value, policy: fifo, sign: more,"
        " where: {workload.tasks: 6}}\n"
    )
    prepared = prepare(Request(str(experiment)))
    finished = run(prepared, tmp_path / "out", lambda _: None, processes=1)
    first, second = numbers(read_study([finished.out])).papers
    assert (first.policy is not None, first.seeds, first.sign_paper) == (True, 2, "less")
    assert first.what == "mean completion of b: drf against fifo, change in %"
    assert (second.agrees, second.unit) == ("yes", "containers")
