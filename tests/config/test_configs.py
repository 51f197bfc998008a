"""Tests of the JSON Schema and of the configurations that come with Loomcard."""

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from loomcard.api.registry import built_in
from loomcard.config import compile_config
from loomcard.config.schema import PolicyConfig, Queue, schema

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "policies").glob("*.yml"))
GUIDE = (ROOT / "docs" / "operate" / "configuration.md").read_text()
DEFAULTS = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", GUIDE, flags=re.MULTILINE))
"""The default of each key, as the guide's table states it."""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_configurations_compile_and_validate(file: Path) -> None:
    """Each file in policies/ is valid for both readers, shows more than a policy's name alone
    would, does not have the name of a policy, and is no longer than its style allows.
    """
    text = file.read_text()
    assert yaml.safe_load(text)["queues"]
    assert file.stem not in built_in()
    jsonschema.validate(yaml.safe_load(text), schema())
    assert compile_config(text, file.name)["queues"][0]["path"] == "root"
    assert len(text.splitlines()) <= 30


@pytest.mark.parametrize(
    "line",
    [
        "polcy: 1",
        "weight: 0",
        "maximum: 101%",
        "maximum: {}",
        "submit: alice",
        "submit: ['a b']",
        "queues: {a.b: {}}",
        "queues: {root: {}}",
        "queues: {a: {version: 1}}",
        "policy: null",
        "guaranteed: null",
    ],
)
def test_the_schema_refuses_what_the_compiler_refuses(line: str) -> None:
    """An editor that knows the schema shows the error during typing."""
    document = {"version": 1, "policy": "drf", **yaml.safe_load(line)}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema())


def test_the_guide_names_every_key() -> None:
    """docs/operate/configuration.md has a row for each key."""
    assert DEFAULTS.keys() == PolicyConfig.model_fields.keys()


def test_every_documented_default_is_true() -> None:
    """To state the default of a key, at root where queues have their parent's, changes nothing."""
    lists = {"all": ["*"], "everyone": ["*"]}
    tried = []
    for key, text in DEFAULTS.items():
        default = text.rpartition("root: ")[2].strip("`")
        mapping = PolicyConfig.model_fields[key].default == {}
        if " " not in default and default != "required" and not mapping:
            top = {"version": 1, "policy": "drf", "queues": {"a": {"queues": {"b": {}}}}}
            stated = {key: lists.get(default, yaml.safe_load(default))}
            assert _queues({**top, **stated}) == _queues(top), key
            tried.append(key)
    assert len(tried) > 10


@pytest.mark.parametrize("key", [key for key, text in DEFAULTS.items() if "parent" in text])
def test_what_a_queue_has_of_its_parent_is_in_its_row(key: str) -> None:
    """However far above it is stated; a reader of the compiled form walks no tree."""
    (example, *_) = Queue.model_fields[key].examples or ()
    top = {"version": 1, "policy": "drf", "queues": {"a": {"queues": {"b": {}}}}}
    root, *below = _queues({**top, key: example})
    (name,) = root.keys() & {key, f"{key}_s"}
    assert all(queue[name] == root[name] for queue in below)
    assert _queues(top)[2].get(name) != root[name]


def _queues(data: dict[str, Any]) -> list[dict[str, Any]]:
    return list(compile_config(yaml.safe_dump(data), "test.yml")["queues"])


def test_the_two_queues_are_closed_to_others() -> None:
    """In queues.yml alice and bob have a queue each, and no other user may submit there."""
    text = (ROOT / "policies" / "queues.yml").read_text()
    queues = {q["path"]: q for q in compile_config(text, "queues.yml")["queues"]}
    assert queues["root"]["policy"] == "drf"
    for name in ("alice", "bob"):
        queue = queues[f"root.{name}"]
        assert (queue["policy"], queue["submit"], queue["administer"]) == ("fifo", [name], [])
