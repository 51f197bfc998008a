"""JSON Schemas for publication, made from the models that read the files."""

from typing import Any


def published(document: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """Return a model's JSON Schema as draft 2020-12, which refuses what the model refuses."""
    tightened: dict[str, Any] = _tightened(document)
    tightened["required"] = required
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **tightened}


def _tightened(part: Any) -> Any:
    """Add what the file must not contain: null (an absent key in the model), and other keys."""
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
