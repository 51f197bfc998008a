"""YARN's own tests: how outcomes become tables, and a part of them against Loomcard."""

from pathlib import Path

import pytest

from benchmarks.yarn_tests import run as yarn_tests
from benchmarks.yarn_tests.run import Catalog, Chosen, outcomes, run, unexplained
from benchmarks.yarn_tests.table import MARK, Outcome, put, tables

CATALOG = Catalog.read()
FAST = [each for each in CATALOG.classes if each.fast]


def outcome(scheduler: str, test: str, how: str) -> Outcome:
    return Outcome(scheduler, "TestX", test, how, 5, "expected 1 | was 2")


def test_tables_count_what_ran_everywhere_and_name_each_failure() -> None:
    """A skipped test is neither passed nor failed; a failure without an explanation is shown as
    such.
    """
    text = tables(
        [
            outcome("capacity", "a", "passed"), outcome("capacity", "b", "failed"),
            outcome("capacity", "c", "skipped"),
            outcome("loomcard", "a", "passed"), outcome("loomcard", "c", "failed"),
        ],
        {"capacity": {"TestX#b": "Capacity has no such queue"}},
    )  # fmt: skip
    assert "| TestX | 1/2 | 1/2 |" in text
    assert "| **the same tests** | 1/1 | 1/1 |" in text
    assert "- Capacity has no such queue: `TestX#b`\n" in text
    assert "- **not explained**: expected 1 / was 2: `TestX#c`\n" in text


def test_each_line_has_its_own_part_of_the_page() -> None:
    """The tables of one Hadoop line replace that line's earlier ones only; lines are in order."""
    page = f"# Title\n\nText.\n\n{MARK}"
    for line, text in (("3.4", "old\n"), ("3.10", "b\n\n### More\n"), ("3.4", "a\n")):
        page = put(page, line, text)
    assert page == (
        f"# Title\n\nText.\n\n{MARK}## Hadoop 3.4\n\na\n\n## Hadoop 3.10\n\nb\n\n### More\n"
    )


def test_a_class_that_was_stopped_leaves_what_it_had(tmp_path: Path) -> None:
    """The tests that ended count; one more row says that the others never ran."""
    (tmp_path / "outcomes.jsonl").write_text('{"test":"a","outcome":"passed","ms":5}\n')
    found = list(outcomes(tmp_path, "fifo", Chosen("org.x.TestX")))
    assert [(row.key, row.outcome) for row in found] == [("TestX#a", "passed"), ("TestX#", "cut")]
    assert "| TestX | 1/1 (cut) |" in tables(found, {})


def test_what_has_been_run_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run continues where it was stopped."""
    started = []

    def instead(folder: Path, scheduler: str, *_: object) -> None:
        started.append(scheduler)
        folder.mkdir(parents=True)
        (folder / "outcomes.jsonl").write_text('{"test":null}\n')
        (folder / "done").touch()

    monkeypatch.setattr(yarn_tests, "run_class", instead)
    for schedulers in (["fifo"], ["fifo", "capacity"]):
        assert run(tmp_path, schedulers, [Chosen("org.x.TestX")], CATALOG) == []
    assert started == ["fifo", "capacity"]


def test_what_failed_unexplained_can_be_run_again() -> None:
    """An explained failure or a passed test is not run again, because it would end in the same
    way.
    """
    known = Catalog([], {}, {"fifo": {"TestX#b": "FIFO has no preemption"}})
    assert unexplained([outcome("fifo", "c", "failed")], known)
    assert unexplained([outcome("loomcard", "b", "failed")], known)
    assert not unexplained([outcome("fifo", "b", "failed"), outcome("fifo", "a", "passed")], known)


def test_every_explanation_names_a_class_that_runs() -> None:
    """No explanation remains for a class that was renamed or dropped."""
    named = {key.partition("#")[0] for rows in CATALOG.explained.values() for key in rows}
    assert named | {key.partition("#")[0] for key in CATALOG.left_out} <= {
        each.short for each in CATALOG.classes
    }


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.parametrize("chosen", FAST, ids=lambda each: each.short)
def test_loomcard_passes_the_fast_part_of_yarns_own_tests(chosen: Chosen, tmp_path: Path) -> None:
    """Every test of the class that tests.yml records ran and passed. YARN's tests have time-outs of
    their own, so a class with one failure gets a second try.
    """
    for attempt in ("first", "second"):
        found = run(tmp_path / attempt, ["loomcard"], [chosen], CATALOG, fast=True)
        failed = [row for row in found if row.outcome != "passed"]
        if not failed:
            break
    assert failed == []
    assert sorted(row.test for row in found) == sorted(chosen.only)
