"""What a hint may contain, plain and compact, and how other texts are refused."""

import json
from collections.abc import Mapping
from unittest.mock import Mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loomcard.api.stages.dag_hint import (
    HINT,
    MOST_CHARACTERS,
    DagStage,
    HintError,
    compact_dag,
    parse_dag,
    read_dag,
    write_dag,
)
from loomcard.api.stages.remaining_work import Estimates, critical_path_ms
from loomcard.model.objects import AskKey
from loomcard.model.resource import Resource
from loomcard.policies.clairvoyant import left_ms

STAGE = {"id": "a", "priority": 20, "tasks": 1, "ms": 1, "size": [1, 1]}
NUMBERS = st.one_of(
    st.integers(), st.floats(), st.sampled_from([10**18, -1, 1e308, 10**400, 1 << 63, None, "1"])
)


def text(**changes: object) -> str:
    return json.dumps([STAGE | changes])


STAGES = st.lists(
    st.builds(
        lambda changes: {k: v for k, v in (STAGE | changes).items() if v != "gone"},
        st.dictionaries(
            st.sampled_from([*STAGE, "after", "request", "other"]),
            st.one_of(NUMBERS, st.lists(NUMBERS, max_size=4), st.text(max_size=3), st.just("gone")),
            max_size=2,
        ),
    ),
    max_size=6,
).map(json.dumps)


@given(st.one_of(st.text(), STAGES, STAGES.map(compact_dag)))
@example("\ud800")  # cannot be encoded
@example('[{"id":"a","x":' + "[" * 100_000)  # nesting in a key that a reader would skip
@example("[" * 100_000)
@example(text(tasks=int("9" * 400)))  # no float
@example(text(ms=1e308, size=[10**400, 1]))  # likewise
@example(text(ms=1e308, tasks=10**18))  # infinite work
@example(text(size=[1]))  # the cluster has two types
@example(text(size=[1, 1, 1]))
@example(text(tasks=-5, size=[-1, 0]))  # negative work
@example(text(ms=float("nan")))
@example(text(after=[0]))  # a cycle
@example(json.dumps([STAGE | {"after": [1]}, STAGE | {"after": [0]}]))
@example(compact_dag("[" + "\n" * 1_000_000 + "]"))
@example("W3=" * 5)
def test_any_text_is_a_sound_dag_or_none(given_text: str) -> None:
    """All figures of a hint that is accepted are finite and not negative, so that they can order
    applications.
    """
    dag = read_dag({HINT: given_text}, types=2)
    if dag is None:
        return
    for capacity in ((4096, 4), (1, 0)):
        estimates = Estimates(assumed_ms=1)
        estimates.capacity = Resource(capacity)
        work = estimates.work(Mock(id="a", hints={HINT: given_text}))
        left = left_ms(dag, {}, [[] for _ in dag.stages], capacity)
        for figure in (work, left, critical_path_ms(dag)):
            assert 0 <= figure < 1e60
    assert {len(size) for size in dag.sizes} == {2}


def test_stages_of_one_key_have_no_ask_of_their_own() -> None:
    """If several stages share a key, as Spark's do without resource profiles, an ask belongs to no
    single one of them.
    """
    dag = parse_dag(write_dag([DagStage(name, 0, 1, 1, (1,)) for name in "abc"]))
    assert dag.stage_of(AskKey(1, 0, 7)) is None
    assert dag.stages_of(AskKey(1, 0, 7)) == [0, 1, 2]
    assert (dag.stage_of(AskKey(1, 1, 7)), dag.stages_of(AskKey(1, 1, 7))) == (None, ())
    exact = parse_dag(
        write_dag([DagStage("a", 0, 1, 1, (1,), [], 3), DagStage("b", 0, 1, 1, (1,))])
    )
    assert exact.stages_of(AskKey(1, 0, 3)) == [0]


def test_a_hint_is_read_as_it_was_written() -> None:
    stages = [DagStage("m", 20, 7, 1.5, (1024, 1)), DagStage("r", 10, 1, 2, (512, 2), [0], 3)]
    plain = write_dag(stages)
    assert parse_dag(plain).stages == stages
    assert parse_dag(compact_dag(plain)).stages == stages
    assert set(compact_dag(plain)).isdisjoint("\"' ,=$`\\{}")


def test_sizes_are_those_of_the_clusters_resource_types() -> None:
    """A hint may omit resource types, and may name types that the cluster does not have."""
    hint = write_dag([DagStage("a", 1, 1, 1, (7,)), DagStage("b", 2, 1, 1, (7, 8, 9))])
    assert parse_dag(hint).sizes == [(7,), (7, 8, 9)]
    assert parse_dag(hint, types=2).sizes == [(7, 0), (7, 8)]


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (text(ms=-1), r"Expected `float` >= 0.0 - at `\$\[0\].ms`"),
        (text(ms=1e13), r"Expected `float` <= 1000000000000.0 - at `\$\[0\].ms`"),
        (text(tasks=10**18), r"Expected `int` <= 1000000000 - at `\$\[0\].tasks`"),
        (text(after=[0]), r"expected indexes of earlier stages - at `\$\[0\].after`"),
        (text(more=1), r"unknown field `more` - at `\$\[0\]`"),
        ("[]", "expected at least one stage"),
        ("?", "expected a JSON list of stages, plain or as base64url, found neither"),
        (" " * (MOST_CHARACTERS + 1), "expected at most 262144 characters, found 262145"),
    ],
)
def test_errors_name_the_place_and_what_is_expected(hint: str, message: str) -> None:
    with pytest.raises(HintError, match=message):
        parse_dag(hint)


def test_an_application_without_a_hint_has_none() -> None:
    nothing: Mapping[str, str] = {"loomcard.deadline": "1"}
    assert read_dag(nothing) is None
