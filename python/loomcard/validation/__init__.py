"""YAML with line numbers, and findings that name them; independent of the rest of Loomcard."""

from loomcard.validation.findings import Finding, FindingsError
from loomcard.validation.reading import Document, read

__all__ = ["Document", "Finding", "FindingsError", "read"]
