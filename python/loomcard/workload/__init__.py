"""Demand: workload files, seeded generators and trace readers, which all become scenarios.

``load`` is imported at its first use (PEP 562), because code that only names a scenario needs no
generators.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loomcard.workload.loading import load

__all__ = ["load"]

if not TYPE_CHECKING:  # a type checker would believe that every name is here

    def __getattr__(name: str) -> Any:
        if name != "load":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module("loomcard.workload.loading").load
