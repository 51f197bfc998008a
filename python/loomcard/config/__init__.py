"""Policy configurations in YAML: read, checked with line numbers, compiled.

Exports are loaded at their first use (PEP 562): a command that looks for a file of ours needs no
schema.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from loomcard.config.compiled import canonical_json, compile_config
    from loomcard.validation.findings import Finding, FindingsError

__all__ = ["Finding", "FindingsError", "canonical_json", "compile_config"]

_PLACES: Final = {
    "Finding": "loomcard.validation.findings",
    "FindingsError": "loomcard.validation.findings",
    "canonical_json": "loomcard.config.compiled",
    "compile_config": "loomcard.config.compiled",
}

if not TYPE_CHECKING:  # a type checker would believe that every name is here

    def __getattr__(name: str) -> Any:
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_PLACES[name]), name)
