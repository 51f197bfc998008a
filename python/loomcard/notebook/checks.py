"""``loomcard.check``: the errors in a policy or a policy configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loomcard.experiments.inputs import InputError
from loomcard.notebook.frames import html_table
from loomcard.notebook.policies import Policy, choice_of
from loomcard.validation.findings import Finding, FindingsError


@dataclass(frozen=True)
class Checked:
    """What a check found; it is true where nothing is an error.

    ``findings``: each with its line, column, place, message and remedy. ``config``: the compiled
    configuration, or None where there are errors.
    """

    findings: tuple[Finding, ...]
    config: dict[str, Any] | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return not any(each.severity == "error" for each in self.findings)

    def _repr_html_(self) -> str:
        queues = [] if self.config is None else self.config["queues"]
        said = f"right: {len(queues)} queues" if self else f"{len(self.findings)} found"
        return html_table([each.as_dict() for each in self.findings], said)


def check(policy: Policy) -> Checked:
    """Check a policy or a policy configuration without running it, as ``loomcard policy check``.

    ``policy``: a policy's name, ``path/to/file.py:Class``, the path or the text of a policy
    configuration, a policy class, or an object of one. Code that is not Loomcard's is loaded, and
    decides a first round, in a child process. Returns every finding; raises nothing for a wrong
    configuration.
    """
    try:
        choice = _unchecked(policy)
    except InputError as error:
        return Checked(_found(error))
    from loomcard.config import compile_config

    try:
        config = compile_config(choice.text or "", choice.name, beside=choice.folder, isolated=True)
    except FindingsError as error:
        return Checked(error.findings)
    return Checked((), config)


def _unchecked(policy: Policy) -> Any:
    from loomcard.experiments.inputs import Choice

    if isinstance(policy, str) and "\n" in policy:
        return Choice("the text", "the text", policy, Path())
    return choice_of(policy)


def _found(error: InputError) -> tuple[Finding, ...]:
    """Return the finding for something without lines: an unknown name, or a class that is not a
    policy.
    """
    return tuple(Finding(1, 1, "", each) for each in error.findings)
