"""YAML configurations: read, checked with line numbers, compiled."""

from loomcard.config.compiled import canonical_json, compile_setup
from loomcard.config.schema import schema
from loomcard.validation.findings import Finding, FindingsError

__all__ = ["Finding", "FindingsError", "canonical_json", "compile_setup", "schema"]
