"""A hint that lies may change the order, but nothing else of what other applications get."""

import json
from collections import Counter
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from compiled import config, flat, queue
from loomcard.api.stages.dag_hint import (
    HINT,
    MOST_CHARACTERS,
    Dag,
    DagStage,
    compact_dag,
    write_dag,
)
from loomcard.api.stages.remaining_work import Estimates
from loomcard.results.record import RunRecord
from loomcard.simulator import application_master, simulate
from loomcard.testing.cluster import Cluster
from loomcard.workload.hints import hints
from scenarios import app, scenario, stage

POLICIES = ["srtf", "sjf", "tetris", "clairvoyant", "carbyne"]
LIAR = "liar"
HALF = {"ppm": 500_000}


def played(policy: str, hint: str | None, apart: bool = False) -> RunRecord:
    """Simulate three honest applications and a liar on two small nodes; the policy must not raise.
    With ``apart`` the liar has its own queue.
    """
    queues = [queue("root", "drf"), queue("root.a", policy, guaranteed=HALF)]
    queues.append(queue("root.b", policy, guaranteed=HALF))
    honest = [
        app(f"j{i}", stage([400 + 100 * i] * 5), stage([300] * 2, 2, after=[0]), queue="root.a",
            submit_ms=50 * i)
        for i in range(3)
    ]  # fmt: skip
    home = "root.b" if apart else "root.a"
    liar = app(LIAR, stage([500] * 6), stage([200] * 3, 2, after=[0]), queue=home)
    wanted = scenario(*sorted([*honest, liar], key=lambda a: a.submit_ms), nodes=2, slots=3)

    def hostile_hints(one: object) -> dict[str, str]:
        if getattr(one, "id", "") != LIAR:
            return hints(one)  # type: ignore[arg-type]
        return {} if hint is None else {HINT: hint}

    with patch.object(application_master, "hints", hostile_hints):
        return simulate(wanted, config(*queues), policy="test", check=True)


def work(record: RunRecord) -> Counter[tuple[object, ...]]:
    """Return which tasks of which application ran to their end, and for how long, without time and
    place.
    """
    return Counter(
        (r.application, r.stage, r.task, r.kind, (r.finished_ms or 0) - (r.started_ms or 0))
        for r in record.containers
    )


def rows(record: RunRecord) -> list[tuple[object, ...]]:
    return [
        (r.application, r.stage, r.task, r.node, r.started_ms, r.finished_ms, r.kind)
        for r in record.containers
    ]


LARGE = st.sampled_from([0, 1, 10**6, 10**9])
SOUND = st.lists(
    st.builds(
        lambda priority, tasks, ms, size, request: DagStage(
            "s", priority, tasks, ms, size, [], request
        ),
        st.sampled_from([20, 10, -1, 1 << 40]), LARGE,
        st.one_of(st.floats(0, 1e12), st.just(1e-300)),
        st.lists(st.sampled_from([0, 1, 1024, 10**12]), max_size=4).map(tuple),
        st.sampled_from([None, 0, 1, 2]),
    ),
    min_size=1, max_size=5,
).map(write_dag)  # fmt: skip
"""Hints that can be read, with numbers that no job has."""
ODD = st.one_of(st.text(max_size=40).filter(lambda t: "\x00" not in t), st.just("[" * 9000))
HINTS = st.one_of(SOUND, SOUND.map(compact_dag), ODD)

BIG = write_dag([DagStage("s", 20, 10**9, 1e12, (10**12,), list(range(i))) for i in range(300)])
ABSURD = write_dag([DagStage("s", 20, 1, 1, ())]).replace('"tasks":1', f'"tasks":{10**18}')
WRONG_SIZE = json.dumps([{"id": "s", "priority": 20, "tasks": 9, "ms": 1e11, "size": [10**12]}])


@pytest.mark.parametrize("policy", POLICIES)
@given(hint=HINTS)
@example(hint=BIG)
@example(hint=ABSURD)
@example(hint=WRONG_SIZE)
@example(hint='[{"id":"s","priority":20,"tasks":1,"ms":1e308,"size":[1024,1]}]')
@example(hint="x" * 1_000_000)
@settings(max_examples=12)
def test_everybody_gets_all_that_was_asked_for(policy: str, hint: str) -> None:
    """No policy raises, and the same tasks run to their end, in any order."""
    assert work(played(policy, hint)) == work(played(policy, None))


@pytest.mark.parametrize("policy", POLICIES)
@given(hint=HINTS)
@example(hint=BIG)
@settings(max_examples=8)
def test_nobody_in_another_queue_notices(policy: str, hint: str) -> None:
    """If the liar is alone in its queue, its hint changes nothing for the others."""
    assert rows(played(policy, hint, apart=True)) == rows(played(policy, None, apart=True))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("hint", ["", "[]", ABSURD, '[{"id":"s","x":' + "[" * 9000])
def test_a_hint_that_cannot_be_right_is_as_none(policy: str, hint: str) -> None:
    assert rows(played(policy, hint)) == rows(played(policy, None))


def test_stages_are_added_up_once_for_each_task_that_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest hint that is read has thousands of stages, so they are not added up for each ask,
    node and round.
    """
    longest = [DagStage("", 20, 1, 1, (), [], i) for i in range(3000)]
    assert MOST_CHARACTERS / 2 < len(write_dag(longest)) <= MOST_CHARACTERS
    added: list[int] = []
    real = Estimates._dag_work

    def counted(self: Estimates, one: object, dag: Dag) -> float:
        added.append(len(dag.stages))
        return real(self, one, dag)  # type: ignore[arg-type]

    monkeypatch.setattr(Estimates, "_dag_work", counted)
    engine = Cluster(flat("srtf"))
    for node in range(1, 5):
        engine.add_node(node, 2048, 2)
    engine.add_app(1, hints={HINT: write_dag(longest)})
    engine.ask(1, 12)
    allocated = engine.round()
    for each in allocated[:2]:
        engine.complete(each.number)
        engine.round()
    for _ in range(5):
        engine.round()
    assert added == [3000] * 3
