"""JSON Schemas as they are published, from the models that read the files."""

from typing import Any


def published(document: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """A model's JSON Schema as draft 2020-12 that refuses what a file may not hold."""
    tightened: dict[str, Any] = _tightened(document)
    tightened["required"] = required
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **tightened}


def _tightened(part: Any) -> Any:
    """Say what the file may not hold: null (an absent key in the model), keys of other names."""
    if isinstance(part, list):
        return [_tightened(item) for item in part if item != {"type": "null"}]
    if not isinstance(part, dict):
        return part
    kept = {key: _tightened(value) for key, value in part.items()}
    if "default" in kept and kept["default"] is None:
        del kept["default"]
    if len(kept.get("anyOf", [])) == 1:
        kept |= kept.pop("anyOf")[0]
    if "patternProperties" in kept:
        kept["additionalProperties"] = False
    return kept
