"""The JSON Schema and the configurations that come with Loomcard."""

import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from loomcard.api.registry import built_in
from loomcard.config import compile_config
from loomcard.config.schema import PolicyConfig, Queue, schema

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "policies").glob("*.yml"))
REFERENCE = ROOT / "policies" / "reference.yml"


def test_there_is_no_schema_of_other_kinds_yet() -> None:
    """A kind that is not read has no schema."""
    with pytest.raises(ValueError, match="workload"):
        schema("workload")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_configurations_compile_and_validate(file: Path) -> None:
    """Each file in policies/ is right by both readers, shows more than a policy's name alone would,
    has the name of none, and is no longer than its style allows.
    """
    text = file.read_text()
    assert yaml.safe_load(text)["queues"]
    assert file.stem not in built_in()
    jsonschema.validate(yaml.safe_load(text), schema("policy"))
    assert compile_config(text, file.name)["queues"][0]["path"] == "root"
    assert len(text.splitlines()) <= (50 if file == REFERENCE else 30)


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
    """An editor that knows the schema shows the fault while it is typed."""
    document = {"version": 1, "policy": "drf", **yaml.safe_load(line)}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema("policy"))


def test_the_reference_names_every_key() -> None:
    """Of the file, and of a queue below it."""
    data = yaml.safe_load(REFERENCE.read_text())
    assert set(data) == set(PolicyConfig.model_fields)
    assert set(data["queues"]["default"]) == set(Queue.model_fields)


def test_every_documented_default_is_true() -> None:
    """Leaving out every optional key of the reference changes nothing of what is compiled."""

    def meaning(text: str) -> object:
        config = compile_config(text, "reference.yml")
        for queue in config["queues"]:
            del queue["policy_named"]  # whether the file says it is all that may differ
        return config["needs"], config["queues"]

    short = "version: 1\npolicy: drf\nqueues: {default: {}}\n"
    assert meaning(REFERENCE.read_text()) == meaning(short)


def test_the_two_queues_are_closed_to_others() -> None:
    """queues.yml: alice and bob each have their own, and nobody else submits."""
    text = (ROOT / "policies" / "queues.yml").read_text()
    queues = {q["path"]: q for q in compile_config(text, "queues.yml")["queues"]}
    assert queues["root"]["policy"] == "drf"
    for name in ("alice", "bob"):
        queue = queues[f"root.{name}"]
        assert (queue["policy"], queue["submit"], queue["administer"]) == ("fifo", [name], [])


def test_the_guide_names_every_key() -> None:
    """docs/operate/configuration.md has a row for each key."""
    guide = (ROOT / "docs" / "operate" / "configuration.md").read_text()
    rows = set(re.findall(r"^\| `(\w+)` \|", guide, flags=re.MULTILINE))
    assert rows >= set(PolicyConfig.model_fields)
