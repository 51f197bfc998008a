"""YAML text -> the compiled configuration that the ResourceManager loads, or every finding."""

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from loomcard.api.registry import built_in, file_hash, found_beside
from loomcard.config import rules
from loomcard.config.governing import check_governing
from loomcard.config.isolated import FirstRoundFailure, first_round
from loomcard.config.limits import check_limits
from loomcard.config.placement import check_placement
from loomcard.config.queues import ResolvedQueue, resolve, with_templates
from loomcard.config.structure import check_structure, templates
from loomcard.validation.findings import Finding, FindingsError
from loomcard.validation.reading import Document, read

_log = logging.getLogger("loomcard")


def compile_config(
    yaml_text: str,
    name: str,
    *,
    policy_path: Sequence[Path] | None = None,
    beside: Path | None = None,
    isolated: bool = False,
    warn: Callable[[Finding], None] | None = None,
) -> dict[str, Any]:
    """Compile a policy configuration into the object of docs/reference/wire.md: sorted, with hash.

    ``name`` is the name of the file, and becomes ``source``. ``policy_path`` lists the folders from
    which policy files may be loaded; None allows any, for commands that run without a cluster. Such
    commands pass ``beside``, the folder of the configuration: policy files are looked for there
    first, and the folder is put before the names of those found. The hash is that of the names as
    they were written. ``isolated``: policies that are not Loomcard's own are loaded, and decide a
    first round, in a child process; one that ends it, or hangs in that round, is a finding, and
    this process continues. ``warn`` receives what is not an error, such as a key by its former
    name; without ``warn``, each is a line in the log. Raises FindingsError with all that is wrong
    with the text.
    """
    document = read(yaml_text)
    document.by_rule(rules.YAML)
    stated = check_structure(document)
    document.by_rule(rules.STRUCTURE)
    folder = beside if policy_path is None else None
    every = [*stated, *templates(stated)]
    governed, needs = check_governing(document, every, policy_path, folder, isolated=isolated)
    document.by_rule(rules.POLICY)
    rows = resolve(document, every, governed)
    check_limits(document, rows)
    document.by_rule(rules.LIMITS)
    queues = with_templates(stated, rows)
    placement = check_placement(document, stated)
    document.by_rule(rules.PLACEMENT)
    if document.has_errors:
        raise FindingsError(document.findings)
    for finding in document.findings:
        if warn is None:
            _log.warning("%s: %s", name, finding)
        else:
            warn(finding)
    config: dict[str, Any] = {
        "needs": needs,
        "queues": [queue.compiled() for queue in queues],
        "schema": 1,
        "source": name,
    }
    if placement is not None:
        config["placement"] = placement
    governing = [*config["queues"]]
    for queue in config["queues"]:
        creates = queue.get("auto_create", {})
        governing += [creates[key] for key in ("template", "between") if key in creates]
    named = {queue["policy"]: _as_loaded(queue["policy"], folder) for queue in governing}
    files = {name: file_hash(at) for name, at in named.items() if at is not None and ".py:" in at}
    if files:
        config["files"] = files
    digest = hashlib.sha256(canonical_json(config).encode()).hexdigest()
    for queue in governing:
        queue["policy"] = named[queue["policy"]]
    if files:
        config["files"] = {named[name]: text for name, text in files.items()}
    config = {"hash": digest, **config}
    if isolated and any(name not in built_in() for name in named if name is not None):
        _refuse_ended(document, queues, first_round(config, policy_path))
    return config


def _refuse_ended(
    document: Document, queues: Sequence[ResolvedQueue], failure: FirstRoundFailure | None
) -> None:
    """Raise FindingsError if a policy ends its process in the first round, or hangs in it."""
    if failure is not None:
        queue = queues[failure.queue]
        message = f"the policy {queue.policy!r} {failure.what}"
        document.report(
            (*queue.place, "policy"),
            f"{message}; expected that it returns its plan",
            failure.remedy,
            rule=rules.POLICY,
        )
        raise FindingsError(document.findings)


def _as_loaded(name: str | None, beside: Path | None) -> str | None:
    return name if name is None or beside is None else found_beside(name, beside)


def canonical_json(config: dict[str, Any]) -> str:
    """Return the canonical text of a compiled configuration: keys sorted, no spaces, ASCII."""
    return json.dumps(config, sort_keys=True, separators=(",", ":"), allow_nan=False)
