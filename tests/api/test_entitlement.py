"""Tests of entitlement: guarantees first, then demand by weight, then the idle rest by weight,
never above a maximum.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiled import config, queue
from loomcard.api.entitlement import entitlements
from loomcard.model.limits import build_tree, resolve
from loomcard.model.resource import Resource


def shares(wants: dict[str, int], whole: int = 100, **keys: dict) -> dict[str, int]:
    """Return what root.a, root.b and root.c are entitled to of one resource, for their demands."""
    queues = build_tree(
        config(
            queue("root", "drf"), *(queue(f"root.{n}", "fifo", **keys.get(n, {})) for n in wants)
        ),
        1,
    )
    resolve(queues, Resource((whole,)), ["memory_mb"])
    found = entitlements(queues[0], Resource((whole,)), lambda q: Resource((wants[q.path[5:]],)))
    return {q.path[5:]: found[q][0] for q in queues[1:]}


@pytest.mark.parametrize(
    ("wants", "keys", "want"),
    [
        pytest.param({"a": 90, "b": 90}, {}, {"a": 50, "b": 50}, id="equal weights"),
        pytest.param(
            {"a": 90, "b": 90}, {"a": {"weight": 3.0}}, {"a": 75, "b": 25}, id="by weight"
        ),
        pytest.param({"a": 20, "b": 90}, {}, {"a": 20, "b": 80}, id="what a does not want is b's"),
        pytest.param(
            {"a": 90, "b": 90},
            {"a": {"guaranteed": {"ppm": 800_000}}},
            {"a": 90, "b": 10},
            id="guarantee first",
        ),
        pytest.param(
            {"a": 90, "b": 90},
            {"a": {"maximum": {"ppm": 300_000}}},
            {"a": 30, "b": 70},
            id="maximum",
        ),
        pytest.param(
            {"a": 0, "b": 0}, {"a": {"weight": 4.0}}, {"a": 80, "b": 20}, id="idle: by weight"
        ),
    ],
)
def test_worked_examples(wants, keys, want):
    """The examples of the rule hold for one resource of 100."""
    assert shares(wants, **keys) == want


@given(
    wants=st.lists(st.integers(0, 300), min_size=1, max_size=4),
    weights=st.lists(st.floats(0.1, 9), min_size=4, max_size=4),
    maxima=st.lists(st.integers(1, 1_000_000), min_size=4, max_size=4),
    whole=st.integers(0, 200),
)
def test_siblings_never_exceed_their_parent_nor_their_maxima(wants, weights, maxima, whole):
    """The sum is within the whole and each share within its maximum. While room is left, no demand
    within a maximum is unmet.
    """
    names = "abcd"[: len(wants)]
    keys = {
        n: {"weight": w, "maximum": {"ppm": m}}
        for n, w, m in zip(names, weights, maxima, strict=False)
    }
    demand = dict(zip(names, wants, strict=True))
    got = shares(demand, whole, **keys)
    assert sum(got.values()) <= whole
    caps = {n: whole * keys[n]["maximum"]["ppm"] // 1_000_000 for n in names}
    assert all(got[n] <= caps[n] for n in names)
    hungry = [n for n in names if got[n] < min(demand[n], caps[n])]
    assert not hungry or sum(got.values()) == whole


GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "entitlements.json").read_text("utf-8"))


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: str(case["what"]))
def test_the_page_shows_the_same(case):
    """EntitlementsTest, the test of what the ResourceManager shows, reads the same file."""
    rows = case["queues"]
    specs = [queue(row["path"], "drf", weight=row["weight"]) for row in rows]
    queues = build_tree(config(*specs), len(case["capacity"]))
    for each, row in zip(queues, rows, strict=True):
        each.guaranteed, each.maximum = Resource(row["guaranteed"]), Resource(row["maximum"])
        each.used[:] = row["used"]
    wanted = {row["path"]: Resource(row["pending"]) for row in rows}
    found = entitlements(queues[0], Resource(case["capacity"]), lambda q: wanted[q.path])
    assert [list(found[each]) for each in queues] == [row["entitled"] for row in rows]
