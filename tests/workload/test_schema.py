"""Tests of the JSON Schema of workloads."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from loomcard.workload.schema import Workload, schema

WHOLE = jsonschema.Draft202012Validator(schema())
ROOT = Path(__file__).parents[2]
FILES = [
    Path(__file__).with_name("example.yml"),
    *sorted((ROOT / "python" / "loomcard" / "workload" / "shipped").glob("*.yml")),
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_loads_validates(file: Path) -> None:
    """An editor that knows the schema reports no error in a shipped workload."""
    assert list(WHOLE.iter_errors(yaml.safe_load(file.read_text()))) == []


@pytest.mark.parametrize(
    "change",
    [
        {"clock": 1},
        {"version": 2},
        {"cluster": {"heartbeat_ms": -1}},
        {"cluster": {"nodes": [{"memory_mb": 1}]}},
        {"applications": [{"id": "a"}]},
        {"applications": [{"id": "a", "stages": [{"id": "s", "duration_ms": {"zipf": 1}}]}]},
        {"generate": {"classes": []}},
        {"trace": {"format": "tape", "file": "f"}},
        {"cluster": None},
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(change: dict[str, Any]) -> None:
    """An editor shows the error during typing."""
    with pytest.raises(jsonschema.ValidationError):
        WHOLE.validate({"version": 1} | change)


def test_a_parameter_may_stand_for_a_number() -> None:
    """The parameter's value is checked when it is inserted."""
    WHOLE.validate({"version": 1, "generate": {"count": "$many", "classes": [CLASS]}})
    with pytest.raises(jsonschema.ValidationError):
        WHOLE.validate({"version": 1, "generate": {"count": "many", "classes": [CLASS]}})


CLASS = {
    "id": "c",
    "application": {"stages": [{"id": "s", "tasks": 1, "memory_mb": "$size", "duration_ms": 1}]},
}


def test_every_key_is_described() -> None:
    """An editor shows the meaning of each key."""
    silent = [
        f"{name}.{key}"
        for name, part in Workload.model_json_schema()["$defs"].items()
        for key, inner in part.get("properties", {}).items()
        if "description" not in inner and "$ref" not in str(inner)
    ]
    assert silent == []
