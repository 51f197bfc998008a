"""Tests of what is true of every configuration, and of every text."""

import hashlib
import json
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from loomcard.config import Finding, FindingsError, canonical_json, compile_config

ROOT = Path(__file__).parents[2]
SAMPLES = [file.read_text() for file in sorted((ROOT / "policies").glob("*.yml"))]
NAMES = st.sampled_from(["a", "b", "c-1", "default"])
USERS = st.lists(st.sampled_from(["alice", "bob", "group:data"]), unique=True, max_size=3)
PERCENT = st.integers(1, 100).map(lambda n: f"{n}%")


def queue(children: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for a queue of valid keys, with such children."""
    optional = {
        "policy": st.sampled_from(["fifo", "drf"]),
        "weight": st.sampled_from([1, 2, 0.5]),
        "maximum": PERCENT | st.just({"memory_mb": 1024}),
        "user_limit": PERCENT,
        "am_share": PERCENT,
        "reservation_share": PERCENT,
        "reservation_nodes": st.integers(1, 4),
        "submit": USERS,
        "administer": USERS,
        "queues": st.dictionaries(NAMES, children, max_size=3),
    }
    return st.fixed_dictionaries({}, optional=optional)


CONFIGS = queue(st.recursive(queue(st.just({})), queue, max_leaves=4)).map(
    lambda keys: {"version": 1, "policy": "drf", **keys}
)


def shuffled(data: Any, draw: st.DataObject) -> Any:
    """Return the same data with the keys of every mapping in another order."""
    if not isinstance(data, dict):
        return data
    keys = draw.draw(st.permutations(list(data)))
    return {key: shuffled(data[key], draw) for key in keys}


def compiled(data: Any) -> dict[str, Any]:
    return compile_config(yaml.safe_dump(data, sort_keys=False), "test.yml")


@settings(max_examples=60, deadline=None)
@given(CONFIGS, st.data())
def test_the_order_of_keys_means_nothing(data: dict[str, Any], draw: st.DataObject) -> None:
    """A file whose keys are shuffled compiles to the same bytes."""
    assert canonical_json(compiled(data)) == canonical_json(compiled(shuffled(data, draw)))


@settings(max_examples=60, deadline=None)
@given(CONFIGS, CONFIGS)
def test_the_hash_changes_with_the_content_and_only_then(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    """Two configurations have the same hash exactly if everything else in them is equal."""
    first, second = compiled(one), compiled(other)
    hashes = first.pop("hash"), second.pop("hash")
    assert (hashes[0] == hashes[1]) == (first == second)
    assert hashes[0] == hashlib.sha256(canonical_json(first).encode()).hexdigest()


@settings(max_examples=60, deadline=None)
@given(CONFIGS)
def test_compiled_configurations_are_what_the_wire_says(data: dict[str, Any]) -> None:
    """Queues come depth first, parents before children and siblings by name; a leaf has no
    children.
    """
    config = compiled(data)
    assert json.loads(canonical_json(config)) == config
    assert list(config) == sorted(config)
    paths = [one["path"] for one in config["queues"]]
    assert paths[0] == "root"
    assert len(set(paths)) == len(paths)
    for index, one in enumerate(config["queues"]):
        assert list(one) == sorted(one)
        children = [i for i, each in enumerate(config["queues"]) if each["parent"] == index]
        assert one["leaf"] == (not children)
        assert [paths[i] for i in children] == sorted(paths[i] for i in children)
        assert all(i > index and paths[i].startswith(one["path"] + ".") for i in children)
        assert (one["policy"] is None) == one["walked"]


TOKENS = """: ;- ;[;];{;};&a ;*a;!!x ;";';%;.nan;<<;null;\\U;? ;|;1e999;#;0x1;queues:;root: {}
weight: -1;policy: [1];true: 1;  """.replace("\n", ";").split(";")
ODD = ["\t", "\n", "---\n", "\x07", "\x85", "\u2028", "\ufeff", "9" * 5000]
PIECES = st.sampled_from([*TOKENS, *ODD])
PLACES = st.integers(0, 10_000)
EDITS = st.lists(st.tuples(PLACES, st.integers(0, 12), PIECES | st.text(max_size=5)), max_size=6)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(SAMPLES), EDITS)
def test_any_text_compiles_or_yields_findings(text: str, edits: list[tuple[int, int, str]]) -> None:
    """A mutated file never raises another error, and every finding is inside the file."""
    for place, length, piece in edits:
        start = place % (len(text) + 1)
        text = text[:start] + piece + text[start + length :]
    lines = max(1, len(text.splitlines()))
    try:
        found: tuple[Finding, ...] = ()
        compile_config(text, "test.yml")
    except FindingsError as error:
        found = error.findings
    for finding in found:
        assert 1 <= finding.line <= lines
        assert finding.column >= 1
        assert finding.message
        assert "\n" not in str(finding)
