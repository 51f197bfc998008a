"""YAML with line numbers, findings that name them, and errors with a hint; independent of the rest
of Loomcard.
"""
