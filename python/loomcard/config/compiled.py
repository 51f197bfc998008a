"""YAML text -> the compiled configuration that the ResourceManager loads, or every finding."""

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from loomcard.api.registry import built_in, file_hash, found_beside
from loomcard.config import rules
from loomcard.config.access import Access, check_access
from loomcard.config.governing import Governed, check_governing
from loomcard.config.isolated import FirstRoundFailure, first_round
from loomcard.config.limits import Limits, check_limits, wire_form
from loomcard.config.rights import Rights, check_rights
from loomcard.config.schema import MILLION, UNLIMITED, ppm
from loomcard.config.structure import check_structure
from loomcard.config.tree import Branch, branches
from loomcard.model.limits import RESERVATION_SHARE_PPM
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
    model = check_structure(document)
    document.by_rule(rules.STRUCTURE)
    if model is None:
        raise FindingsError(document.findings)
    tree = branches(model)
    access = check_access(document, tree)
    document.by_rule(rules.ACCESS)
    limits = check_limits(document, tree)
    rights = check_rights(document, tree)
    document.by_rule(rules.LIMITS)
    folder = beside if policy_path is None else None
    governed, needs = check_governing(document, tree, policy_path, folder, isolated=isolated)
    document.by_rule(rules.POLICY)
    if document.has_errors:
        raise FindingsError(document.findings)
    for finding in document.findings:
        if warn is None:
            _log.warning("%s: %s", name, finding)
        else:
            warn(finding)
    rows = zip(tree, access, limits, governed, rights, strict=True)
    config: dict[str, Any] = {
        "needs": needs,
        "queues": [_queue(*row) for row in rows],
        "schema": 1,
        "source": name,
    }
    named = {queue["policy"]: _as_loaded(queue["policy"], folder) for queue in config["queues"]}
    files = {name: file_hash(at) for name, at in named.items() if at is not None and ".py:" in at}
    if files:
        config["files"] = files
    digest = hashlib.sha256(canonical_json(config).encode()).hexdigest()
    for queue in config["queues"]:
        queue["policy"] = named[queue["policy"]]
    if files:
        config["files"] = {named[name]: text for name, text in files.items()}
    config = {"hash": digest, **config}
    if isolated and any(name not in built_in() for name in named if name is not None):
        names = [one.policy for one in governed]  # as they are written
        _refuse_ended(document, tree, names, first_round(config, policy_path))
    return config


def _refuse_ended(
    document: Document,
    tree: Sequence[Branch],
    names: Sequence[str | None],
    failure: FirstRoundFailure | None,
) -> None:
    """Raise FindingsError if a policy ends its process in the first round, or hangs in it."""
    if failure is not None:
        message = f"the policy {names[failure.queue]!r} {failure.what}"
        document.report(
            (*tree[failure.queue].place, "policy"),
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


def _queue(
    branch: Branch, access: Access, limits: Limits, governed: Governed, rights: Rights
) -> dict[str, Any]:
    inner_of_implied = branch.parent is None and not branch.queue.queues
    user_limit, am_share = branch.queue.user_limit, branch.queue.am_share
    if inner_of_implied:  # the file's limits on users and masters are root.default's
        user_limit = am_share = "100%"
    keys = {
        "administer": list(access.administer),
        "am_share_ppm": ppm(am_share),
        "guaranteed": wire_form(limits.guaranteed),
        "leaf": branch.leaf,
        "maximum": wire_form(limits.maximum),
        "options": governed.options,
        "parent": branch.parent,
        "path": branch.name,
        "policy": governed.policy,
        "policy_named": governed.named,
        "submit": list(access.submit),
        "user_limit_ppm": ppm(user_limit),
        "walked": governed.walked,
        "weight": 1.0 if branch.implied else float(branch.queue.weight),
        **_limits_of_applications(branch),
        **_in_force(rights),
    }
    return dict(sorted(keys.items()))


def _limits_of_applications(branch: Branch) -> dict[str, Any]:
    """Return what the queue itself states; a key at its default is left out."""
    queue, keys = branch.queue, dict[str, Any]()
    if (
        ppm(queue.reservation_share) != RESERVATION_SHARE_PPM
    ):  # of root.default too, which has all that root has
        keys["reservation_share_ppm"] = ppm(queue.reservation_share)
    if branch.implied:  # root has them, and what root has reservations below it
        return keys
    if queue.state != "running":
        keys["state"] = queue.state
    for name in ("maximum_applications", "maximum_applications_per_user"):
        if getattr(queue, name) != UNLIMITED:
            keys[name] = getattr(queue, name)
    if isinstance(queue.maximum_allocation, dict):
        keys["maximum_allocation"] = dict(sorted(queue.maximum_allocation.items()))
    parts = {name: ppm(part) for name, part in sorted(queue.label_maximum.items())}
    if any(part < MILLION for part in parts.values()):
        keys["label_maximum_ppm"] = {name: p for name, p in parts.items() if p < MILLION}
    promises = {name: ppm(part) for name, part in sorted(queue.label_guaranteed.items())}
    if any(promises.values()):
        keys["label_guaranteed_ppm"] = {name: p for name, p in promises.items() if p}
    return keys


def _in_force(rights: Rights) -> dict[str, Any]:
    """Return what is in force at the queue, inherited or not; defaults are left out."""
    keys: dict[str, Any] = {}
    if rights.labels is not None:
        keys["labels"] = list(rights.labels)
    if rights.default_label:
        keys["default_label"] = rights.default_label
    if rights.maximum_lifetime is not None:
        keys["maximum_lifetime_s"] = rights.maximum_lifetime
    if rights.default_lifetime is not None:
        keys["default_lifetime_s"] = rights.default_lifetime
    if rights.reservation_nodes != 1:
        keys["reservation_nodes"] = rights.reservation_nodes
    return keys
