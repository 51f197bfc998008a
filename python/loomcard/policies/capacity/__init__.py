"""The policy `capacity`."""
