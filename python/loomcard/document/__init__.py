"""YAML with line numbers, and findings that name them; nothing of Loomcard is known here."""
