"""The command; no logic of its own."""
