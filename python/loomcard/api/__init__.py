"""What a policy may import: the view, the plan, the loops, and what helps to write one."""

from typing import Final

PLAN_API: Final = 2
"""The version of what a policy may import. A policy class may state the one that it was written for
as ``plan_api = 1``; without it that is 1. One that needs another version is refused when it is
found, before it decides anything. CONTRIBUTING.md says what a version promises.
"""
