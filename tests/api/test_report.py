"""Tests of reports of policies: typed, checked at once, and due at most once a second."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scripted
from compiled import config, flat, queue
from loomcard.api.report import ReportError, as_json, figures_of, shown, values_of
from loomcard.engine.session import replay
from loomcard.testing.cluster import Cluster, PolicyRaisedError
from loomcard.wire.journal import segments
from loomcard.wire.messages import PlanReply, read_reply

GOLDEN = Path(__file__).parents[1] / "golden" / "wire" / "plan.json"


@dataclass(frozen=True, slots=True)
class Job:
    id: str = shown("job")
    asked: int | None = shown("asked", unit="containers")


@dataclass(frozen=True, slots=True)
class State:
    delta: float = shown("share of small jobs", unit="share", panel="delta")
    jobs: tuple[Job, ...] = shown("jobs")


@dataclass
class Plainer:
    """A field without ``shown`` has its own name as its label; lists are figures too."""

    quota: list[int] = field(default_factory=list)
    level: float | None = None


@dataclass
class BrokenReport:
    inside: dict[str, int] = field(default_factory=dict)


STATE = State(0.25, (Job("j1", 3), Job("j2", None)))


def test_the_typed_form_is_the_golden_one():
    """The form that Python gives a dataclass is the one that docs/reference/wire.md shows and Java
    reads.
    """
    plan = read_reply(GOLDEN.read_text("utf-8").strip())
    assert isinstance(plan, PlanReply)
    assert msgspec.json.encode(as_json(STATE), order="sorted") == msgspec.json.encode(
        plan.reports["root.b"], order="sorted"
    )


def test_either_form_gives_its_values_and_figures():
    """Readers need not know whether a policy used a class or a dict."""
    values = {"delta": 0.25, "jobs": [{"id": "j1", "asked": 3}, {"id": "j2", "asked": None}]}
    assert values_of(as_json(STATE)) == values
    assert values_of(as_json({"delta": 0.25})) == {"delta": 0.25}
    [figure] = figures_of(as_json(STATE))
    assert figure == {
        "name": "delta", "label": "share of small jobs", "unit": "share", "panel": "delta",
        "value": 0.25,
    }  # fmt: skip
    [plain] = figures_of({"delta": 0.25})
    assert (plain["label"], plain["unit"], plain["panel"]) == ("delta", "", "")
    assert [f["label"] for f in figures_of(as_json(Plainer([1, 2])))] == ["quota", "level"]


@pytest.mark.parametrize(
    ("state", "said"),
    [
        pytest.param(State("much", ()), r"State: Expected `float`, got `str` - at `\$\.delta`"),
        pytest.param(State(1, (Job("a", "b"),)), r"`int | null`, got `str` - at `\$\.jobs\[0\]"),
        pytest.param(State(math.inf, ()), r"State\.delta: inf is not a finite number"),
        pytest.param(Plainer([1], math.nan), r"Plainer\.level: nan is not a finite number"),
        pytest.param(
            BrokenReport({"a": 1}), r"BrokenReport\.inside: expected a number, a text or rows"
        ),
        pytest.param(Plainer(level=object()), r"Plainer: .*object.*made of plain data"),
        pytest.param({"at": object()}, r"a plain report: .*object.*made of plain data"),
        pytest.param(0.25, r"expected a dataclass's object or a dict, not 0.25"),
        pytest.param(State, r"expected a dataclass's object or a dict"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_cannot_be_shown_is_refused_with_its_place(state: Any, said: str):
    """Type, finiteness and form are checked when a state is reported, not when a page shows it."""
    with pytest.raises(ReportError, match=said):
        as_json(state)


@given(st.floats(allow_nan=False, allow_infinity=False), st.lists(st.none() | st.integers()))
def test_whatever_is_of_its_type_comes_out_as_it_was(delta: float, asked: list[int | None]):
    """The form loses nothing, even when it is sent as text."""
    jobs = tuple(Job(f"j{index}", count) for index, count in enumerate(asked))
    sent = msgspec.json.decode(msgspec.json.encode(as_json(State(delta, jobs))))
    assert values_of(sent) == {
        "delta": delta, "jobs": [{"id": job.id, "asked": job.asked} for job in jobs],
    }  # fmt: skip


def test_a_wrong_report_fails_at_the_policys_own_line():
    """A wrong report is a fault of the policy, with its line, and the engine continues."""
    engine = Cluster(flat("test-reporter", mood=7), nodes=[(4096, 4)])
    engine.add_app(1, 1)
    engine.ask(1, 2)
    with pytest.raises(PolicyRaisedError, match=r"in decide\n.*plan\.report") as caught:
        engine.round()
    assert "report on root.default: ReportedState: Expected `str | null`" in str(caught.value)


def busy(engine: Cluster, rounds: int, every_ms: int) -> list[int]:
    """Run rounds in each of which two containers end and begin; return the times of the reports."""
    sent = []
    for number in range(rounds):
        engine.ask(1, 2 + number % 3)
        for container in sorted(engine.containers)[:2]:
            engine.complete(container)
        plan = engine.exchange(every_ms)
        engine.commit(plan)
        if plan.reports:
            sent.append(engine.now)
    return sent


def test_a_report_is_due_once_a_second_and_the_last_state_is_reported():
    """This does not depend on the number of rounds per second. The last change is reported by a
    timer.
    """
    engine = Cluster(flat("test-reporter"), nodes=[(4096, 4)])
    engine.add_app(1, 1)
    assert busy(engine, 27, 110) == [110, 1210, 2310]
    [due_ms] = engine.timers.values()
    assert due_ms == 3310
    for container in list(engine.containers):
        engine.complete(container)
    engine.ask(1, 0)
    engine.round(110)
    assert engine.reports["root.default"]["used"] > 0
    engine.round(due_ms - engine.now)
    assert engine.reports["root.default"] == {
        "used": 0.0, "waiting": 0, "mood": None, "members": [{"id": "app1", "containers": 0}],
    }  # fmt: skip
    assert engine.timers == {}


@pytest.mark.parametrize("segment_rounds", [1, 4, 100])
def test_reports_replay_from_any_segment(tmp_path: Path, segment_rounds: int):
    """A segment begins with the time of the last report."""
    tree = config(queue("root", "drf"), queue("root.a", "test-reporter"))
    engine = Cluster(
        tree, nodes=[(4096, 4)], journal=tmp_path, segment_rounds=segment_rounds
    )  # fmt: skip
    engine.add_app(1, 1)
    assert len(busy(engine, 20, 230)) == 4
    engine.session.journal.close()
    assert len(segments(tmp_path)) == -(-20 // segment_rounds)
    assert replay(tmp_path) == []


def test_who_raises_has_reported_nothing():
    """If an instance raises, its report is dropped with its decisions; the reports of others
    stay.
    """
    engine = Cluster(
        config(queue("root", "test-turns"), queue("root.a", "test-reporter", options={"mood": 7})),
        nodes=[(4096, 4)], tolerant=True,
    )  # fmt: skip
    engine.add_app(1, 1)
    engine.ask(1, 2)
    engine.round()
    assert engine.reports == {"root.a from above": {"count": 0, "stopped": "NOTHING"}}
    pending = engine.session.tree._pending
    pending.report("root.a from above", {"x": 1}, 1)
    pending.drop(1)
    assert (pending.reports, pending.reporters) == ({}, {0})


def test_a_queues_own_policy_and_the_one_above_report_beside_each_other():
    """Neither report replaces the other, in any order."""
    engine = Cluster(
        config(queue("root", "test-turns"), queue("root.a", "test-reporter")), nodes=[(4096, 4)]
    )
    engine.add_app(1, 1)
    engine.ask(1, 2)
    engine.round()
    assert sorted(engine.reports) == ["root.a", "root.a from above"]
    assert engine.reports["root.a"]["used"] > 0
    assert "stopped" in engine.reports["root.a from above"]


def test_the_scripted_report_has_every_kind_of_field():
    """The other tests of reports rely on these fields."""
    sent = as_json(scripted.ReportedState(0.5, 3, None, (scripted.Held("a", 2),)))
    assert [figure["name"] for figure in sent["figures"]] == ["used", "waiting", "mood"]
    assert [table["name"] for table in sent["tables"]] == ["members"]
