"""Check a workload's document against its model: parameters are replaced, every wrong key and type
is found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from loomcard.validation.findings import describe, nearest
from loomcard.validation.reading import Document, Path, walk
from loomcard.validation.structure import (
    check_header,
    check_mapping,
    drop_empty,
    flow,
    holder_of,
    message_of,
)
from loomcard.workload import distributions, schema, stage_schema
from loomcard.workload.readers import OPTIONS
from loomcard.workload.schema import Workload

_PARTS: Final[dict[str, type[BaseModel]]] = {
    "": Workload,
    "cluster": schema.Cluster,
    "minimum": schema.Minimum,
    "faults": schema.NodeFault,
    "applications": schema.Application,
    "application": schema.Template,
    "generate": schema.Generate,
    "classes": schema.Class,
    "am": stage_schema.Size,
    "dag": stage_schema.DrawnDag,
    "executors": schema.Executors,
    "shuffle": schema.Shuffle,
    "stages": stage_schema.Stage,
    "stragglers": stage_schema.Stragglers,
    "uniform": distributions.Uniform,
    "exponential": distributions.Exponential,
    "lognormal": distributions.LogNormal,
    "normal": distributions.Normal,
    "pareto": distributions.Pareto,
    "weibull": distributions.Weibull,
    "choice": distributions.Choice,
    "drawn": distributions.Drawn,
}
"""Return the description of a place, by the innermost key on the way to it."""


def check_structure(document: Document, vary: Mapping[str, Any]) -> Workload | None:
    """Return the model of a workload's document with ``vary`` and its parameters replaced; None,
    with findings, if it is not one. Unknown keys are left out, so that later checks can still run.
    """
    if not check_mapping(document):
        return None
    drop_empty(document, lambda _: False, "")
    check_header(document, "workload", "a workload")
    for name, value in vary.items():
        _vary(document, name, value)
    if not _put_parameters(document):
        return None
    while True:
        try:
            return Workload.model_validate(document.data)
        except ValidationError as error:
            details = error.errors(include_url=False)
            places = [_report(document, detail) for detail in details]
            if any(place is None for place in places):
                return None
            for place in places:
                assert place is not None
                holder_of(document.data, place).pop(place[-1], None)


def _vary(document: Document, name: str, value: Any) -> None:
    """Put ``value`` at the dotted place ``name``, or at the parameter of that name."""
    parameters = document.data.get("parameters")
    known = sorted(parameters) if isinstance(parameters, dict) else []
    parts = ["parameters", name] if name in known else name.split(".")
    if parts[0] not in Workload.model_fields or (
        parts[0] == "parameters" and ".".join(parts[1:]) not in known
    ):
        return _unknown(document, name, known)
    if parts[0] == "parameters":
        parts = ["parameters", ".".join(parts[1:])]
    holder = document.data
    for part in parts[:-1]:
        # A mapping that the file leaves out is created; an unknown key is reported as usual.
        holder = holder.setdefault(part, {}) if isinstance(holder, dict) else _item(holder, part)
    if isinstance(holder, dict):
        holder[parts[-1]] = value
    elif _item(holder, parts[-1]) is not None:
        holder[int(parts[-1])] = value
    else:
        _unknown(document, name, known)
    return None


def _item(holder: Any, part: str) -> Any:
    right = isinstance(holder, list) and part.isdigit() and int(part) < len(holder)
    return holder[int(part)] if right else None


def _unknown(document: Document, name: str, known: list[str]) -> None:
    message = f"there is nothing called {name!r} to vary"
    document.report((), message, f"parameters: {nearest(name, known)}")


def _put_parameters(document: Document) -> bool:
    """Replace every ``$name`` by the parameter's value; return whether each was found."""
    before = len(document.findings)
    parameters = document.data.get("parameters")
    known: dict[str, Any] = parameters if isinstance(parameters, dict) else {}
    for path, value in list(walk(document.data)):
        if not isinstance(value, str) or path[:1] == ("parameters",):
            continue
        match = re.match(schema.PARAMETER, value)
        if match is None:
            continue
        name = value[1:]
        if name in known:
            holder_of(document.data, path)[path[-1]] = known[name]
        else:
            message = f"there is no parameter {name!r}"
            document.report(path, message, nearest(name, known))
    return len(document.findings) == before


def _report(document: Document, detail: ErrorDetails) -> Path | None:
    """Report one error of pydantic; add the place to remove if the key may simply be left out."""
    path: Path = tuple(
        part for part in detail["loc"] if not str(part).startswith("<") and part != "[key]"
    )
    kind = detail["type"]
    model = _model_at(document, path[:-1]) if path else None
    if kind == "extra_forbidden" or _is_stray(document, model, path):
        names = model.model_fields if model else {}
        document.report(
            path, f"unknown key {path[-1]!r}", nearest(str(path[-1]), names), at_key=True
        )
        return None if model is distributions.Distribution else path
    if kind == "missing":
        document.report(path[:-1], f"{path[-1]} is missing", _hint(document, path))
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        found = detail["input"].get("format") if isinstance(detail["input"], dict) else None
        message = f"expected a trace's format, found {describe(found)}"
        document.report((*path, "format"), message, nearest(str(found), OPTIONS))
    else:
        document.report(path, message_of(detail), _hint(document, path))
    return None


def _is_stray(document: Document, model: type[BaseModel] | None, path: Path) -> bool:
    """Return whether a key that might name a resource does not."""
    if model is None or model.model_config.get("extra") != "allow":
        return False
    types = document.data.get("cluster", {}).get("resources", {})
    return path[-1] not in model.model_fields and path[-1] not in types


def _model_at(document: Document, path: Path) -> type[BaseModel] | None:
    names = [part for part in path if isinstance(part, str)]
    last = names[-1] if names else ""
    if last == "nodes":
        return stage_schema.Replicas if "stages" in names else schema.Capacity
    if last == "trace":
        return OPTIONS.get(document.data["trace"].get("format"))
    return _PARTS.get(last, distributions.Distribution if last else None)


def _hint(document: Document, path: Path) -> str:
    """Return an example of the innermost key on the path that has one."""
    names = [part for part in path if isinstance(part, str)]
    model = _model_at(document, path[: path.index(names[-1])]) if names else None
    field = model.model_fields.get(names[-1]) if model else None
    if field is None or not field.examples:
        return ""
    return f"for example {names[-1]}: {flow(field.examples[0])}"
