"""What a policy may import: the view, the plan, the loops, and helpers for writing a policy."""

from typing import Final

PLAN_API: Final = 2
"""The version of what a policy may import. A policy class may state the version that it was written
for, as ``plan_api = 1``; the default is 1. A policy that needs another version is refused when it
is found, before it decides anything. CONTRIBUTING.md says what a version promises.
"""
