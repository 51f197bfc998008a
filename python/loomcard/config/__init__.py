"""YAML set-ups: read, checked with line numbers, compiled."""
