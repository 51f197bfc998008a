"""Scheduling policies written in Python, run on a real Apache Hadoop YARN cluster.

What is exported here is what a policy may use; Loomcard's own policies use this and
``loomcard.advanced``, which may change with any version. Besides,
``simulate``, ``replay`` and ``check`` are for notebooks: docs/simulate/notebooks.md.
"""

from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loomcard.exports import *  # noqa: F403 (their names are in __all__)
    from loomcard.exports import __all__ as __all__
    from loomcard.notebook import check as check
    from loomcard.notebook import replay as replay
    from loomcard.notebook import simulate as simulate

__version__ = "0.1.0"

if not TYPE_CHECKING:  # a type checker would believe that every name is here
    NOTEBOOK = ("check", "replay", "simulate")

    def __getattr__(name: str) -> Any:
        """The exports, loaded with the first of them, and what is for notebooks (PEP 562)."""
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module 'loomcard' has no attribute {name!r}")
        if name in NOTEBOOK:  # a policy needs no simulator, nor what that imports
            return getattr(import_module("loomcard.notebook"), name)
        exports = import_module("loomcard.exports")
        renamed = import_module("loomcard.model.renamed")
        if name in renamed.EXPORTS:
            new = renamed.EXPORTS[name]
            renamed.warn_renamed(f"loomcard.{name}", f"loomcard.{new}")
            return attrgetter(new)(exports)
        advanced = import_module("loomcard.advanced")
        if name in advanced.__all__:
            renamed.warn_renamed(f"loomcard.{name}", f"loomcard.advanced.{name}")
            return getattr(advanced, name)
        if name != "__all__" and name not in exports.__all__:
            raise AttributeError(f"module 'loomcard' has no attribute {name!r}")
        globals().update({each: getattr(exports, each) for each in exports.__all__})
        return getattr(exports, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *NOTEBOOK, *import_module("loomcard.exports").__all__})
