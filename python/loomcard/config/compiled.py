"""YAML text -> the compiled set-up that the ResourceManager loads, or every finding."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loomcard.config import rules
from loomcard.config.access import Access, check_access
from loomcard.config.governing import Governed, check_governing
from loomcard.config.limits import Limits, check_limits, wire_form
from loomcard.config.schema import ppm
from loomcard.config.structure import check_structure
from loomcard.config.tree import Branch, branches
from loomcard.document.findings import FindingsError
from loomcard.document.reading import read
from loomcard.policies.registry import file_hash, found_beside


def compile_setup(
    yaml_text: str,
    name: str,
    *,
    policy_path: Sequence[Path] | None = None,
    beside: Path | None = None,
) -> dict[str, Any]:
    """Compile a policy set-up into the object of docs/wire.md, keys sorted, hash included.

    ``name`` is the file's, and becomes ``source``. ``policy_path`` lists the folders that policy
    files may be loaded from; None allows any, for commands that run away from a cluster: they name
    ``beside``, the folder of the set-up, in which files are looked for first, and which is put
    before the names of those found there; the hash is that of the names as they were written.
    Raises FindingsError with everything that is wrong with the text.
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
    document.by_rule(rules.LIMITS)
    folder = beside if policy_path is None else None
    governed, needs = check_governing(document, tree, policy_path, folder)
    document.by_rule(rules.POLICY)
    if document.findings:
        raise FindingsError(document.findings)
    rows = zip(tree, access, limits, governed, strict=True)
    setup: dict[str, Any] = {
        "needs": needs,
        "queues": [_queue(*row) for row in rows],
        "schema": 1,
        "source": name,
    }
    named = {queue["policy"]: _as_loaded(queue["policy"], folder) for queue in setup["queues"]}
    files = {name: file_hash(at) for name, at in named.items() if at is not None and ".py:" in at}
    if files:
        setup["files"] = files
    digest = hashlib.sha256(canonical_json(setup).encode()).hexdigest()
    for queue in setup["queues"]:
        queue["policy"] = named[queue["policy"]]
    if files:
        setup["files"] = {named[name]: text for name, text in files.items()}
    return {"hash": digest, **setup}


def _as_loaded(name: str | None, beside: Path | None) -> str | None:
    return name if name is None or beside is None else found_beside(name, beside)


def canonical_json(setup: dict[str, Any]) -> str:
    """Return the one text of a compiled set-up: keys sorted, no spaces, ASCII."""
    return json.dumps(setup, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _queue(branch: Branch, access: Access, limits: Limits, governed: Governed) -> dict[str, Any]:
    inner_of_implied = branch.parent is None and not branch.queue.queues
    user_limit, am_share = branch.queue.user_limit, branch.queue.am_share
    if inner_of_implied:  # the file's limits on users and masters are root.default's
        user_limit = am_share = "100%"
    return {
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
    }
